"""Tests of branches as keys: the same for a test and its negation, and for what asks the same in other words."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Literal

from torchdevlint.flow.scope.asked_paths import (
    asks_machine,
    is_bound_anew,
    is_resized,
    named_question,
    paths_asked,
    sized_by,
    times_bound,
)
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.command_line import asks_once
from torchdevlint.flow.scope.names import (
    dotted_path,
    first_name,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
)
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.scope.switches import outcome_without
from torchdevlint.flow.scope.uses import bindings_in, bound_in_loops
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.compared_keys import Bound, compared, switched
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import writers_of
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in, once_a_node


def condition_of(frame: Frame, test: ast.expr) -> tuple[str, bool]:
    """A key for the test that its negation shares.

    Tests of different calls are different, and so are those of different loop rounds, unless no loop can change them.
    A flag that only ``__init__`` sets says the same in all methods, compared with literals or as it is: objects of one
    class are taken to agree on it.
    So does what is asked of names that are bound once, in all functions that see these.
    """
    scope = frame.function or frame.machine.reading.tree_here
    asked: _Asked | None = test.__dict__.get(_ASKED)
    if asked is None or asked.scope != id(scope):
        asked = test.__dict__[_ASKED] = _Asked(frame, test, scope)
    test = asked.spelled or test
    at, text, path = "", asked.text, asked.literals[0] if asked.literals is not None else ""
    if asked.flag is not None and frame.owner is not None:
        at, flag = _flag_of_objects(frame.owner, frame.function, asked.flag)
        text, path = flag + text.removeprefix(asked.flag[0]), flag if path else ""
    if not (at or frame.machine.reading.is_elsewhere or asked.is_of_scope(test, scope)):
        at = _bound_around(frame, asked.paths(test))
    at = at or f"{frame.activation}.{frame.loop_round if frame.loop_round and asked.changes(test, scope) else 0}:"
    literals = asked.literals
    if asked.switch and (literals is None or literals[2] is not None or literals[1] == _NONE):
        return switched(at + text, asked.absent), asked.positive
    if literals is None:
        return at + text, asked.positive
    return compared(at + text, at + path, *literals[1:]), asked.positive


def _bound_around(frame: Frame, asked: frozenset[str] | None) -> str:
    """What stands for the top level, or for a function around this one, where that binds all names that a test asks.

    It has to bind them once; else, and where the function itself binds one, it is empty.
    """
    if asked is None:
        return ""
    roots, at = set(map(first_name, asked)), frame
    while at.function is not None and not any(_binds(at.function, each) for each in roots):
        scopes, around = at.closure.scopes, at.called_at
        if len(scopes) < 2:
            return _on_top(frame, asked)
        while around is not None and around[1].names is not scopes[0]:
            around = around[1].called_at
        if around is None:
            return ""
        at = around[1]
    function = at.function
    if function is None:
        return _on_top(frame, asked)
    if at is frame or not roots.isdisjoint(bound_in_loops(function)):
        return ""
    return f"{at.activation}.0:" if _is_fixed(asked, function) else ""


def _on_top(frame: Frame, asked: frozenset[str]) -> str:
    """What stands for the top level, if that binds once what is asked."""
    return "module:" if asks_once(frame.machine.reading.tree_here, asked) else ""


def _binds(function: AnyFunction, name: str) -> bool:
    return name in parameter_names(function) or name in times_bound(function)


def _is_fixed(asked: frozenset[str] | None, scope: AnyFunction | ast.Module) -> bool:
    """Whether all that a test asks is known, and bound once in a function or module, and made no longer or shorter."""
    return asked is not None and not any(is_bound_anew(each, scope) or is_resized(each, scope) for each in asked)


def flag_of_objects(owner: ClassInfo | None, method: AnyFunction | None, text: str) -> tuple[str, str]:
    """What stands for the objects of a class, and how methods ask for a flag that only their ``__init__`` sets.

    Such are ``self.flag``, ``self.options.flag`` and ``self.options["flag"]``, and in ``__init__`` the argument that it
    keeps there. What they are not stands for itself, for no object.
    """
    asked = None if owner is None else _FLAG.match(text)
    return ("", text) if owner is None or asked is None else _flag_of_objects(owner, method, asked)


def _flag_of_objects(owner: ClassInfo, method: AnyFunction | None, asked: re.Match[str]) -> tuple[str, str]:
    if not owner.resolved:
        return "", asked[0]
    of_self, name, part = asked[1], asked[2], asked[3].replace("'", '"')
    kept = name if of_self else _kept_as(method, name)
    writers = writers_of(owner, kept) if kept else ()
    if not writers or any(getattr(each, "name", "") != "__init__" for each in writers):
        return "", asked[0]
    if part and any(f"{root}{part}" in _parts_set_in(owner.node) for root in (f"self.{kept}", name)):
        return "", asked[0]
    return f"{owner.name}.{owner.node.lineno}:", f"self.{kept}{part}"


_FLAG = regex(r"""(self\.)?([^\W\d]\w*)((?:\.\w+|\["\w+"\]|\['\w+'\])?)$""")


def _kept_as(function: AnyFunction | None, name: str) -> str:
    """The attribute in which `function`, an ``__init__``, keeps its argument `name`, which nothing binds anew."""
    if function is None or getattr(function, "name", "") != "__init__" or name not in parameter_names(function):
        return ""
    if any(stored for _, stored, _ in bindings_in(function).get(name, ())):
        return ""
    for path, values in values_by_path(function).items():
        if path.startswith("self.") and all(isinstance(each, ast.Name) and each.id == name for each in values):
            return path.removeprefix("self.")
    return ""


@once_a_node
def _parts_set_in(node: ast.ClassDef) -> frozenset[str]:
    """The entries and attributes that methods of a class write or delete, as text."""
    parts: list[ast.Attribute | ast.Subscript] = [*nodes_in(node, ast.Attribute), *nodes_in(node, ast.Subscript)]
    return frozenset(ast.unparse(each).replace("'", '"') for each in parts if not isinstance(each.ctx, ast.Load))


_NONE = frozenset({None})
_ASKED = f"{__name__}.asked"
"""Under this name what a test asks is kept with the test, for all analyses that run it, as `once_a_node` does."""

_SAME = {ast.IsNot: "is", ast.NotEq: "==", ast.NotIn: "in"}
"""What an operator denies."""


class _Asked:
    """What a test asks, run in a function or on the top level. It is kept with the test, which it must not keep itself.

    `text` is what it shares with its negation, and `positive` whether it is that itself; `literals` what it compares
    with literals; `switch` whether it asks for the use of an accelerator or for a device, and `absent` the outcome by
    which there is none. `spelled` is the test with a question to the machine in place of a name for its answer.
    """

    def __init__(self, frame: Frame, test: ast.expr, scope: AnyFunction | ast.Module) -> None:
        self.scope = id(scope)
        self._paths: frozenset[str] | Literal[""] | None = ""
        self._own: bool | None = None
        self._changes: bool | None = None
        absent = _absent_by(test)
        text_of: Callable[[ast.AST], str] = frame.machine.reading.text_here
        self.switch = absent is not None or outcome_without(frame.machine.reading.tree_here, test) is not None
        self.spelled = _spelled_out(test, scope, frame.machine.reading.tree_here)
        if self.spelled is not None:
            test, text_of = self.spelled, ast.unparse
        positive = True
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, positive = test.operand, not positive
        flag = _flag_asked(test)
        if flag is not None:
            test, positive = flag[0], positive is flag[1]
            text = text_of(test)
        elif isinstance(test, ast.Compare) and none_test(test) is not None:
            positive = positive is bool(none_test(test))
            text = f"{text_of(test.left)} is None"
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _SAME:
            positive = not positive
            text = f"{text_of(test.left)} {_SAME[type(test.ops[0])]} {text_of(test.comparators[0])}"
        else:
            text = text_of(test)
        self.text, self.positive = text, positive
        self.literals = _compared(test, scope)
        compares = self.literals is not None and text.startswith(f"{self.literals[0]} ")
        self.flag = _FLAG.match(self.literals[0] if compares and self.literals is not None else text)
        self.absent = None if absent is None else positive is absent

    def paths(self, test: ast.expr) -> frozenset[str] | None:
        """The names and attributes whose values alone decide about the test; None if that cannot be told."""
        if self._paths == "":
            self._paths = paths_asked(test)
        return self._paths

    def is_of_scope(self, test: ast.expr, scope: AnyFunction | ast.Module) -> bool:
        """Whether its function binds any of what it asks, or it cannot be told what that is."""
        if self._own is None:
            asked, inner = self.paths(test), scope if not isinstance(scope, ast.Module) else None
            self._own = asked is None or (inner is not None and any(_binds(inner, first_name(each)) for each in asked))
        return self._own

    def changes(self, test: ast.expr, scope: AnyFunction | ast.Module) -> bool:
        """Whether the loops of its scope change the outcome."""
        if self._changes is None:
            self._changes = _changes_in_loops(test, scope, self.paths(test))
        return self._changes


def _spelled_out(test: ast.expr, scope: AnyFunction | ast.Module, tree: ast.Module) -> ast.Compare | None:
    """``torch.cuda.device_count() > 1`` for ``n > 1`` after ``n = torch.cuda.device_count()``."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    question = named_question(test.left, scope, tree)
    return None if question is None else ast.copy_location(ast.Compare(question, test.ops, test.comparators), test)


