"""Whether what code saves is surely data of the CPU, judged by its text alone: it may stand in any file of a project.

Everything that is not known is taken to be elsewhere: parameters, attributes that are set elsewhere, what other files
define.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from torchdevlint.flow.checks.loads.file_names import Place, Scopes, class_around, file_name, scopes_of
from torchdevlint.flow.checks.loads.kept_modules import (
    has_items_of_cpu,
    is_bare_module,
    is_kept,
    is_made_here,
    is_sent_to_cpu,
)
from torchdevlint.flow.checks.loads.loaded_options import is_parser
from torchdevlint.flow.checks.loads.saved_names import (
    WITH_ARGUMENTS,
    Bound,
    bound_before,
    bound_from_within,
    bound_to,
    of_libraries,
    saved_path_key,
    values_in,
    written_name,
)
from torchdevlint.flow.checks.loads.saved_parts import (
    MADE_OF,
    OF_ARGUMENTS,
    PLAIN_CALLS,
    is_container,
    is_set_otherwise,
    made_of,
    only_reads,
    put_by,
    root_of_path,
)
from torchdevlint.flow.checks.loads.telling_names import path_key
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.brought_back import says_cpu
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, is_dtype, last_name, parameter_names, public_path
from torchdevlint.source.nodes import arguments_of, assignments_in, nodes_in, own_nodes_in

_TO_HOST = frozenset("cpu numpy tolist item size dim numel nelement keys".split())
_ELSEWHERE = frozenset("to cuda xpu mps npu type state_dict".split())
_FILLS = frozenset("append extend insert add update setdefault".split())
_PLAIN = frozenset("shape ndim dtype".split())
_COMPREHENSIONS = (ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COPIES = frozenset("copy.deepcopy copy.copy".split())
_PARSES = frozenset("parse_args parse_known_args".split())
_OF_HOST = frozenset("numpy pandas scipy sklearn math json csv time datetime os statistics cv2 PIL skimage".split())
"""Libraries whose functions give no tensors."""
_OF_DATA = frozenset(f"torch.utils.data.{name}" for name in "DataLoader TensorDataset Subset ConcatDataset".split())
_SAY_HOW = frozenset("batch_size shuffle num_workers pin_memory drop_last timeout persistent_workers".split())
"""Arguments of a `DataLoader` that are numbers, wherever they come from."""
_MOST_CALLS = 3


def is_of_cpu(tree: ast.Module, value: ast.expr, call: ast.Call, moves_nothing: bool = False) -> bool | None:
    """Whether the argument `value` of a call in a file holds nothing but tensors of the CPU, numbers and texts.

    In a file that `moves_nothing`, nor imports what does, Modules that it makes stay on the CPU as well. None if it
    only hands on what it has loaded from where it is saved to.
    """
    if any(last_name(each.func) in torch_api.CHANGES_DEFAULT for each in nodes_in(tree, ast.Call)):
        return False
    scopes = scopes_of(tree, call)
    judge = _Judge(tree, scopes[0], saved_path_key(scopes, call), written_name(scopes, call), moves_nothing)
    holds = judge.holds(scopes, value)
    return None if holds and judge.again else holds


class _Judge(Struct):
    """One question; names that are being asked for hold what the rest of their values says."""

    tree: ast.Module
    scope: ast.AST
    path: str
    name: str | None
    """The last part of the path that is saved to, where all of it is written down."""
    moves_nothing: bool = False
    asked: set[tuple[int, str]] = field(default_factory=set)
    of_host: dict[tuple[int, str], bool] = field(default_factory=dict)
    calls: int = 0
    again: bool = False
    """Whether something was loaded from the path that is saved to, and nothing else may be there instead."""

    def holds(self, scopes: Scopes, node: ast.expr) -> bool:
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return True
        if is_bare_module(self.tree, node) and is_sent_to_cpu(scopes[0], node):
            return True
        if isinstance(node, ast.Name):
            return self._name(scopes, node)
        if isinstance(node, ast.Call):
            return self._call(scopes, node)
        if isinstance(node, ast.Attribute):
            return node.attr in _PLAIN or self._attribute(scopes, node)
        if isinstance(node, ast.IfExp):
            return self._one_of(scopes, [Bound(node.body), Bound(node.orelse)])
        if isinstance(node, _COMPREHENSIONS):
            return self.holds((node, *scopes), node.value if isinstance(node, ast.DictComp) else node.elt)
        return isinstance(node, MADE_OF) and self.all(scopes, made_of(node))

    def _attribute(self, scopes: Scopes, node: ast.Attribute) -> bool:
        """A part of something that is of the CPU, or what was assigned to it right before."""
        if has_items_of_cpu(scopes[0], node):
            return True
        value = bound_before(scopes[0], node)
        if value is None:
            return self._is_of_host(scopes, node) or self._kept(scopes, node) or self.holds(scopes, node.value)
        return self.holds(scopes, value) and self._fills(scopes, dotted_path(node) or "", [Bound(value)])

    def _kept(self, scopes: Scopes, node: ast.Attribute) -> bool:
        """What an object keeps as an attribute, where its class assigns nothing to that but what is of the CPU."""
        owner, path = class_around(scopes), dotted_path(node) or ""
        if owner is None or path != f"self.{node.attr}" or is_set_otherwise(self.tree, owner, node.attr):
            return False
        key = (id(owner), path)
        if key in self.asked:
            return True
        self.asked.add(key)
        values = [
            ((method, *scopes[1:]), value)
            for method in owner.body
            if isinstance(method, _FUNCTIONS)
            for value in values_by_path(method).get(path, ())
        ]
        return bool(values) and self._any_of([(around, Bound(value)) for around, value in values])

    def all(self, scopes: Scopes, nodes: Iterable[ast.expr]) -> bool:
        return all(self.holds(scopes, each) for each in nodes)

    def _name(self, scopes: Scopes, node: ast.Name) -> bool:
        name = node.id
        if name in bound_from_within(self.tree):
            return False
        if has_items_of_cpu(scopes[0], node):
            return True
        for place, scope in enumerate(scopes):
            if isinstance(scope, WITH_ARGUMENTS) and name in parameter_names(scope):
                return False
            values = values_in(scope).get(name)
            if values is None:
                continue
            is_here = all(isinstance(each, _COMPREHENSIONS) for each in scopes[:place])
            surely = bound_before(scope, node) if is_here else None
            if surely is not None:
                values = [Bound(surely)]
            key = (id(surely or scope), name)
            if key in self.asked:
                return True
            self.asked.add(key)
            around = scopes[place:]
            since = 0 if surely is None else surely.lineno
            filled = isinstance(scope, _COMPREHENSIONS) or self._fills(around, name, values, since)
            return filled and self._one_of(around, values)
        return False

    def _one_of(self, scopes: Scopes, values: list[Bound]) -> bool:
        """Whether all values that something may have in a scope are of the CPU."""
        return self._any_of([(scopes, each) for each in values])

    def _any_of(self, values: list[tuple[Scopes, Bound]]) -> bool:
        """Whether all values that something may have are of the CPU; one that is not loaded again is a beginning."""
        known, begins = self.again, False
        for scopes, each in values:
            self.again = False
            if each.value is None or not self._part(scopes, each.value, each.place):
                return False
            begins = begins or not self.again
        self.again = known or not begins
        return True

    def _part(self, scopes: Scopes, value: ast.expr, place: int | None) -> bool:
        """Whether an element of a value, or all of it, is of the CPU."""
        if place is not None and isinstance(value, ast.Tuple) and place < len(value.elts):
            return self.holds(scopes, value.elts[place])
        function = self._function(value)
        if place is not None and function is not None and isinstance(value, ast.Call):
            return self._returns(function, place)
        return self.holds(scopes, value)

    def _fills(self, scopes: Scopes, name: str, bound: list[Bound], since: int = 0) -> bool:
        """Whether what is put into the containers that a name stands for is of the CPU, and no other code gets them.

        What was put there before the name was bound, in a line before `since`, is in what it stood for until then.
        """
        values = [each.value for each in bound]
        if not any(is_container(each) or is_made_here(self.tree, each) for each in values):
            return all(isinstance(each, ast.Call) and _is_factory(each) for each in values) or self._puts(
                scopes, name, since
            )
        for call in nodes_in(scopes[0], ast.Call):
            given = arguments_of(call)
            if name in tuple(map(dotted_path, given)) and not only_reads(call):
                return False
        return self._puts(scopes, name, since)

    def _puts(self, scopes: Scopes, name: str, since: int) -> bool:
        """Whether what is put into a container, or set as an attribute of it, is of the CPU."""
        bound = [(target, each.value) for each in assignments_in(scopes[0]) for target in each.targets]
        bound += [(each.target, each.value) for each in nodes_in(scopes[0], ast.AugAssign)]
        put = (
            value
            for target, value in bound
            if dotted_path(target) != name and root_of_path(target, name) == name and target.lineno >= since
        )
        return self.all(scopes, put) and all(
            self.all(self._scopes_at(call, scopes), put_by(call))
            for call in nodes_in(scopes[0], ast.Call)
            if last_name(call.func) in _FILLS and call.lineno >= since
            if isinstance(call.func, ast.Attribute) and root_of_path(call.func.value, name) == name
        )

    def _scopes_at(self, call: ast.Call, scopes: Scopes) -> Scopes:
        return scopes_of(self.tree, call) if isinstance(scopes[0], (ast.Module, *_FUNCTIONS)) else scopes

    def _call(self, scopes: Scopes, node: ast.Call) -> bool:
        public, called = public_path(node.func), last_name(node.func)
        given = arguments_of(node)
        if public in _OF_DATA:
            parts = (each.value for each in node.keywords if each.arg not in _SAY_HOW)
            return self.all(scopes, (*node.args, *parts))
        if public.startswith("torch."):
            return self._of_torch(scopes, node, public.rpartition(".")[2])
        if self._is_of_host(scopes, node.func) or public in _COPIES:
            return public not in _COPIES or self.all(scopes, given)
        if isinstance(node.func, ast.Attribute):
            if called in _TO_HOST or says_cpu(node):
                return True
            if called == "state_dict" and self._keeps_state(scopes, node.func.value):
                return True
            if called in _PARSES and is_parser(Place(scopes), node.func.value):
                return True
            stays = called not in _ELSEWHERE or (bool(given) and all(map(_is_dtype, given)))
            return stays and self.holds(scopes, node.func.value) and self.all(scopes, _values_of(given))
        function = self._function(node)
        if function is not None:
            return self._returns(function, None)
        around, values = bound_to(scopes, dotted_path(node.func) or "")
        if len(values) == 1 and isinstance(made := values[0].value, ast.Lambda) and self.calls < _MOST_CALLS:
            self.calls += 1
            return self.holds((made, *around), made.body)
        keeps = called in OF_ARGUMENTS or (self.moves_nothing and is_made_here(self.tree, node))
        return called in PLAIN_CALLS or (keeps and self.all(scopes, given))

    def _of_torch(self, scopes: Scopes, node: ast.Call, called: str) -> bool:
        given = arguments_of(node)
        places = [each.value for each in node.keywords if each.arg in ("device", "map_location")]
        if places:
            return all(map(is_cpu_spec, places))
        if (
            _is_factory(node)
            or called == "device"
            or (public_path(node.func) in torch_api.TENSOR_CLASSES and not given)
        ):
            return True
        if called == "load":
            return self._is_saved_to(scopes, node)
        if not self.moves_nothing and _makes_module(node):
            return False
        return bool(node.args) and self.all(scopes, _values_of(given))

    def _keeps_state(self, scopes: Scopes, module: ast.expr) -> bool:
        if isinstance(module, ast.Call):
            return says_cpu(module)
        return is_sent_to_cpu(scopes[0], module) or (self.moves_nothing and is_kept(self.tree, scopes, module))

    def _is_saved_to(self, scopes: Scopes, load: ast.Call) -> bool:
        """Whether the same function, or another method of the class, loads from the path that it saves to.

        So it is if the file has the name that is asked for, in whatever folder: all that write it are asked.
        """
        around = next(each for each in scopes if not isinstance(each, _COMPREHENSIONS))
        owner = class_around(scopes)
        is_beside = around is self.scope or (owner is not None and self.scope in owner.body)
        same = is_beside and bool(load.args) and (path_key(load.args[0]) == self.path or self._is_named_so(load))
        self.again = self.again or same
        return same

    def _is_named_so(self, load: ast.Call) -> bool:
        return self.name is not None and file_name(scopes_of(self.tree, load), load.args[0]) == self.name

    def _is_of_host(self, scopes: Scopes, node: ast.expr) -> bool:
        """Whether a library without tensors, or an object of it, gives this."""
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        if not isinstance(node, ast.Name):
            return False
        scopes, values = bound_to(scopes, node.id)
        if not values:
            return not scopes and node.id in of_libraries(self.tree, _OF_HOST)
        key = (id(scopes[0]), node.id)
        if key not in self.of_host:
            self.of_host[key] = False
            self.of_host[key] = all(
                each.place is None and isinstance(each.value, ast.Call) and self._is_of_host(scopes, each.value)
                for each in values
            )
        return self.of_host[key]

    def _function(self, node: ast.expr) -> ast.AST | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and self.calls < _MOST_CALLS:
            functions = (each for each in self.tree.body if isinstance(each, _FUNCTIONS))
            return next((each for each in functions if each.name == node.func.id), None)
        return None

    def _returns(self, function: ast.AST, place: int | None) -> bool:
        values = [each.value for each in own_nodes_in(function, ast.Return)]
        self.calls += 1
        return bool(values) and all(
            each is not None and self._part((function, self.tree), each, place) for each in values
        )


def _makes_module(node: ast.Call) -> bool:
    path = public_path(node.func)
    name = path.rpartition(".")[2]
    return path.startswith(("torch.nn.", "torch.optim.")) and name[:1].isupper() and name != "Parameter"


def _is_factory(node: ast.Call) -> bool:
    """A function of torch that makes a tensor on the default device, which nothing says to be another one."""
    path = public_path(node.func)
    made = path.rpartition(".")[2] in torch_api.FACTORIES | torch_api.DATA_FACTORIES
    return path.startswith("torch.") and made and all(each.arg not in ("device", None) for each in node.keywords)


def _values_of(given: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """The arguments that may be tensors: no dtypes, and no names that say how something is done."""
    return (each for each in given if not _is_dtype(each))


def _is_dtype(node: ast.expr) -> bool:
    return is_dtype(node)
