"""Inputs of a model that an object keeps, which one place moves and another leaves where they are (TDL005, TDL014).

``self.model(states.to(self.device))`` in one method says where the model is; ``self.model(torch.tensor(state))`` in
another forgets it, and so does a loop over a loader that gives it the batch as it came. So does a method that asks the
model for its place: ``x.to(next(self.model.parameters()).device)``, and one that loads it as a whole to a device. What
builds the object may try the model before anything is moved, and who brings the model to the CPU for a while knows
where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import LayerCalled, Mixed
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.run.modules import may_move
from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.chains import moved_in
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_device,
    parameter_names,
    places_in,
    public_path,
)
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import LOADER, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor, Value
from torchdevlint.source.nodes import keyword_of, nodes_in


def _note_layer(event: LayerCalled) -> None:
    frame, node = event.frame, event.node
    if frame.depth or scatters(frame) or event.state.guarded:
        return
    spread = [each.value for each in node.keywords if each.arg is None] if not node.args else []
    given = [(each, frame.evaluate(each, event.state)) for each in spread] or event.operands
    move = _moved_for_it(frame, node) if given and is_named_like_a_model(node.func) else None
    shown = move or (_loaded_for_it(frame, node) if given else None)
    if shown is None:
        return
    at, value = given[0]
    if at not in (*node.args[:1], *spread) or is_bookkeeping(dotted_path(at)) or may_move(frame, node, at):
        return
    if isinstance(value, Tensor) and (is_made_here(frame, value) or _is_of_loader(frame, value)):
        place = places_in(shown)[0] if move else keyword_of(shown, "map_location")
        there, path = frame.machine.text_of(place), frame.machine.text_of(node.func)  # type: ignore[arg-type]
        step = Step(f"`{path}` is {'given what was moved' if move else 'loaded'} to `{there}` here", shown)
        model = Tensor(Device(Origin.EXPRESSION, there), AT_LEAST_1, (), (step,))
        frame.machine.emit(Mixed(frame, event.state, node, f"`{path}()`", (at, value), (node.func, model)))


def _moved_for_it(frame: Frame, node: ast.Call) -> ast.Call | None:
    """The move of what is given to the same model elsewhere: in another method, or in a function told the same."""
    function, owner, path = frame.function, frame.owner, dotted_path(node.func) or ""
    if not isinstance(function, ast.FunctionDef):
        return None
    if owner is None:
        unread = {each for each in parameter_names(function) if mentions_device(each)} - set(bindings_in(function))
        if path not in parameter_names(function) or not unread or path in moved_in(function):
            return None
        others = (
            each for each in frame.machine.tree.body if isinstance(each, ast.FunctionDef) and each is not function
        )
        moves = (each for other in others if path in parameter_names(other) for each in _moved_inputs(other, path))
        return next((each for each in moves if dotted_path(places_in(each)[0]) in unread), None)
    if owner.is_module or not path.startswith("self.") or path.count(".") > 1 or function.name == "__init__":
        return None
    if path in moved_in(owner.node):
        return None
    methods = (each for each in owner.node.body if isinstance(each, ast.FunctionDef))
    moves = (each for method in methods for each in _moved_inputs(method, path))
    found = next((each for each in moves if (dotted_path(places_in(each)[0]) or "").startswith("self.")), None)
    return found or next(_moved_to_it(owner.node, path), None)


def _loaded_for_it(frame: Frame, node: ast.Call) -> ast.Call | None:
    """``self.net = torch.load(path, map_location=self.device)``: what is called was saved as a whole, and is there.

    Its constructor may be given another one.
    """
    function, owner, path = frame.function, frame.owner, dotted_path(node.func) or ""
    if owner is None or owner.is_module or not path.startswith("self.") or path.count(".") > 1:
        return None
    if getattr(function, "name", "__init__") == "__init__" or path in moved_in(owner.node):
        return None
    bound = values_by_path(owner.node).get(path, [])
    loads = [each for each in bound if isinstance(each, ast.Call) and _is_placed_load(each)]
    others = [each for each in bound if each not in loads]
    return loads[0] if loads and all(isinstance(each, ast.Name) for each in others) else None


def _is_placed_load(call: ast.Call) -> bool:
    place = keyword_of(call, "map_location")
    placed = place is not None and mentions_device(last_name(place))
    return placed and public_path(call.func) in ("torch.load", "torch.jit.load")


def _moved_to_it(node: ast.ClassDef, path: str) -> Iterator[ast.Call]:
    """What methods give the model where they ask it for its place: ``self.net.embed(x.to(device))`` behind that."""
    asked = {f"next({path}.parameters()).device", f"{path}.device"}
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        bound = values_by_path(method).items()
        places = asked | {name for name, values in bound if {ast.unparse(each) for each in values} <= asked}
        for call in nodes_in(method, ast.Call):
            called = dotted_path(call.func) or ""
            if called == path or called.startswith(f"{path}."):
                yield from (each for each in call.args if _is_move(each) and ast.unparse(places_in(each)[0]) in places)


def _is_of_loader(frame: Frame, value: Value) -> bool:
    """Whether it is, or was made of, what a loader gave, whose batches nothing else moves."""
    return isinstance(value, Tensor) and value.device == LOADER and not moves_batches(frame)


def _moved_inputs(function: ast.FunctionDef, path: str) -> Iterator[ast.Call]:
    """The moves to a device of what a function gives the model first, as all that the name stands for there."""
    for call in nodes_in(function, ast.Call):
        if dotted_path(call.func) != path or not call.args:
            continue
        name = dotted_path(call.args[0])
        bound = [call.args[0]] if name is None else _bound_to(function, name)
        moves = [each for each in bound if _is_move(each) and each.lineno <= call.lineno]
        if moves and len(moves) == len(bound):
            yield from moves


def _bound_to(function: ast.FunctionDef, name: str) -> list[ast.expr]:
    """What is assigned to a name, also in ``x, y = x.to(device), y.to(device)``."""
    found = list(values_by_path(function).get(name, []))
    for targets, value in unpacked_to(function, name):
        if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
            found += [each for target, each in zip(targets, value.elts, strict=True) if dotted_path(target) == name]
    return found


def _is_move(node: ast.expr) -> TypeGuard[ast.Call]:
    """``x.to(self.device)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return False
    return any(mentions_device(last_name(each)) for each in places_in(node)[:1])


SAYING = ("cuda", "map_location", ".to(")
EVENTS = {LayerCalled: _note_layer}