def _absent_by(test: ast.expr) -> bool | None:
    """The outcome of a test for a device by which there is none; None for another test.

    ``device is not None``, ``self.device``, ``not device``, ``"device" in given and given["device"] is not None``.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _absent_by(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return next((found for each in test.values if (found := _absent_by(each)) is not None), None)
    absent = False
    if isinstance(test, ast.Compare):
        if len(test.ops) > 1 or none_test(test) is None:
            return None
        test, absent = test.left, bool(none_test(test))
    return absent if mentions_device(_name_of(test)) else None


def _name_of(node: ast.expr) -> str:
    """`device` of ``device``, ``self.device``, ``options["device"]`` and ``options.get("device")``."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key = node.args[0]
    return str(key.value) if isinstance(key, ast.Constant) else last_name(node)


_Literals = tuple[str, frozenset[object], "Bound | None"]


def _compared(test: ast.expr, scope: AnyFunction | ast.Module) -> _Literals | None:
    """`kind` and the literals of ``kind == "a"``, or of ``kind in ("a", "b")``, where `kind` is bound but once.

    What is bound anew between two tests may be ``"a"`` in one and ``"b"`` in the other. Of ``gpus > 1`` it is the
    bound; ``len(gpus)`` is asked as `gpus` is, if nothing makes the list longer or shorter.
    """
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    sized = sized_by(test.left)
    path = dotted_path(sized or test.left)
    if asks_machine(test.left):
        path = public_path(test.left.func)  # type: ignore[attr-defined]
    elif path is None or is_bound_anew(path, scope) or (sized is not None and is_resized(path, scope)):
        return None
    right, asked = test.comparators[0], path if sized is None else f"len({path})"
    ordered = _ORDERED.get(type(test.ops[0]))
    if ordered is not None:
        bound = _bound(right, *ordered, sized) if isinstance(right, ast.Constant) else None
        return (asked, frozenset(), bound) if bound is not None else None
    among = isinstance(test.ops[0], (ast.In, ast.NotIn))
    if not among and not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    values = right.elts if among and isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [] if among else [right]
    known = frozenset(each.value for each in values if isinstance(each, ast.Constant))
    return (asked, known, None) if values and all(isinstance(each, ast.Constant) for each in values) else None


