"""Switches that are the same in each run of a program: ``--no-cuda`` that is true by default, and stored as true.

So is a name that is bound to a question and, right after, to its answer: ``cuda = torch.cuda.is_available()`` and
``cuda = False``. A name that is only set to False is a setting, which may change, but for a script of one file: whoever
turns that on edits what nobody has ever run so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from torchdevlint.flow.programs.texts.handed_devices import HandedDevices
from torchdevlint.flow.programs.texts.set_to_cpu import sets_whatever, stores_in
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bound_anew import overwritten
from torchdevlint.flow.scope.cuda_literals import Scope, Text, values_in_force
from torchdevlint.flow.scope.names import has_stars, last_name, mentions_cuda, parameter_names
from torchdevlint.source.nodes import inside, keyword_of, names_bound_in, nodes_in, once_a_node

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STORED = {"store_true": True, "store_false": False}
_MOST_HOPS = 5
_Part = tuple[Scope, ast.stmt]


class SwitchedOff:
    """The switches of some code as a whole, with all `calls` that it makes."""

    def __init__(self, parts: list[_Part], calls: Iterable[tuple[Scope, ast.Call]]) -> None:
        self._parts = parts
        self._is_script = len({scope.file.path for scope, _ in parts}) == 1
        self._calls = list(calls)
        self._kept: dict[str, bool | None] = {}
        self._off = HandedDevices(self._calls, lambda scope, node: self._without_callers(scope, node) is False)
        self._on = HandedDevices(self._calls, lambda scope, node: self._without_callers(scope, node) is True)

    @cached_property
    def never_run(self) -> frozenset[int]:
        """What is in arms of tests that no run takes."""
        if not self._has_some:
            return frozenset()
        found: set[int] = set()
        for scope, node in self._parts:
            tests: list[ast.If | ast.IfExp] = [*nodes_in(node, ast.If), *nodes_in(node, ast.IfExp)]
            tests += [node] if isinstance(node, ast.If) else []
            for each in tests:
                outcome = self.outcome(scope, each.test)
                arm = () if outcome is None else each.orelse if outcome else each.body
                arms: Iterable[ast.AST] = arm if isinstance(arm, (list, tuple)) else [arm]
                found.update(id(part) for held in arms for part in inside(held))
        return frozenset(found)

    @cached_property
    def _has_some(self) -> bool:
        if any(value is not None for values in self._options.values() for value in values):
            return True
        if self._is_script and _constants_off(self._parts[0][0].file.tree):
            return True
        scopes = {id(each): each for scope, _ in self._parts for each in scope.around}
        replaced = ((each, value) for each in scopes.values() for value in overwritten(each))
        return any(isinstance(_last(*each), ast.Constant) for each in replaced)

    def outcome(self, scope: Text, test: ast.expr, hops: int = _MOST_HOPS) -> bool | None:
        """How a test comes out in each run; None where that is not known."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if not self._has_some or hops == 0:
            return None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            found = self.outcome(scope, test.operand, hops)
            return None if found is None else not found
        if isinstance(test, ast.BoolOp):
            ends = isinstance(test.op, ast.Or)
            each = [self.outcome(scope, value, hops) for value in test.values]
            return ends if ends in each else None if None in each else not ends
        if isinstance(test, ast.Name):
            return self._named(scope, test, hops)
        return self._attribute(test.attr, hops) if isinstance(test, ast.Attribute) else None

    def _without_callers(self, scope: Scope, node: ast.expr) -> bool | None:
        """How a test comes out whatever the function around it is given; a constant that a call gives is one."""
        function = scope.function
        is_given = (
            isinstance(node, ast.Name) and isinstance(function, _FUNCTIONS) and node.id in parameter_names(function)
        )
        return None if is_given else self.outcome(scope, node)

    def _named(self, scope: Text, test: ast.Name, hops: int) -> bool | None:
        function = scope.function
        if isinstance(function, _FUNCTIONS) and test.id in parameter_names(function):
            if not isinstance(scope, Scope) or test.id in names_bound_in(function):
                return None
            return False if self._off.is_so(scope, test) else True if self._on.is_so(scope, test) else None
        for around in scope.around:
            bound = [each for each in nodes_in(around, ast.Name) if each.id == test.id]
            assigned = values_by_path(around).get(test.id, [])
            if sum(not isinstance(each.ctx, ast.Load) for each in bound) != len(assigned):
                return None  # a loop, ``with``, ``|=``
            values = values_in_force(scope, around, test.id)
            if values:
                is_off = self._is_script and test.id in _constants_off(scope.tree)
                is_setting = isinstance(values[0], ast.Constant) and len(assigned) == 1 and not is_off
                found = {self.outcome(scope, each, hops - 1) for each in values}
                return found.pop() if len(found) == 1 and not is_setting else None
        led = scope.elsewhere(test.id)
        return None if led is None or not led[1].isidentifier() else self._named(led[0], ast.Name(led[1]), hops - 1)

    def _attribute(self, name: str, hops: int) -> bool | None:
        """What an attribute is that options alone set, or assignments of what is known."""
        if name not in self._kept:
            self._kept[name] = None  # while it is asked for
            self._kept[name] = self._value_of(name, hops)
        return self._kept[name]

    def _value_of(self, name: str, hops: int) -> bool | None:
        if self._is_open or name in self._said:
            return None
        found = set(self._options.get(name, ()))
        for scope, value in self._stores.get(name, ()):
            if not isinstance(value, ast.Attribute) or value.attr != name:
                found.add(
                    None if value is None or isinstance(value, ast.Constant) else self.outcome(scope, value, hops - 1)
                )
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _stores(self) -> dict[str, list[tuple[Scope, ast.expr | None]]]:
        found: dict[str, list[tuple[Scope, ast.expr | None]]] = {}
        for scope, node in self._parts:
            for name, value in stores_in(node):
                found.setdefault(name, []).append((scope, value))
        return found

    @cached_property
    def _options(self) -> dict[str, list[bool | None]]:
        """The options of the command line, and what each of them always is."""
        found: dict[str, list[bool | None]] = {}
        for _, call in self._calls:
            if last_name(call.func) == "add_argument":
                found.setdefault(_name_of_option(call), []).append(_always(call))
        return found

    @cached_property
    def _is_open(self) -> bool:
        """Whether attributes are set by names that are not written down, or options are."""
        called = [call for _, call in self._calls if last_name(call.func) in ("add_argument", "set_defaults")]
        return any(map(has_stars, called)) or any(sets_whatever(node) for _, node in self._parts)

    @cached_property
    def _said(self) -> frozenset[str]:
        """The names by which something is given, is found in a dictionary, or is defined in a class."""
        return frozenset(name for scope, node in self._parts for name in _said_in(scope, node))


