"""What ``__init__`` keeps as a plain attribute right beside a buffer: a tensor with dimensions, as that is one.

``self.register_buffer("mean", mean)`` and then ``self.std = torch.sqrt(variance)``: whoever registers the one forgot
the other. Of values that are not known, those count that come from where the buffer comes from as well, and what is
registered under the same name in the other arm of a test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from torchdevlint.flow.scope.assigned import assignments_by_path, unpacked_to, values_by_path, values_by_target
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import TOP, UNREGISTERED, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import AT_LEAST_1, Site, Step, Tensor, Unknown, Value
from torchdevlint.source.functions import AnyFunction, FunctionNode
from torchdevlint.source.nodes import assignment_of, inside, nodes_in, once_a_node


def beside_a_buffer(frame: Frame, info: ClassInfo, target: ast.Attribute, value: Value) -> Value:
    """An attribute as it is known, or, beside a buffer, as a tensor with dimensions that no Module moves."""
    function, name = frame.function, target.attr
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not _registers_any(function):
        return value
    parted = name in _registered_in_other_arm(function) and not _is_given(function, target)
    if not parted and target not in _beside_buffers(function):
        return value
    if _may_be_one_number(function, target):
        return value
    if any(len(assignments_by_path(one.node).get(f"self.{name}", ())) > 1 for one in info.mro):
        return value
    if isinstance(value, Tensor) and value.device.origin is Origin.KEPT:
        return replace(value, ndim=AT_LEAST_1) if value.ndim is None else value
    of_a_buffer = type(value) is Unknown and (parted or _is_of_a_buffer(function, target))
    if not of_a_buffer and not (isinstance(value, Tensor) and _is_anywhere(value)):
        return value
    site = Site(target, "", "init", frame.scope, False, None)
    return Tensor(UNREGISTERED, AT_LEAST_1, (site,), (Step(f"kept as `self.{name}`, beside a buffer", target),))


def _may_be_one_number(function: AnyFunction, target: ast.Attribute) -> bool:
    """``-torch.sum(torch.log(x)) - size``, which goes with tensors of all devices."""
    value = values_by_target(function).get(target)
    made = () if value is None else (value, *_bound_to(function, value))
    return any(
        last_name(call.func) in _REDUCTIONS and len(call.args) <= public_path(call.func).startswith("torch.")
        for each in made
        for call in inside(each)
        if isinstance(call, ast.Call) and not any(keyword.arg in ("dim", "axis") for keyword in call.keywords)
    )


_REDUCTIONS = frozenset(
    """
    sum mean max min amax amin median std var prod norm all any det logdet slogdet trace dot vdot logsumexp argmax
    argmin numel item matrix_norm vector_norm tensor as_tensor
    """.split()
)
"""Functions and methods that give one number where they are told no dimension, or may do so."""


def _is_anywhere(value: Tensor) -> bool:
    """Whether nothing says where it is, nor that it is one number."""
    return value.device == TOP and value.ndim != 0 and not (value.moved or value.parameter or value.opaque)


def _is_given(function: AnyFunction, target: ast.Attribute) -> bool:
    """Whether it is an argument as it came."""
    value = values_by_target(function).get(target)
    return isinstance(value, ast.Name) and value.id in parameter_names(function)


@once_a_node
def _registers_any(function: FunctionNode) -> bool:
    """Whether a function registers a buffer at all."""
    return any(_registered(each) is not None for each in nodes_in(function, ast.Expr))


@once_a_node
def _beside_buffers(function: FunctionNode) -> frozenset[ast.AST]:
    """The attributes that are assigned right before a statement that registers a buffer, or right behind one.

    What binds a name of the function may stand between them.
    """
    found: set[ast.AST] = set()
    for block in _blocks(function):
        kept = [each for each in block if not isinstance(_target(each), ast.Name)]
        for first, second in pairwise(kept):
            for one, other in ((first, second), (second, first)):
                target = _target(one)
                if target is not None and _is_of_self(target) and _registered(other) is not None:
                    found.add(target)
    return frozenset(found)


def _target(statement: ast.stmt) -> ast.expr | None:
    """What an assignment binds first."""
    assigned = assignment_of(statement)
    return None if assigned is None else assigned.targets[0]


@once_a_node
def _registered_in_other_arm(function: FunctionNode) -> frozenset[str]:
    """The attributes that one arm of a test assigns, where another arm registers a buffer of that name."""
    found: set[str] = set()
    for test in nodes_in(function, ast.If):
        for one, other in ((test.body, test.orelse), (test.orelse, test.body)):
            names = {_name_of(each) for statement in one for each in inside(statement) if isinstance(each, ast.Expr)}
            found |= {name for statement in other for name in _assigned(statement) if name in names}
    return frozenset(found)


def _name_of(statement: ast.Expr) -> str:
    named = statement.value.args[0] if _registered(statement) is not None else None  # type: ignore[attr-defined]
    return str(named.value) if isinstance(named, ast.Constant) else ""


def _assigned(statement: ast.stmt) -> Iterator[str]:
    for each in nodes_in(statement, ast.Attribute):
        if isinstance(each.ctx, ast.Store) and _is_of_self(each):
            yield each.attr


def _blocks(scope: ast.AST) -> Iterator[list[ast.stmt]]:
    for each in inside(scope):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(each, name, None)
            if isinstance(block, list):
                yield block


def _is_of_self(node: ast.expr) -> bool:
    path = dotted_path(node) or ""
    return path.startswith("self.") and path.count(".") == 1


def _registered(statement: ast.stmt) -> ast.expr | None:
    """`x` in ``self.register_buffer("name", x)``, which is not None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not call.args or dotted_path(call.func) != "self.register_buffer":
        return None
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "tensor")]
    return given[0] if given and not isinstance(given[0], ast.Constant) else None


def _is_of_a_buffer(function: AnyFunction, target: ast.Attribute) -> bool:
    """Whether it is unpacked with what is registered as a buffer, or calculated of the names that such a buffer is."""
    value = values_by_target(function).get(target)
    if value is None:
        return False
    registered = {name for each in nodes_in(function, ast.Expr) for name in _names(_registered(each))}
    read = {name for each in (value, *_bound_to(function, value)) if _is_calculated(each) for name in _names(each)}
    if isinstance(value, ast.Name):
        together = (elements for elements, _ in unpacked_to(function, value.id))
        read |= {name for elements in together for each in elements for name in _names(each)} - {value.id}
    return not registered.isdisjoint(read)


def _bound_to(function: AnyFunction, value: ast.expr) -> list[ast.expr]:
    """What the name that is assigned to the attribute is bound to, once."""
    bound = values_by_path(function).get(value.id, []) if isinstance(value, ast.Name) else []
    return bound if len(bound) == 1 else []


def _is_calculated(value: ast.expr) -> bool:
    return isinstance(value, (ast.BinOp, ast.UnaryOp))


def _names(node: ast.expr | None) -> set[str]:
    return set() if node is None else {each.id for each in inside(node) if isinstance(each, ast.Name)} - {"self"}
