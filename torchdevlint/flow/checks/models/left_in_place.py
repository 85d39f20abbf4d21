"""Names, and attributes of `self`, that hold one model which nothing moves: it is where it was made.

Where a model is given away, or asked for what may move it, nobody knows.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from torchdevlint.flow.events import Placed
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.flow.state.devices import VALUELESS_TYPES, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import Assignment, assignments_in, inside, nodes_in, once_a_node

_KEEPS_PLACE = frozenset(
    """
    parameters named_parameters modules named_modules state_dict load_state_dict zero_grad training forward weight bias
    """.split()
)
"""What a model is asked for without being moved."""
_SIZES = frozenset("in_features out_features in_channels out_channels num_features embedding_dim".split())
"""What a layer is asked for to make another one in its place: ``net.fc = Linear(net.fc.in_features, 10)``."""
_REPLACES = frozenset({"data", "weight", "bias"})
"""Attributes by which parameters are brought elsewhere one by one."""


def is_to_accelerator(event: Placed) -> bool:
    """Whether something of the analysed file is moved, and neither to the CPU nor to a device without values."""
    device = event.device
    return not (on_cpu(device) or device.name in VALUELESS_TYPES or event.frame.machine.reading.is_elsewhere)


@once_a_node
def _kept_here(scope: Scope) -> frozenset[str]:
    """The names of a scope that are bound to what calls give, and asked only for what leaves a model where it is."""
    return kept_names(scope, left_alone(scope))


@once_a_node
def _asked_here(scope: Scope) -> frozenset[str]:
    """The same, where methods that are called leave a model where it is, unless they are those that move."""
    return kept_names(scope, left_alone(scope) | asked_for_methods(scope))


def left_alone(scope: ast.AST) -> set[ast.AST]:
    """The expressions in a scope that are called, held against None, or asked for what leaves a model where it is."""
    found: set[ast.AST] = {call.func for call in nodes_in(scope, ast.Call)}
    found.update(each.left for each in nodes_in(scope, ast.Compare) if isinstance(each.ops[0], (ast.Is, ast.IsNot)))
    found.update(_defaulted(scope))
    found.update(call.args[0] for call in nodes_in(scope, ast.Call) if _only_looks(call))
    attributes = nodes_in(scope, ast.Attribute)
    found.update(each.value for each in attributes if each.attr in _KEEPS_PLACE)
    read = [each.value for each in attributes if each.attr in _SIZES]
    parts: tuple[ast.Attribute | ast.Subscript, ...] = (*attributes, *nodes_in(scope, ast.Subscript))
    written = [each for each in parts if isinstance(each.ctx, ast.Store)]
    found.update(holder for part in (*read, *written) for holder in _holders(part))
    calls = (each.value.func for each in nodes_in(scope, ast.Expr) if isinstance(each.value, ast.Call))
    dropped = (each for each in calls if isinstance(each, ast.Attribute))
    found.update(each.value for each in dropped if each.attr in torch_api.MODULE_MODES)
    return found


_LOOK = frozenset({"isinstance", "type", "hasattr", "callable", "id", "print", "repr", "str"})
"""Functions of Python that leave their argument as it is."""


def _only_looks(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in _LOOK and bool(call.args)


def _holders(node: ast.expr) -> Iterator[ast.expr]:
    """`net` and ``net.classifier`` for ``net.classifier[6]``: what holds a part."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        yield node


def _defaulted(scope: ast.AST) -> Iterator[ast.expr]:
    """`net` in ``net = net or Net()`` and ``net = net if net else Net()``: it is bound again as it is."""
    for target, value in (pair for each in assignments_in(scope) for pair in _pairs(each)):
        if isinstance(value, (ast.BoolOp, ast.IfExp)):
            yield from (each for each in _alternatives(value) if dotted_path(each) == dotted_path(target))


def _alternatives(value: ast.BoolOp | ast.IfExp) -> list[ast.expr]:
    return value.values if isinstance(value, ast.BoolOp) else [value.test, value.body, value.orelse]


def asked_for_methods(scope: ast.AST) -> set[ast.AST]:
    """The receivers of calls, but for those that move, be it later in the same chain: ``net.float().to(device)``.

    What ``net.act(x).cpu().numpy()`` moves is a tensor, by what the chain asks of it.
    """
    moves = torch_api.PLACING_METHODS | torch_api.MODULE_MODES
    attributes = nodes_in(scope, ast.Attribute)
    tensors = {each.value.func for each in attributes if each.attr in _OF_TENSORS and isinstance(each.value, ast.Call)}
    chains = {call for each in attributes if each.attr in moves and each not in tensors for call in _calls_before(each)}
    methods = (call.func for call in nodes_in(scope, ast.Call) if call not in chains)
    return {each.value for each in methods if isinstance(each, ast.Attribute) and each.attr not in moves}


_OF_TENSORS = torch_api.TENSOR_ONLY_METHODS | {"numpy", "item", "tolist"}


def _calls_before(node: ast.Attribute) -> list[ast.Call]:
    """The calls of a chain before a method, if they may give the model that it begins with."""
    calls = []
    while isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
        calls.append(node.value)
        node = node.value.func  # type: ignore[assignment]
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            return []
    return calls


