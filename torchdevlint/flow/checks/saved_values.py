"""Whether what code saves is surely data of the CPU, judged by its text alone: it may stand in any file of a project.

Everything that is not known is taken to be elsewhere: parameters, attributes, what other files define.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from torchdevlint.flow import torch_api
from torchdevlint.flow.checks.file_names import Scopes, scopes_of
from torchdevlint.flow.imported import spelled
from torchdevlint.flow.names import argument_names, dotted_path, is_dtype_name, last_name
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_nodes_in

_TO_HOST = frozenset("cpu numpy tolist item size dim numel nelement keys".split())
_ELSEWHERE = frozenset("to cuda xpu mps npu type state_dict".split())
_PLAIN_CALLS = frozenset("len int float str bool round range repr abs isinstance time strftime now".split())
_OF_ARGUMENTS = frozenset("dict list tuple set sorted zip enumerate reversed min max sum OrderedDict".split())
_MAKES_CONTAINERS = frozenset("dict list set OrderedDict defaultdict".split())
_FILLS = frozenset("append extend insert add update setdefault".split())
_READS = _PLAIN_CALLS | _OF_ARGUMENTS | frozenset("print save dump dumps isinstance type any all iter next".split())
_VIEWS = frozenset("T mT H data real imag grad".split())
_PLAIN = frozenset("shape ndim dtype".split())
_CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_COMPREHENSIONS = (ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DATA = ("DataLoader", "TensorDataset", "Subset", "ConcatDataset")
_SAY_HOW = frozenset("batch_size shuffle num_workers pin_memory drop_last timeout persistent_workers".split())
"""Arguments of a `DataLoader` that are numbers, wherever they come from."""
_MOST_CALLS = 3


def is_of_cpu(tree: ast.Module, value: ast.expr, call: ast.Call, moves_nothing: bool = False) -> bool:
    """Whether the argument `value` of a call in a file holds nothing but tensors of the CPU, numbers and texts.

    In a file that `moves_nothing`, nor imports what does, Modules that it makes stay on the CPU as well.
    """
    if any(last_name(each.func) in torch_api.CHANGES_DEFAULT for each in nodes_in(tree, ast.Call)):
        return False
    return _Judge(tree, moves_nothing).holds(scopes_of(tree, call), value)


class _Judge(Struct):
    """One question; names that are being asked for hold what the rest of their values says."""

    tree: ast.Module
    moves_nothing: bool = False
    asked: set[tuple[int, str]] = field(default_factory=set)
    calls: int = 0

    def holds(self, scopes: Scopes, node: ast.expr) -> bool:
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return True
        if isinstance(node, ast.Name):
            return self._name(scopes, node.id)
        if isinstance(node, ast.Call):
            return self._call(scopes, node)
        if isinstance(node, ast.Attribute):
            return node.attr in _PLAIN or (node.attr in _VIEWS and self.holds(scopes, node.value))
        if isinstance(node, _COMPREHENSIONS):
            return self.holds((node, *scopes), node.value if isinstance(node, ast.DictComp) else node.elt)
        return isinstance(node, _MADE_OF) and self.all(scopes, _made_of(node))

    def all(self, scopes: Scopes, nodes: Iterable[ast.expr]) -> bool:
        return all(self.holds(scopes, each) for each in nodes)

    def _name(self, scopes: Scopes, name: str) -> bool:
        if name in _bound_from_within(self.tree):
            return False
        for place, scope in enumerate(scopes):
            if isinstance(scope, _FUNCTIONS) and name in argument_names(scope):
                return False
            values = _values(scope).get(name)
            if values is None:
                continue
            if (id(scope), name) in self.asked:
                return True
            self.asked.add((id(scope), name))
            around = scopes[place:]
            filled = isinstance(scope, _COMPREHENSIONS) or self._fills(around, name)
            return filled and self._all_values(around, values)
        return False

    def _all_values(self, scopes: Scopes, values: list[_Bound]) -> bool:
        return all(each.value is not None and self._part(scopes, each.value, each.place) for each in values)

    def _part(self, scopes: Scopes, value: ast.expr, place: int | None) -> bool:
        """Whether an element of a value, or all of it, is of the CPU."""
        if place is not None and isinstance(value, ast.Tuple) and place < len(value.elts):
            return self.holds(scopes, value.elts[place])
        function = self._function(value)
        if place is not None and function is not None and isinstance(value, ast.Call):
            return self._returns(function, place)
        return self.holds(scopes, value)

    def _fills(self, scopes: Scopes, name: str) -> bool:
        """Whether what is put into the containers that a name stands for is of the CPU, and no other code gets them."""
        values = [each.value for each in _values(scopes[0])[name]]
        if not any(map(_is_container, values)):
            return all(isinstance(each, ast.Call) and _is_factory(each) for each in values) or self._puts(scopes, name)
        for call in nodes_in(scopes[0], ast.Call):
            given = [*call.args, *(each.value for each in call.keywords)]
            if any(isinstance(each, ast.Name) and each.id == name for each in given) and not _only_reads(call):
                return False
        return self._puts(scopes, name)

    def _puts(self, scopes: Scopes, name: str) -> bool:
        bound = [(target, each.value) for each in nodes_in(scopes[0], ast.Assign) for target in each.targets]
        bound += [(each.target, each.value) for each in nodes_in(scopes[0], ast.AugAssign)]
        put = (value for target, value in bound if isinstance(target, ast.Subscript) and _root(target) == name)
        return self.all(scopes, put) and all(
            self.all(self._scopes_at(call, scopes), _put_by(call))
            for call in nodes_in(scopes[0], ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS and _root(call.func.value) == name
        )

    def _scopes_at(self, call: ast.Call, scopes: Scopes) -> Scopes:
        return scopes_of(self.tree, call) if isinstance(scopes[0], (ast.Module, *_FUNCTIONS)) else scopes

    def _call(self, scopes: Scopes, node: ast.Call) -> bool:
        name, called = dotted_path(node.func) or "", last_name(node.func)
        given = [*node.args, *(each.value for each in node.keywords)]
        if name.startswith("torch."):
            return self._of_torch(scopes, node, called)
        if name.startswith(("np.", "numpy.")):
            return True
        if isinstance(node.func, ast.Attribute):
            if called in _TO_HOST or (called == "to" and _says_cpu(node)):
                return True
            if called == "state_dict" and self.moves_nothing and _is_kept(self.tree, scopes, node.func.value):
                return True
            stays = called not in _ELSEWHERE or (bool(given) and all(map(_is_dtype, given)))
            return stays and self.holds(scopes, node.func.value) and self.all(scopes, _values_of(given))
        function = self._function(node)
        if function is not None:
            return self._returns(function, None)
        if name in _of_data(self.tree):
            parts = (each.value for each in node.keywords if each.arg not in _SAY_HOW)
            return self.all(scopes, (*node.args, *parts))
        return called in _PLAIN_CALLS or (called in _OF_ARGUMENTS and self.all(scopes, given))

    def _of_torch(self, scopes: Scopes, node: ast.Call, called: str) -> bool:
        places = [each.value for each in node.keywords if each.arg in ("device", "map_location")]
        if places:
            return all(map(_is_cpu, places))
        if _is_factory(node):
            return True
        tensors = [*node.args, *(each.value for each in node.keywords)]
        return called != "load" and bool(node.args) and self.all(scopes, _values_of(tensors))

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


@once_a_node
def _of_data(tree: ast.Module) -> frozenset[str]:
    """How a file writes what holds datasets, and is pickled with them."""
    return frozenset(text for each in _DATA if (text := spelled(tree, f"torch.utils.data.{each}")) is not None)


def _is_kept(tree: ast.Module, scopes: Scopes, node: ast.expr) -> bool:
    """Whether the code around makes a Module, and gives it to nobody that could move it."""
    path = dotted_path(node)
    if path is None or path.count(".") > 1:
        return False
    if isinstance(node, ast.Name):
        made = next((_values(scope).get(path) for scope in scopes if path in _values(scope)), None)
        values = [each.value for each in made or ()]
        around: ast.AST = scopes[0]
    else:
        owners = (each for each in nodes_in(tree, ast.ClassDef) if scopes[0] in inside(each))
        around = next(owners, tree)
        bound = (each for each in nodes_in(around, ast.Assign) if path in map(dotted_path, each.targets))
        values = [each.value for each in bound]
    given = (one for each in nodes_in(around, ast.Call) for one in (*each.args, *(key.value for key in each.keywords)))
    makes = all(isinstance(each, ast.Call) and last_name(each.func)[:1].isupper() for each in values)
    return bool(values) and makes and path not in map(dotted_path, given)


class _Bound(Struct, frozen=True):
    """A value that is bound to a name, or an element of it; without a value nothing is known."""

    value: ast.expr | None
    place: int | None = None


_MADE_OF = (
    ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript,
    ast.Starred, ast.NamedExpr,
)  # fmt: skip


def _made_of(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of an expression whose places decide where it is."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from node.values
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
        yield node.value


@once_a_node
def _values(scope: ast.AST) -> dict[str, list[_Bound]]:
    """All that names of a scope are bound to: by assignments, by rounds of loops, and by anything else."""
    found: dict[str, list[_Bound]] = {}
    for target, value in _bindings(scope):
        pairs: list[tuple[ast.expr, int | None]] = [(target, None)]
        if isinstance(target, (ast.Tuple, ast.List)):
            pairs = [(each, place) for place, each in enumerate(target.elts)]
        for each, place in pairs:
            names = (part for part in inside(each) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
            for name in names:
                found.setdefault(name.id, []).append(_Bound(value, place))
    return found


@once_a_node
def _bound_from_within(tree: ast.Module) -> frozenset[str]:
    """The names that functions bind in what is around them."""
    outer = [each.names for each in nodes_in(tree, ast.Global)] + [each.names for each in nodes_in(tree, ast.Nonlocal)]
    return frozenset(name for names in outer for name in names)


def _bindings(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(scope, _COMPREHENSIONS):
        yield from ((each.target, each.iter) for each in scope.generators)
        return
    yield from ((target, each.value) for each in own_nodes_in(scope, ast.Assign) for target in each.targets)
    yield from ((each.target, each.value) for each in own_nodes_in(scope, ast.AnnAssign) if each.value is not None)
    yield from ((each.target, each.value) for each in own_nodes_in(scope, ast.AugAssign))
    yield from ((each.target, each.value) for each in own_nodes_in(scope, ast.NamedExpr))
    yield from ((each.target, each.iter) for each in own_nodes_in(scope, ast.For))
    for block in own_nodes_in(scope, ast.With):
        yield from ((item.optional_vars, None) for item in block.items if item.optional_vars is not None)


def _is_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return last_name(value.func) in _MAKES_CONTAINERS
    return isinstance(value, _CONTAINERS)


def _is_factory(node: ast.Call) -> bool:
    """A function of torch that makes a tensor on the default device, which nothing says to be another one."""
    path = dotted_path(node.func) or ""
    made = path.rpartition(".")[2] in torch_api.FACTORIES | torch_api.DATA_FACTORIES
    return path.startswith("torch.") and made and all(each.arg not in ("device", None) for each in node.keywords)


def _put_by(call: ast.Call) -> list[ast.expr]:
    """What a call such as ``found.append(x)`` puts into a container; keys and places are no part of it."""
    after = 1 if last_name(call.func) in ("setdefault", "insert") else 0
    return [*call.args[after:], *(each.value for each in call.keywords)]


def _only_reads(call: ast.Call) -> bool:
    return last_name(call.func) in _READS or isinstance(call.func, ast.Attribute)


def _root(node: ast.expr) -> str:
    """The name that an element, or an element of an element, is taken of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _values_of(given: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """The arguments that may be tensors: no dtypes, and no names that say how something is done."""
    return (each for each in given if not _is_dtype(each))


def _is_dtype(node: ast.expr) -> bool:
    return is_dtype_name(dotted_path(node) or "")


def _says_cpu(node: ast.Call) -> bool:
    return any(map(_is_cpu, (*node.args, *(each.value for each in node.keywords))))


def _is_cpu(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and (dotted_path(node.func) or "").endswith("device") and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Constant) and node.value == "cpu"
