"""Loops and comprehensions that move tensors and drop them: where the results belong (TDL002)."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.discarded.met_on_host import meets_what_came_back
from torchdevlint.flow.facts.tensors import DeadLoopMove
from torchdevlint.flow.knowledge.array_readers import LIBRARIES
from torchdevlint.flow.run.arguments import evaluate_arguments
from torchdevlint.flow.scope.names import dotted_path, first_name, public_path
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.flow.state.devices import Device, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Dtype, Ref, Tensor
from torchdevlint.flow.vouch.names import assignable
from torchdevlint.source.nodes import arguments_of, inside, is_inside, is_name, nodes_in, once_a_node


def record_in_loop(frame: Frame, loop: ast.For | ast.AsyncFor, statement: ast.stmt, call: ast.Call) -> None:
    """``t = t.to(d)``, which is `statement`, in a loop over a container."""
    machine, source = frame.machine, loop.iter
    of_items = _of_items(source)
    container = source if of_items is None else of_items
    name, arguments = call.func.value.id, _arguments(frame, call)  # type: ignore[attr-defined]

    def make() -> DeadLoopMove:
        text = machine.text_of(container)
        path = _assignable(frame, container, loop)
        key = _key(loop.target, name) if of_items is not None else None
        alone = loop.body == [statement] and not loop.orelse and isinstance(loop.target, ast.Name)
        whole = alone and of_items is None and path is not None and "#" not in machine.text_of(loop)
        return DeadLoopMove(
            machine.span_of(statement),
            name,
            text,
            "list" if of_items is None else "dict",
            arguments,
            None if path is None or key is None else f"{text}[{key}]",
            machine.span_of(statement.targets[0]) if isinstance(statement, ast.Assign) else None,
            path,
            machine.span_of(loop) if whole else None,
            machine.text_of(call),
            isinstance(container, (ast.List, ast.Tuple)),
            _is_harmless(frame, container, loop, call),
        )

    machine.record_anyway(("dead", statement), make)


def record_comprehension(
    frame: Frame,
    statement: ast.Expr,
    made: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
    call: ast.Call,
) -> None:
    """``[t.to(d) for t in batch]`` as a statement."""
    machine, source = frame.machine, made.generators[0].iter
    of_items = _of_items(source)
    same_kind = isinstance(made, ast.DictComp) if of_items is not None else isinstance(made, ast.ListComp)
    simple = same_kind and len(made.generators) == 1 and not made.generators[0].ifs
    machine.record_anyway(
        ("dead", statement),
        lambda: DeadLoopMove(
            machine.span_of(statement),
            call.func.value.id,  # type: ignore[attr-defined]
            machine.text_of(source),
            "comprehension",
            _arguments(frame, call),
            path=_assignable(frame, source if of_items is None else of_items, statement) if simple else None,
            literal=isinstance(source, (ast.List, ast.Tuple)),
            harmless=_is_harmless(frame, source, statement, call),
        ),
    )


def _of_items(source: ast.expr) -> ast.expr | None:
    """`batch` in ``batch.items()``."""
    is_items = isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr == "items"
    return source.func.value if is_items else None  # type: ignore[attr-defined]


def _arguments(frame: Frame, call: ast.Call) -> str:
    return ", ".join(frame.machine.text_of(each) for each in (*call.args, *call.keywords))


def _key(target: ast.expr, name: str) -> str | None:
    """`key` in ``for key, value in batch.items()``, where `name` is that of the value."""
    names = [each.id for each in target.elts if isinstance(each, ast.Name)] if isinstance(target, ast.Tuple) else []
    return names[0] if len(names) == 2 and names[1] == name != names[0] else None


def only_moves(frame: Frame, node: ast.Expr, call: ast.Call, target: Device, state: State) -> bool:
    """Whether a move changes nothing but the device of a name, which is then no CPU that later lines did without.

    Not where it goes to the device and dtype of another tensor, or to that of a legacy type.
    """
    method, receiver = call.func.attr, call.func.value  # type: ignore[attr-defined]
    arguments = evaluate_arguments(frame, call, state)
    given = [*arguments.values[:1], *(value for _, value in arguments.positional[1:])]
    types = any(isinstance(each, (Dtype, Tensor)) for each in given) or "dtype" in arguments.keywords
    moved = method not in ("type", "type_as") and not types and not on_cpu(target)
    return moved and isinstance(receiver, ast.Name) and not _is_wanted_as_it_was(frame, receiver.id, node)


def _is_harmless(frame: Frame, container: ast.expr, place: ast.stmt, call: ast.Call) -> bool:
    """Whether it is names that are moved, and not to the CPU, and later lines do not read them there."""
    parts = container.elts if isinstance(container, (ast.List, ast.Tuple)) else []
    names = [each.id for each in parts if isinstance(each, ast.Name)]
    down = (dotted_path(call.func) or "").endswith(".cpu") or _arguments(frame, call).strip("\"'") == "cpu"
    return bool(names) and not down and not any(_is_wanted_as_it_was(frame, name, place) for name in names)


def _assignable(frame: Frame, container: ast.expr, place: ast.stmt) -> str | None:
    """What can be assigned to keep what a loop over a container gives: a name, a path, the names of a tuple."""
    if frame.machine.reading.is_elsewhere or isinstance(frame.function, ast.Lambda):
        return None
    if isinstance(container, (ast.List, ast.Tuple)):
        names = [each.id for each in container.elts if isinstance(each, ast.Name) and assignable(frame, each.id, place)]
        return ", ".join(names) if len(names) == len(container.elts) > 1 else None
    path = dotted_path(container)
    return path if path is not None and (not path.isidentifier() or assignable(frame, path, place)) else None


def converts(frame: Frame, call: ast.Call, state: State) -> bool:
    """Whether a move gives another type as well, ``x.to(device, y.dtype)``: that is lost wherever `x` is."""
    types = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "dtype")]
    return any(isinstance(frame.evaluate(each, state), Dtype) for each in types)


def _is_wanted_as_it_was(frame: Frame, name: str, place: ast.stmt) -> bool:
    """Whether lines behind a statement, or around it in a loop, need the tensor of a name where it was made.

    They read it with NumPy and the like, hold it against what was brought to the CPU (``outputs.cpu() == labels``),
    bring it back in vain (``x.cpu()`` as a statement), or ask for the gradient of what was calculated of it before: the
    copy on another device has no part in that.
    """
    scope = frame.function or frame.machine.tree
    loops = [each for kind in (ast.For, ast.While) for each in nodes_in(scope, kind) if is_inside(place, each)]
    first = min((each.lineno for each in loops), default=place.lineno)
    later = [call for call in _calls_with(scope).get(name, ()) if call.lineno >= first]
    if any(_is_numpy_of(call, name) or _is_of_library(frame, call) for call in later):
        return True
    if meets_what_came_back(scope, name, first):
        return True
    calls = (each for each in nodes_in(scope, ast.Call) if each.lineno >= first)
    asking = (each for each in calls if public_path(each.func) == "torch.autograd.grad")
    if any(is_name(each, name) for call in asking for each in inside(call)):
        return True
    dropped = (each.value for each in nodes_in(scope, ast.Expr) if each.lineno >= first)
    return any(isinstance(each, ast.Call) and dotted_path(each.func) == f"{name}.cpu" for each in dropped)


@once_a_node
def _calls_with(scope: Scope) -> dict[str, list[ast.Call]]:
    """The calls by what they are given by its name, and ``x.numpy()`` by `x`."""
    found: dict[str, list[ast.Call]] = {}
    for call in nodes_in(scope, ast.Call):
        given = arguments_of(call)
        names = {each.id for each in given if isinstance(each, ast.Name)}
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy":
            names.add(dotted_path(call.func.value) or "")
        for name in names:
            found.setdefault(name, []).append(call)
    return found


def _is_numpy_of(call: ast.Call, name: str) -> bool:
    return dotted_path(call.func) == f"{name}.numpy"


def _is_of_library(frame: Frame, call: ast.Call) -> bool:
    """``np.f(x)``."""
    called = frame.machine.globals.get(first_name(dotted_path(call.func) or ""))
    return isinstance(called, Ref) and f"{called.name}.".startswith(LIBRARIES)