_ORDERED = {ast.Gt: (True, False), ast.GtE: (True, True), ast.Lt: (False, False), ast.LtE: (False, True)}
"""Whether what is compared is above, and whether it may be the number itself."""


def _bound(right: ast.Constant, above: bool, included: bool, sized: ast.expr | None) -> Bound | None:
    """The numbers for which a test holds; a length of at least two is one above one."""
    number = right.value
    if sized is not None and isinstance(number, int) and above is included:
        return Bound(number - 1, above, not included)
    return Bound(number, above, included) if isinstance(number, (int, float)) else None


def _flag_asked(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """``flag == False`` and ``flag is not True`` ask the same as ``not flag``: what is asked, and for which outcome."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    operator, value = test.ops[0], test.comparators[0]
    if not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
        return None
    if not isinstance(operator, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        return None
    return test.left, value.value is isinstance(operator, (ast.Eq, ast.Is))


def _changes_in_loops(test: ast.expr, scope: AnyFunction | ast.Module, asked: frozenset[str] | None) -> bool:
    """Whether the test calls something, or reads a name that a loop of the function or module around it binds.

    The length of what is bound once stays the same, if nothing makes that longer or shorter.
    """
    read = set()
    for each in inside(test):
        if isinstance(each, ast.Name):
            read.add(each.id)
        elif isinstance(each, (ast.Call, ast.Await, ast.NamedExpr)) and not _is_fixed(asked, scope):
            return True
    return not bound_in_loops(scope).isdisjoint(read)


def written_outcome(test: ast.expr) -> bool | None:
    """What a test gives by the constants in it, whatever else it asks; None where they do not decide."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = written_outcome(test.operand)
        return None if inner is None else not inner
    if not isinstance(test, ast.BoolOp):
        return None
    either = isinstance(test.op, ast.Or)
    written = (bool(each.value) for each in test.values if isinstance(each, ast.Constant))
    return either if either in written else None
