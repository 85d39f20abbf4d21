"""Names for a place in another function than the one that is run: what is bound there, and stands for the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.state.devices import MODEL, Device
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.near import Near
from torchdevlint.flow.vouch.bound import Scope, binds, scopes_around, surely_bound
from torchdevlint.flow.vouch.devices import device_at, device_of_part
from torchdevlint.source.nodes import ids_below, inside, is_inside, nodes_in, once_a_node


def scope_of(frame: Frame, place: ast.AST) -> Scope:
    """The function that a place is in, which need not be the one that is run."""
    scopes = scopes_around(frame.machine.tree, place)
    return scopes[0] if scopes else frame.function or frame.machine.tree


def stands_here(frame: Frame, place: ast.AST, node: ast.expr | None = None) -> bool:
    """Whether a place is in the function that is run, and sees what `node` reads there."""
    tree = frame.machine.reading.tree_here
    scopes, here = scopes_around(tree, place), frame.function or tree
    return bool(scopes) and scopes[0] is here and (node is None or not _is_inner(here, place, node))


def is_given_around(frame: Frame, place: ast.AST) -> bool:
    """Whether the function that was entered is defined in the one of the literal, and called nowhere but there.

    Then that one gives it its arguments, and what they are has been looked at in the calls.
    """
    entered, scope = frame.machine.entry_node, scope_of(frame, place)
    if not isinstance(entered, ast.FunctionDef) or isinstance(scope, ast.Module) or not is_inside(entered, scope):
        return False
    called = {id(each.func) for each in nodes_in(scope, ast.Call)}
    reads = [each for each in nodes_in(scope, ast.Name) if each.id == entered.name]
    return bool(reads) and all(id(each) in called for each in reads)


def _is_inner(scope: Scope, place: ast.AST, node: ast.expr) -> bool:
    """Whether an expression reads what a comprehension binds that the place is not in."""
    around = [each for each in _comprehensions(scope) if id(node) in ids_below(each)]
    inner = [each for each in around if id(place) not in ids_below(each)]
    targets = (name for each in inner for part in each.generators for name in inside(part.target))
    bound = {name.id for name in targets if isinstance(name, ast.Name)}
    return any(isinstance(each, ast.Name) and each.id in bound for each in inside(node))


@once_a_node
def _comprehensions(scope: Scope) -> tuple[ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, ...]:
    found: list[ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp] = [*nodes_in(scope, ast.ListComp)]
    found += [*nodes_in(scope, ast.SetComp), *nodes_in(scope, ast.DictComp), *nodes_in(scope, ast.GeneratorExp)]
    return tuple(found)


def devices_elsewhere(frame: Frame, around: Near, place: ast.AST, wanted: Device, layer: str) -> Iterator[str]:
    """The device `wanted` as the function around a place can say it; `layer` is what it is called here."""
    tensor = device_at(frame, around, place, wanted) or device_of_part(frame, around, place, wanted)
    if tensor is not None:
        yield tensor
    module = _of_same_layer(frame, around, place, layer) or _of_called_module(frame, around, place)
    if wanted == MODEL and module is not None:
        yield module


def name_elsewhere(frame: Frame, around: Near, place: ast.expr, placed: ast.expr) -> tuple[str, str] | None:
    """The variable or attribute by which the operand `placed` comes from a place; else a call that takes or gives it.

    With the kind of the fact.
    """
    scopes = scopes_around(frame.machine.tree, place)
    if not scopes:
        return None
    scope = scopes[0]
    path = next((each for each in _assigned(scope, place) if _is_read(frame, around, scope, each, placed)), None)
    if path is not None:
        of_module = path.startswith("self.") and around.owner is not None and around.owner.is_module
        return path, "buffer" if of_module else "kept"
    if scope is (frame.function or frame.machine.tree):
        return None
    entered = _entered_from(frame, around)
    if entered is not None:
        path = dotted_path(entered[0].func)
        return None if path is None else (f"{path}()", "passed")
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) or scope.name == "__init__":
        return None
    return (f"{scope.name}()" if around.owner is None else f"{around.owner.name}.{scope.name}()"), "kept"


def _of_same_layer(frame: Frame, around: Near, place: ast.AST, text: str) -> str | None:
    """``next(self.layer.parameters()).device``, where the other method is one of the same object."""
    path = text.removeprefix("next(").removesuffix(".parameters()).device")
    if around.owner is None or not path.startswith("self.") or not _is_of_object(frame, around):
        return None
    made = any(path.split(".")[1] in each.writers for each in around.owner.mro)
    bound = _is_bound(around, place, path) and getattr(around.function, "name", "") != "__init__"
    return text if made and bound else None


def _is_of_object(frame: Frame, around: Near) -> bool:
    """Whether both are methods of one class, or of a class and its base."""
    if around.owner is None or frame.owner is None:
        return False
    return around.owner in frame.owner.mro or frame.owner in around.owner.mro


def _of_called_module(frame: Frame, around: Near, place: ast.AST) -> str | None:
    """``next(self.net.parameters()).device``, where the operation is in the forward of what is called there."""
    entered = _entered_from(frame, around)
    if entered is None or entered[1].owner is None or not entered[1].owner.is_module:
        return None
    call, inner = entered
    path = dotted_path(call.func)
    if path is None or getattr(inner.function, "name", "") != "forward":
        return None
    module = path.removesuffix(".forward")
    of_class = module != path and bool(call.args) and dotted_path(call.args[0]) == "self"  # ``Base.forward(self, x)``
    is_instance = not of_class or first_name(path) == "self"
    return f"next({module}.parameters()).device" if is_instance and _is_bound(around, place, module) else None


def _is_bound(around: Near, place: ast.AST, path: str) -> bool:
    """Whether the name that a path of that function starts with is bound where the place is."""
    name, scope = first_name(path), around.function
    return scope is None or name in surely_bound(scope, place) or not binds(scope, name)


def _entered_from(frame: Frame, around: Near) -> tuple[ast.Call, Frame] | None:
    """The call in the function of the literal that led to the operation, and the frame of what it calls."""
    inner = frame
    while inner.called_at is not None:
        call, outer = inner.called_at
        if outer.function is around.function:
            return (call, inner) if isinstance(call, ast.Call) else None
        inner = outer
    return None


def _assigned(scope: Scope, place: ast.expr) -> Iterator[str]:
    """The variables and attributes that are assigned what a place is in."""
    for path, values in values_by_path(scope).items():
        if any(each is place or id(place) in ids_below(each) for each in values):
            yield path


def _is_read(frame: Frame, around: Near, scope: Scope, path: str, placed: ast.expr) -> bool:
    """Whether the operation, its function, or a call that led there reads what is assigned in `scope`."""
    reads = [each for each in _on_the_way(frame, scope, placed) if dotted_path(each[1]) == path]
    if first_name(path) == "self":
        return any(_is_of_object(inner, around) for inner, _ in reads)
    around_each = (scopes_around(frame.machine.tree, node) for _, node in reads)
    return any(next((each for each in scopes if binds(each, path)), None) is scope for scopes in around_each)


def _on_the_way(frame: Frame, scope: Scope, placed: ast.expr) -> Iterator[tuple[Frame, ast.AST]]:
    """The nodes of the operand, of another function that holds it, and of the calls that led there, with the frames."""
    holder = frame.function if frame.function is not scope else None
    yield from ((frame, each) for each in chain(inside(placed), () if holder is None else inside(holder)))
    while frame.called_at is not None:
        call, frame = frame.called_at
        yield from ((frame, each) for each in inside(call))
