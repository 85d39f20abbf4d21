"""Attributes of a model that are read from its wrapper, which has none of them (TDL406)."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.reached import reached_from
from torchdevlint.flow.events import AttributeRead
from torchdevlint.flow.facts.parallel import HiddenAttribute
from torchdevlint.flow.kinds import wrappers
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func, Library, Obj, Ref, Value
from torchdevlint.source.nodes import inside, nodes_in

_ASKS = frozenset({"hasattr", "getattr"})
_CATCH = frozenset({"AttributeError", "Exception", "BaseException"})


def _note_read(event: AttributeRead) -> None:
    """``receiver.name`` is read; a wrapper that is a plain Module has its own attributes and no others."""
    frame, state, node, receiver = event.frame, event.state, event.node, event.receiver
    if not isinstance(receiver, Library) or receiver.prefix != "module." or receiver.made_at is None:
        return
    if not isinstance(node.ctx, ast.Load):
        return
    defined_by = _class_that_defines(receiver.inner, node.attr)
    if not _is_missing(receiver, node.attr, defined_by is not None):
        return
    if _is_asked_for(frame, state, node) or _is_put_on_wrapper(frame, node, receiver.made_at):
        return
    conditional = _wrapped_on_some_paths(frame, state, node.value, receiver.made_at)
    if conditional is None:
        return
    machine, made_at = frame.machine, receiver.made_at
    machine.record(
        ("hidden attribute", node),
        lambda: HiddenAttribute(
            machine.span_of(node),
            node.attr,
            _is_called(frame, node),
            machine.text_of(node.value),
            receiver.name,
            machine.span_of(made_at),
            "" if defined_by is None else defined_by.name,
            conditional,
            machine.span_of(node.value),
            *_unwrap(frame, made_at),
        ),
        state,
    )


def _unwrap(frame: Frame, made_at: ast.AST) -> tuple[str, bool]:
    """``accelerator.unwrap_model``, for a model that ``accelerator.prepare(..)`` has wrapped; whether that is bound."""
    callee = made_at.func if isinstance(made_at, ast.Call) else None
    path = dotted_path(callee.value) if isinstance(callee, ast.Attribute) and callee.attr == "prepare" else None
    if path is None:
        return "", True
    if frame.owner is not None and path.startswith("self."):
        return f"{path}.unwrap_model", True
    return f"{path}.unwrap_model", made_at in nodes_in(frame.function or frame.machine.tree, ast.Call)


def _class_that_defines(inner: Value | None, name: str) -> ClassInfo | None:
    """The class of the wrapped model, if it is known and it or a base in reach has that attribute."""
    for _, each in alternatives(inner) if inner is not None else ():
        if isinstance(each, Obj) and (name in each.info.all_methods or _writes(each.info, name)):
            return each.info
    return None


def _writes(info: ClassInfo, name: str) -> bool:
    return any(name in each.writers or name in each.attributes for each in info.mro)


def _is_missing(receiver: Library, name: str, defined: bool) -> bool:
    """Whether the wrapper surely lacks the attribute: releases differ in private names, and libraries in all.

    A `device` is the subject of TDL107, since plain Modules lack it as well.
    """
    tail = receiver.name.rpartition(".")[2]
    if name == "device" or name in torch_api.MODULE_ATTRIBUTES or name in torch_api.WRAPPER_ATTRIBUTES.get(tail, ()):
        return False
    if name.startswith("_") or not receiver.name.startswith("torch."):
        return defined and not name.startswith("__")
    return True


def _is_asked_for(frame: Frame, state: State, node: ast.Attribute) -> bool:
    """Whether the function asks for the attribute, or for a class that may have it, or handles its absence."""
    scope = frame.function or frame.machine.tree
    if any(_names_class(each, node.value) for each in nodes_in(scope, ast.Attribute)):
        return True
    for call in nodes_in(scope, ast.Call):
        if _asks_for(frame, state, call, node):
            return True
        asks = call.func.id if isinstance(call.func, ast.Name) and len(call.args) > 1 else ""
        if asks in _ASKS and isinstance(call.args[1], ast.Constant) and call.args[1].value == node.attr:
            return True
        of_it = asks == "isinstance" and dotted_path(call.args[0]) == dotted_path(node.value)
        if of_it and not wrappers.are_wrappers(frame.evaluate(call.args[1], state)):
            return True
    return any(_is_within(node, each.body) and _catches(each) for each in nodes_in(scope, ast.Try))


def _names_class(node: ast.Attribute, model: ast.expr) -> bool:
    """``model.__class__.__name__`` and ``type(model).__name__``: that of a wrapper is none that a layer has."""
    kind = node.value
    if node.attr != "__name__":
        return False
    if isinstance(kind, ast.Call) and dotted_path(kind.func) == "type" and len(kind.args) == 1:
        return dotted_path(kind.args[0]) == dotted_path(model)
    of_class = isinstance(kind, ast.Attribute) and kind.attr == "__class__"
    return of_class and dotted_path(kind.value) == dotted_path(model)  # type: ignore[attr-defined]


def _asks_for(frame: Frame, state: State, call: ast.Call, node: ast.Attribute) -> bool:
    """Whether a function that gets the model and the name of the attribute looks whether the one has the other.

    One of another library that is asked in a test does.
    """
    given = [*call.args, *(each.value for each in call.keywords)]
    named = any(isinstance(each, ast.Constant) and each.value == node.attr for each in given)
    if not named or not any(dotted_path(each) == dotted_path(node.value) for each in given):
        return False
    callee = frame.evaluate(call.func, state)
    if not isinstance(callee, Func):
        tests = (each.test for each in nodes_in(frame.function or frame.machine.tree, ast.If))
        return not isinstance(callee, Ref) and any(call in inside(test) for test in tests)
    asked = {each.func.id for each in nodes_in(callee.node, ast.Call) if isinstance(each.func, ast.Name)}
    return bool(asked & {*_ASKS, "dir", "vars"})


def _is_within(node: ast.AST, body: list[ast.stmt]) -> bool:
    line: int = node.lineno  # type: ignore[attr-defined]
    return body[0].lineno <= line <= (body[-1].end_lineno or line)


def _catches(node: ast.Try) -> bool:
    """Whether a handler takes an `AttributeError`."""
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or dotted_path(kind) in _CATCH for kind in kinds):
            return True
    return False


def _is_put_on_wrapper(frame: Frame, node: ast.Attribute, made_at: ast.AST) -> bool:
    """Whether the file assigns such an attribute to something that may be the wrapper.

    What the same function assigns before it wraps is the model's; so is what is assigned through ``.module``, and what
    a class assigns to itself.
    """
    machine = frame.machine
    before = _earlier(frame, made_at)
    for target in nodes_in(machine.tree, ast.Attribute):
        if target.attr == node.attr and not isinstance(target.ctx, ast.Load) and target not in before:
            path = dotted_path(target.value) or ""
            if path not in ("self", "cls") and not path.endswith(".module"):
                return True
    return any(_sets(call, node) for call in nodes_in(machine.tree, ast.Call))


def _earlier(frame: Frame, made_at: ast.AST) -> list[ast.Attribute]:
    """The attributes in this function, or else script, that come before the wrap."""
    scope, line = frame.function or frame.machine.tree, getattr(made_at, "lineno", 0)
    if scope is None or made_at not in nodes_in(scope, ast.Call):
        return []
    return [each for each in nodes_in(scope, ast.Attribute) if each.lineno < line]


def _sets(call: ast.Call, node: ast.Attribute) -> bool:
    """``setattr(model, name, ..)`` and ``model.register_buffer(name, ..)``, on something other than ``self``."""
    if isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3:
        target, name = call.args[0], call.args[1]
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTER and call.args:
        target, name = call.func.value, call.args[0]
    else:
        return False
    if isinstance(name, ast.Constant):
        return name.value == node.attr and dotted_path(target) != "self"
    return dotted_path(target) == dotted_path(node.value)


_REGISTER = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})


def _wrapped_on_some_paths(frame: Frame, state: State, model: ast.expr, made_at: ast.AST) -> bool | None:
    """Whether what is read is the wrapper on some paths only; None if the order of calls decides."""
    path = dotted_path(model)
    if path is None:
        return False
    if path.startswith("self.") and path not in state.paths and _runs_around_wrap(frame, path.removeprefix("self.")):
        return None
    seen = state.copy()
    seen.conditions = ()
    held = alternatives(frame.evaluate(model, seen))
    if all(_is_wrapper(each) for _, each in held):
        return False
    if path.startswith("self.") and not _is_in_order(frame, path.removeprefix("self.")):
        return None
    if any(conditions for conditions, each in held if _is_wrapper(each)):
        return True
    tests = nodes_in(frame.machine.tree, ast.If)
    return any(made_at in nodes_in(each, ast.Call) and model not in nodes_in(each, type(model)) for each in tests)


def _is_wrapper(value: Value) -> bool:
    return isinstance(value, Library) and bool(value.prefix)


def _runs_around_wrap(frame: Frame, attribute: str) -> bool:
    """Whether this method is run by one that wraps the model, or runs one: what it reads first is not wrapped yet.

    After the wrap the path knows what the attribute holds.
    """
    owner, function = frame.owner, frame.function
    if owner is None or function is None:
        return False
    writers = {method for each in owner.mro for method in each.writers.get(attribute, ())}
    methods = [method for each in owner.mro for method in each.methods.values()]
    wraps = [each for each in methods if each in writers or not writers.isdisjoint(reached_from(owner, each))]
    return any(function is each or function in reached_from(owner, each) for each in wraps)


def _is_in_order(frame: Frame, attribute: str) -> bool:
    """Whether the attribute of ``self`` is assigned here, or by ``__init__`` alone and before this method is called."""
    owner = frame.owner
    if owner is None or frame.function is None:
        return False
    writers = [method for each in owner.mro for method in each.writers.get(attribute, ())]
    if frame.function in writers:
        return True
    if any(not isinstance(each, ast.FunctionDef) or each.name != "__init__" for each in writers):
        return False
    return frame.function not in [node for each in writers for node in reached_from(owner, each)]


def _is_called(frame: Frame, node: ast.Attribute) -> bool:
    scope = frame.function or frame.machine.tree
    return scope is not None and any(call.func is node for call in nodes_in(scope, ast.Call))


EVENTS = {AttributeRead: _note_read}