@once_a_node
def _constants_off(tree: ast.Module) -> frozenset[str]:
    """The names for CUDA, or for GPUs, that the top level of a file sets to False."""
    bound = [each for each in tree.body if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)]
    targets = [target for each in bound if each.value.value is False for target in each.targets]  # type: ignore[attr-defined]
    return frozenset(each.id for each in targets if isinstance(each, ast.Name) and mentions_cuda(each.id))


def _last(scope: ast.AST, value: ast.expr) -> ast.expr | None:
    """What the name of a replaced value is bound to in the end."""
    for values in values_by_path(scope).values():
        if value in values:
            left = [each for each in values if each not in overwritten(scope)]
            return left[0] if len(left) == 1 else None
    return None


def _name_of_option(call: ast.Call) -> str:
    """``no_cuda``, which is what an option ``--no-cuda`` is kept as."""
    named = keyword_of(call, "dest")
    texts = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if isinstance(named, ast.Constant):
        return str(named.value)
    long = [each for each in texts if each.startswith("--")] or texts
    return long[0].lstrip("-").replace("-", "_") if long else ""


def _always(call: ast.Call) -> bool | None:
    """What an option is, whether it is given or not: its default is what its action stores."""
    action, default = keyword_of(call, "action"), keyword_of(call, "default")
    stored = _STORED.get(str(action.value)) if isinstance(action, ast.Constant) else None
    return stored if isinstance(default, ast.Constant) and default.value is stored else None


def _said_in(scope: Scope, node: ast.stmt) -> Iterator[str]:
    for call in nodes_in(node, ast.Call):
        yield from (each.arg for each in call.keywords if each.arg is not None)
    keys = [key for each in nodes_in(node, ast.Dict) for key in each.keys]
    keys += [each.slice for each in nodes_in(node, ast.Subscript)]
    yield from (each.value for each in keys if isinstance(each, ast.Constant) and isinstance(each.value, str))
    if scope.owner is not None and isinstance(node, _FUNCTIONS):
        yield node.name
    if scope.owner is not None and scope.function is None:
        yield from (path for path in values_by_path(node) if path.isidentifier())