def kept_names(scope: Scope, left_alone: set[ast.AST]) -> frozenset[str]:
    attributes = nodes_in(scope, ast.Attribute)
    if any(each.attr in _REPLACES and isinstance(each.ctx, ast.Store) for each in attributes):
        return frozenset()
    given_away = {
        each.id for each in nodes_in(scope, ast.Name) if not isinstance(each.ctx, ast.Store) and each not in left_alone
    }
    bindings = {name: sum(bound for _, bound, _ in places) for name, places in bindings_in(scope).items()}
    bound = [pair for each in assignments_in(scope) for pair in _pairs(each)]
    made = Counter(
        target.id for target, value in bound if isinstance(target, ast.Name) and _makes_one(value, target.id)
    )
    plain = {name for name, times in made.items() if times == bindings[name]}
    shared = {name for each in inside(scope) if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    return frozenset(plain - given_away - shared)


def _makes_one(value: ast.expr, name: str) -> bool:
    """Whether it is what a call gives, or that in place of nothing: ``name or Net()``, ``name if name else Net()``."""
    if isinstance(value, (ast.BoolOp, ast.IfExp)):
        made = [each for each in _alternatives(value) if isinstance(each, ast.Call)]
        return len(made) == 1 and any(dotted_path(each) == name for each in _alternatives(value))
    return isinstance(value, ast.Call)


def _pairs(statement: Assignment) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its value: ``student, teacher = Net(), Net()`` is two."""
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            yield from zip(target.elts, statement.value.elts, strict=False)
        else:
            yield target, statement.value


def stays(frame: Frame, path: str, of_known_class: bool = False) -> bool:
    """Whether a name, or an attribute of `self`, is bound to one model that nothing moves.

    The methods of a class that moves nothing, which is known, do not either.
    """
    if "." not in path:
        scope = frame.function or frame.machine.tree
        return path in (_asked_here(scope) if of_known_class else _kept_here(scope))
    owner, (root, _, name) = frame.owner, path.partition(".")
    if owner is None or root != "self" or "." in name or owner.is_module:
        return False
    if not owner.resolved and name not in optimized_at_once(owner.node):
        return False
    derived = [each for each in frame.machine.classes.values() if owner in each.mro and each is not owner]
    used = [(_used_by_known if of_known_class else _used_by)(each.node) for each in (*owner.mro, *derived)]
    known = [each for each in used if each is not None]
    if len(known) < len(used) or any(name in given_away for _, given_away in known):
        return False
    return sum(bound.count(name) for bound, _ in known) == 1 and name not in _asked_of_others(frame.machine.tree)


_Uses = tuple[tuple[str, ...], frozenset[str]]
"""The attributes of `self` that a class assigns, one by one, and those that it gives away or may move."""


@once_a_node
def _used_by(node: ast.ClassDef) -> _Uses | None:
    """Where attributes stay which are called, and asked only for what leaves a model where it is."""
    return _uses_of_attributes(node, left_alone(node))


@once_a_node
def _used_by_known(node: ast.ClassDef) -> _Uses | None:
    """The same, where methods that are called leave a model where it is, unless they are those that move."""
    return _uses_of_attributes(node, left_alone(node) | asked_for_methods(node))


@once_a_node
def optimized_at_once(node: ast.ClassDef) -> frozenset[str]:
    """The attributes whose parameters ``__init__`` gives to an optimizer: a base that is not seen is not to move them.

    Where each call of it calls a method that the class does not define, that may.
    """
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    init = methods.get("__init__")
    if init is None or any(name not in methods for name in _called_on_self(init)):
        return frozenset()
    paths = [dotted_path(each.func) or "" for each in nodes_in(init, ast.Call)]
    given = [path.split(".") for path in paths if path.startswith("self.") and path.endswith(".parameters")]
    return frozenset(parts[1] for parts in given if len(parts) == 3)


def _called_on_self(init: ast.FunctionDef) -> Iterator[str]:
    """The methods of `self` that statements of a constructor call whatever its arguments are."""
    for each in init.body:
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            root, _, name = (dotted_path(each.value.func) or "").partition(".")
            if root == "self" and "." not in name:
                yield name


def _uses_of_attributes(node: ast.ClassDef, left_alone: set[ast.AST]) -> _Uses | None:
    if any(each.id in _BY_NAME for each in nodes_in(node, ast.Name)):
        return None
    attributes = [each for each in nodes_in(node, ast.Attribute) if dotted_path(each.value) == "self"]
    bound = tuple(each.attr for each in attributes if not isinstance(each.ctx, ast.Load))
    given_away = {each.attr for each in attributes if isinstance(each.ctx, ast.Load) and each not in left_alone}
    return bound, frozenset(given_away)


@once_a_node
def _asked_of_others(tree: ast.Module) -> frozenset[str]:
    """The attributes that a file asks anything but `self` for."""
    return frozenset(each.attr for each in nodes_in(tree, ast.Attribute) if dotted_path(each.value) != "self")


_BY_NAME = frozenset({"getattr", "setattr", "vars"})
