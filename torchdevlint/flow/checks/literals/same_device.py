"""Whether an expression for a device says more of a place than the literal CUDA device that is named there (TDL012)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.run.arguments import names_a_device
from torchdevlint.flow.scope.assigned import targets_by_value, values_by_path
from torchdevlint.flow.scope.names import device_spec, dotted_path, first_name
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import TOP, Origin, literal, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Const, Dev, Library, Ref, Value
from torchdevlint.source.nodes import (
    arguments_of,
    assignments_in,
    is_inside,
    nodes_in,
    once_a_node,
    own_nodes_in,
    parts_of_sequence,
)

_MAX_HOPS = 3
"""How many assignments a device is followed through."""


def says_more(frame: Frame, node: ast.Call, text: str, shown_at: ast.AST) -> bool:
    """Whether `text`, which stands at `shown_at`, is a device at `node` as well, and not that of the literal there.

    It is none where its name is bound only later, or is bound anew on the way: ``index = index.cuda()``, and then
    ``index.device``. It is the literal where it is asked of what the code itself sends there by that literal.
    """
    scope = frame.function or frame.machine.tree
    if _is_bound_later(frame, scope, node, text) or _is_bound_between(scope, node, text, shown_at):
        return False
    if _is_chosen_alike(scope, frame.machine.tree, node, text):
        return False
    return not is_of_literal(scope, frame.owner, text)


def _is_chosen_alike(scope: ast.AST, tree: ast.AST, node: ast.Call, text: str) -> bool:
    """Whether the arm around a place is taken where the device was chosen as ``"cuda"``, by the same question.

    ``device = "cpu" if args.cpu else "cuda"``, and ``else: model.cuda()`` of ``if args.cpu:``.
    """
    values = values_by_path(scope).get(text) or values_by_path(tree).get(text) or ()
    chosen = choice_of(values[0]) if len(values) == 1 else None
    if chosen is None:
        return False
    asked, holds = _question(chosen.test)
    on_cuda = {outcome for outcome, arm in ((True, chosen.body), (False, chosen.orelse)) if _is_current(arm)}
    for each in nodes_in(scope, ast.If):
        question, positive = _question(each.test)
        arms = [
            taken
            for taken, arm in ((True, each.body), (False, each.orelse))
            if any(is_inside(node, one) for one in arm)
        ]
        if question == asked and arms and on_cuda == {(arms[0] is positive) is holds}:
            return True
    return False


def choice_of(value: ast.expr) -> ast.IfExp | None:
    """The conditional expression of a device, or of the name that `torch.device` gets."""
    value = device_spec(value)
    return value if isinstance(value, ast.IfExp) else None


def _question(test: ast.expr) -> tuple[str, bool]:
    """A test without what denies it, and whether it is asked as it stands."""
    positive = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, positive = test.operand, not positive
    return ast.dump(test), positive


def _is_current(arm: ast.expr) -> bool:
    """Whether an arm is ``"cuda"``, the current GPU."""
    inner = arm.args[0] if isinstance(arm, ast.Call) and len(arm.args) == 1 else arm
    return isinstance(inner, ast.Constant) and inner.value == "cuda"


def _is_bound_later(frame: Frame, scope: ast.AST, node: ast.Call, text: str) -> bool:
    """Whether the first name is one of this scope that no statement before the place binds."""
    name = first_name(_asked(text))
    lines = [each for path, each in _stores(scope) if path == name]
    given = frame.function is not None and any(each.arg == name for each in nodes_in(frame.function.args, ast.arg))
    return bool(lines) and not given and min(lines) >= node.lineno


def _is_bound_between(scope: ast.AST, node: ast.Call, text: str, shown_at: ast.AST) -> bool:
    """Whether what is asked for its device is bound anew by the statement that holds `node`, or on the way there."""
    asked, end = _asked(text), getattr(shown_at, "lineno", 0)
    if asked == text:
        return False
    own = (each for each in assignments_in(scope) if is_inside(node, each.value))
    if any(dotted_path(part) == asked for each in own for target in each.targets for part in parts_of_sequence(target)):
        return True
    return any(_is_part_of(asked, path) for path, line in _stores(scope) if node.lineno <= line <= end)


def _is_part_of(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def _asked(text: str) -> str:
    """What an expression asks for its device: `x` of ``x.device`` and ``next(x.parameters()).device``."""
    return text.removesuffix(".device").removeprefix("next(").removesuffix(".parameters())")


@once_a_node
def _stores(scope: ast.AST) -> tuple[tuple[str, int], ...]:
    """The names and paths that a scope binds itself, with the lines."""
    kinds: tuple[type[ast.Name], type[ast.Attribute], type[ast.Subscript]] = (ast.Name, ast.Attribute, ast.Subscript)
    found = [each for kind in kinds for each in own_nodes_in(scope, kind) if isinstance(each.ctx, ast.Store)]
    return tuple((path, each.lineno) for each in found if (path := _stored(each)) is not None)


def _stored(target: ast.expr) -> str | None:
    """The path of a target of an assignment; of an item under a key that is not known, that of the container."""
    return dotted_path(target.value if isinstance(target, ast.Subscript) and dotted_path(target) is None else target)


def is_of_literal(scope: ast.AST, owner: ClassInfo | None, text: str, hops: int = _MAX_HOPS) -> bool:
    """Whether an expression is the device of what a function or its class, the `owner`, sends to CUDA by name."""
    where = owner.node if text.startswith(("self.", "next(self.")) and owner is not None else scope
    values = [*values_by_path(where).get(text, ()), *_given_by_property(where, text)]
    if not values:
        return any(_is_part_of(_asked(text), path) for path in _sent_to_cuda(where))
    return hops > 0 and all(
        isinstance(each, ast.Attribute)
        and each.attr == "device"
        and is_of_literal(scope, owner, dotted_path(each) or ast.unparse(each), hops - 1)
        for each in values
    )


def _given_by_property(where: ast.AST, text: str) -> Iterator[ast.expr]:
    """What the property of a class returns that a text such as ``self.device`` reads."""
    for each in where.body if isinstance(where, ast.ClassDef) else ():
        if isinstance(each, ast.FunctionDef) and f"self.{each.name}" == text:
            yield from (returned.value for returned in own_nodes_in(each, ast.Return) if returned.value is not None)


@once_a_node
def _sent_to_cuda(scope: ast.AST) -> frozenset[str]:
    """The names and paths that a function or class moves to, or makes on, CUDA by name."""
    return frozenset(_sent(scope))


def _sent(scope: ast.AST) -> Iterator[str]:
    for each in assignments_in(scope):
        for target in each.targets:
            values = parts_of_sequence(each.value)
            parts = parts_of_sequence(target)
            pairs = zip(parts, values, strict=True) if len(parts) == len(values) else ()
            yield from (path for part, value in pairs if names_cuda(value) and (path := _stored(part)))
    for statement in nodes_in(scope, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and names_cuda(call):
            path = dotted_path(call.func.value)
            if path is not None:
                yield path


def is_literal(frame: Frame, node: ast.expr, state: State) -> bool:
    """Whether the device that is at hand is the same literal, or the CPU; not one that branches have chosen."""
    if isinstance(node, ast.Attribute) and _is_somewhere(frame.evaluate(node.value, state)):
        return False
    held = [each for _, each in alternatives(frame.evaluate(node, state)) if each != NONE]
    if held and all(isinstance(each, Ref) and names_a_device(each) for each in held):
        return False
    if not held or not all(isinstance(each, Dev) for each in held):
        return not is_chosen(held)
    literals = {Origin.LITERAL, Origin.DEFAULT}
    if frame.function in frame.machine.pipeline or not isinstance(node, ast.Attribute):
        literals.add(Origin.TOP)
    return all(each.device.origin in literals for each in held if isinstance(each, Dev)) and not is_chosen(held)


def _is_somewhere(value: Value) -> bool:
    """Whether it is a model of which the code asks where its callers have it."""
    return isinstance(value, Library) and value.module and value.device in (None, TOP) and value.placed is None


def is_chosen(values: list[Value]) -> bool:
    """Whether the CPU is among these values, and a device that is none."""
    texts = [value.value for value in values if isinstance(value, Const)]
    devices = [value.device for value in values if isinstance(value, Dev)]
    devices += [literal(text) for text in texts if isinstance(text, str)]
    down = [on_cpu(each) for each in devices]
    return len(devices) == len(values) and any(down) and not all(down)


def goes_to_others(function: ast.AST | None, moved: ast.Call, path: str) -> bool:
    """Whether the name for what is moved is only given to other attributes of the object: ``self.generator(z)``."""
    target = targets_by_value(function).get(moved) if function is not None else None
    if function is None or not isinstance(target, ast.Name):
        return False
    reads = [each for each in nodes_in(function, ast.Name) if each.id == target.id and isinstance(each.ctx, ast.Load)]
    calls = [each for each in nodes_in(function, ast.Call) if (dotted_path(each.func) or "").startswith("self.")]
    others = [each for each in calls if not f"{dotted_path(each.func)}.".startswith(f"{path}.")]
    return bool(reads) and all(any(read in arguments_of(each) for each in others) for read in reads)
