"""Models that come from elsewhere, and are asked where they are to bring something there.

``device = next(model.parameters()).device`` and ``x.to(device)``, or ``x.to(model.device)``, say what
``model.to(device)`` would: what the model is given has to be there.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.run.built_attributes import keep_moved
from torchdevlint.flow.scope.assigned import targets_by_value, values_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names, places_in
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import TOP, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, Step, Unknown
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, inside, nodes_in, once_a_node

_GIVE_PARAMETERS = frozenset({"parameters", "buffers", "named_parameters", "named_buffers"})


def note_asked(frame: Frame, state: State, node: ast.Attribute, device: Device) -> None:
    """Let a model be where one of its parameters is asked to be.

    It came as an argument, an object keeps it, or a name holds what something unknown gave: ``net = task.network()``.
    """
    function = frame.function
    if frame.depth or device == TOP or device.origin not in (Origin.EXPRESSION, Origin.ARGUMENT):
        return
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    model = _model_in(frame, node.value)
    path = None if model is None else dotted_path(model)
    owner = frame.owner if frame.owner is not None and not frame.owner.is_module else None
    if model is None or path is None or not _is_told(function, owner, node):
        return
    placed = Library("", True, device, placed=Step(f"`{path}` is asked for its device", node))
    if path in parameter_names(function):
        if _is_anywhere(state, path):
            state.bind(path, placed)
            _keep(frame, state, function, owner, path, placed)
    elif "." not in path and type(state.env.get(path)) is Unknown:
        state.bind(path, placed)
    elif owner is not None and isinstance(model, ast.Attribute) and _is_given(frame, state, owner, model):
        state.bind(path, placed)
        keep_moved(frame, state.conditions, model, placed)


def _model_in(frame: Frame, node: ast.expr) -> ast.expr | None:
    """`model` in ``next(model.parameters())``, and in ``model.device`` where the function calls it."""
    if isinstance(node, ast.Name):
        uses = uses_in(frame.function).get(node.id) if frame.function is not None else None
        return node if uses is not None and (uses.called or uses.is_module) else None
    calls = (each for each in inside(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute))
    models = [each.func.value for each in calls if each.func.attr in _GIVE_PARAMETERS]  # type: ignore[attr-defined]
    return models[0] if len(models) == 1 else None


def _is_anywhere(state: State, path: str) -> bool:
    held = state.env.get(path)
    if type(held) is Unknown:
        return held.given is None or held.given.origin is Origin.ARGUMENT
    return isinstance(held, Library) and not held.name and held.device is None and held.placed is None


def _is_given(frame: Frame, state: State, owner: ClassInfo, model: ast.Attribute) -> bool:
    """Whether an object keeps a model that ``__init__`` was given, of which nothing else is known."""
    held = frame.evaluate(model, state)
    return (
        isinstance(frame.receiver, Obj)
        and dotted_path(model.value) == "self"
        and (isinstance(held, Unknown) or (isinstance(held, Library) and not held.name and held.placed is None))
        and _argument_kept(owner, f"self.{model.attr}")
    )


def _argument_kept(owner: ClassInfo, path: str) -> bool:
    init = owner.methods.get("__init__")
    kept = values_by_path(owner.node).get(path, [])
    names = frozenset() if init is None else parameter_names(init)
    return len(kept) == 1 and isinstance(kept[0], ast.Name) and kept[0].id in names


def _keep(
    frame: Frame,
    state: State,
    function: FunctionNode,
    owner: ClassInfo | None,
    path: str,
    placed: Library,
) -> None:
    """What ``self.model = model`` has kept before."""
    if owner is None or owner.methods.get("__init__") is not function:
        return
    for each in assignments_in(function):
        target = each.targets[0]
        kept = isinstance(target, ast.Attribute) and dotted_path(each.value) == path
        if kept and _argument_kept(owner, dotted_path(target) or ""):
            keep_moved(frame, state.conditions, target, placed)


def _is_told(function: FunctionNode, owner: ClassInfo | None, asked: ast.Attribute) -> bool:
    """Whether something is brought or made there, by this expression or the name that it is bound to."""
    target = targets_by_value(function).get(asked)
    path = None if target is None else dotted_path(target)
    scope = owner.node if owner is not None and path is not None and path.startswith("self.") else function
    places, paths = _told_in(scope)
    return asked in places or (path is not None and path in paths)


@once_a_node
def _told_in(scope: ast.AST) -> tuple[frozenset[ast.expr], frozenset[str]]:
    """Where calls make or move something, as expressions, and as names."""
    places = [place for call in nodes_in(scope, ast.Call) for place in places_in(call)]
    return frozenset(places), frozenset(path for each in places if (path := dotted_path(each)) is not None)
