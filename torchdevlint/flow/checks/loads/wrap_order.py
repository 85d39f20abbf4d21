"""Whether a place reads a model before it is wrapped, or after: the order of what the methods of a class do."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.methods_run import reached_from
from torchdevlint.flow.run.branch_tests import flag_of_objects
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, names_one_of, stem_of
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import writers_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, StateDict, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, is_inside, nodes_in


def wrapped_on_some_paths(frame: Frame, state: State, model: ast.expr, made_at: ast.AST) -> bool | None:
    """Whether what is read is the wrapper on some paths only; None if the order of calls decides.

    A name that a method binds once, to an attribute, is that attribute.
    """
    model = _meant_by(frame, model)
    path = dotted_path(model)
    if path is None:
        return False
    if path.startswith("self.") and path not in state.paths and _runs_around_wrap(frame, path.removeprefix("self.")):
        return None
    if path.startswith("self.") and _is_bound_again(frame, path, made_at):
        return None
    if path.startswith("self.") and _is_told_apart(frame, state, made_at):
        return None
    if isinstance(model, ast.Attribute) and not _is_surely_of(frame, state, model, made_at):
        return None
    if isinstance(model, ast.Attribute) and _is_unwrapped(frame.evaluate(model.value, state), model.attr):
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


def _meant_by(frame: Frame, model: ast.expr) -> ast.expr:
    """``self.net``, for a name that one assignment of the method binds, to just that."""
    if not isinstance(model, ast.Name) or frame.owner is None or frame.function is None:
        return model
    bound = [each for each in bindings_in(frame.function).get(model.id, ()) if each[1]]
    values = values_by_path(frame.function).get(model.id, ()) if len(bound) == 1 else ()
    one = next(iter(values), model)
    return one if isinstance(one, ast.Attribute) and dotted_path(one.value) == "self" else model


def is_wrapped_by_another_way(frame: Frame, held: StateDict) -> bool:
    """Whether a method that wraps the model saves it as well, and does not lead here: it is a way of its own."""
    owner, function, made_at = frame.owner, frame.function, held.made_at
    if owner is None or function is None or made_at is None:
        return False
    around = (each for each in owner.methods.values() if each is not function and is_inside(made_at, each))
    wraps = next(around, None)
    if wraps is None or wraps.name == "__init__" or function in reached_from(owner, wraps):
        return False
    return any(dotted_path(each.func) == f"{held.owner}.state_dict" for each in nodes_in(wraps, ast.Call))


def _is_wrapper(value: Value) -> bool:
    return isinstance(value, Library) and bool(value.prefix)


def _runs_around_wrap(frame: Frame, attribute: str) -> bool:
    """Whether this method is run by one that wraps the model, or runs one: what it reads first is not wrapped yet.

    After the wrap the path knows what the attribute holds.
    """
    owner, function = frame.owner, frame.function
    if owner is None or function is None:
        return False
    writers = set(writers_of(owner, attribute))
    methods = [method for each in owner.mro for method in each.methods.values()]
    wraps = [each for each in methods if each in writers or not writers.isdisjoint(reached_from(owner, each))]
    return any(function is each or function in reached_from(owner, each) for each in wraps)


def _is_told_apart(frame: Frame, state: State, made_at: ast.AST) -> bool:
    """Whether a flag that decided in ``__init__`` that the model is wrapped is off here: ``if not self.parallel``."""
    owner = frame.owner
    constructor = owner.all_methods.get("__init__", (None, None))[1] if owner is not None else None
    for test in nodes_in(constructor, ast.If) if constructor is not None else ():
        arm = any(is_inside(made_at, each) for each in test.body)
        if arm or any(is_inside(made_at, each) for each in test.orelse):
            at, flag = flag_of_objects(owner, constructor, frame.machine.text_of(test.test))
            if at and (at + flag, not arm) in state.conditions:
                return True
    return False


def _is_bound_again(frame: Frame, path: str, made_at: ast.AST) -> bool:
    """Whether a class binds an attribute that a base has wrapped to something else, as after ``super().__init__()``."""
    classes = frame.owner.mro if frame.owner is not None else ()
    nearest = next((each.node for each in classes if path.removeprefix("self.") in each.writers), None)
    if nearest is None or made_at in nodes_in(nearest, ast.Call):
        return False
    return any(not names_one_of(path, inside(each)) for each in values_by_path(nearest).get(path, ()))


def _is_surely_of(frame: Frame, state: State, model: ast.Attribute, made_at: ast.AST) -> bool:
    """Whether another object that keeps the model surely has the method that wraps it, and something calls that.

    In ``__init__`` a line before has to; elsewhere it may be any of the file. What the object's own ``__init__`` wraps,
    and what its class does not, is wrapped whoever asks.
    """
    held = [each for _, each in alternatives(frame.evaluate(model.value, state), state.conditions)]
    infos = [each.info for each in held if isinstance(each, Obj)]
    around = [wraps for each in infos for wraps in _methods_around(each, made_at)]
    if dotted_path(model.value) == "self" or not around:
        return True
    if len(around) < len(held):
        return False
    init, wraps = infos[0].all_methods.get("__init__", (None, None))[1], around[0]
    if init is not None and (wraps is init or wraps in reached_from(infos[0], init)):
        return True
    function = frame.function
    begins = isinstance(function, ast.FunctionDef) and function.name == "__init__"
    calls = nodes_in(function if begins and function is not None else frame.machine.tree, ast.Call)
    asked = (each for each in calls if isinstance(each.func, ast.Attribute) and each.func.attr == wraps.name)
    return any(not begins or each.lineno < model.lineno for each in asked)


def _methods_around(info: ClassInfo, made_at: ast.AST) -> list[FunctionNode]:
    """The method of a class, or of a base, in which the model is wrapped."""
    return [each for one in info.mro for each in one.methods.values() if is_inside(made_at, each)]


def _is_unwrapped(owner: Value, name: str) -> bool:
    """Whether a class keeps the model inside again: ``self.net = self.net.to(d).module``."""
    path, classes = f"self.{name}", owner.info.mro if isinstance(owner, Obj) else ()
    kept = (each for one in classes for each in values_by_path(one.node).get(path, ()))
    held = (each.value for each in kept if isinstance(each, ast.Attribute) and each.attr == "module")
    return any(_holder(each) == path for each in held)


def _holder(node: ast.expr) -> str | None:
    """`self.net` of ``self.net.to(d)``, and of itself."""
    return dotted_path(stem_of(node))


def _is_in_order(frame: Frame, attribute: str) -> bool:
    """Whether the attribute of ``self`` is assigned here, or by ``__init__`` alone and before this method is called."""
    owner = frame.owner
    if owner is None or frame.function is None:
        return False
    writers = writers_of(owner, attribute)
    if frame.function in writers:
        return True
    if any(not isinstance(each, ast.FunctionDef) or each.name != "__init__" for each in writers):
        return False
    return frame.function not in [node for each in writers for node in reached_from(owner, each)]


def calls_before(scope: ast.AST, made_at: ast.AST) -> frozenset[ast.Call]:
    """The calls of a function that come before the one that wraps a model there."""
    calls = nodes_in(scope, ast.Call)
    line = getattr(made_at, "lineno", 0) if made_at in calls and not isinstance(scope, ast.Module) else 0
    return frozenset(each for each in calls if each.lineno < line)


def is_put_on_model(frame: Frame, node: ast.Attribute, made_at: ast.AST) -> bool:
    """Whether the function assigns the attribute to the model before it wraps that."""
    put = (each for each in attributes_before(frame, made_at) if isinstance(each.ctx, ast.Store))
    return any(dotted_path(each) == dotted_path(node) for each in put)


def attributes_before(frame: Frame, made_at: ast.AST) -> list[ast.Attribute]:
    """The attributes in this function, or else script, that come before the wrap."""
    scope, line = frame.function or frame.machine.tree, getattr(made_at, "lineno", 0)
    if scope is None or made_at not in nodes_in(scope, ast.Call):
        return []
    return [each for each in nodes_in(scope, ast.Attribute) if each.lineno < line]
