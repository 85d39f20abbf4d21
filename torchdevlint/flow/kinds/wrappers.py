"""What is left of a model that is wrapped on some paths only: told by a test, or by the use of ``.module``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Choice, Const, Library, Ref, Seq, Value
from torchdevlint.source.nodes import below, nodes_in, once_a_node

_INSIDE = ("module", "_orig_mod")
"""The attributes in which wrappers keep what they wrap."""


def refine_by_test(frame: Frame, test: ast.Call, holds: State | None, fails: State | None) -> None:
    """``isinstance(model, DataParallel)`` and ``hasattr(model, "module")`` tell wrapped models from plain ones."""
    state = holds or fails
    if state is None or len(test.args) != 2 or not isinstance(test.func, ast.Name):
        return
    if dotted_path(test.args[0]) is None or not _asks_for_wrapper(frame, test, state):
        return
    if holds is not None:
        _keep(frame, test.args[0], holds, wrapped=True)
        _wrap_unseen(frame, test, holds)
    if fails is not None:
        _keep(frame, test.args[0], fails, wrapped=False)
        if all(_is_wrapper(each) for _, each in alternatives(frame.evaluate(test.args[0], fails), fails.conditions)):
            fails.alive = False


@once_a_node
def _says_inside(scope: ast.AST) -> bool:
    """Whether a function or file takes the inside of anything."""
    return any(each.attr in _INSIDE for each in nodes_in(scope, ast.Attribute))


def refine_by_use(frame: Frame, body: Sequence[ast.AST], orelse: Sequence[ast.AST], holds: State, fails: State) -> None:
    """Where only one arm says ``model.module``, the model is wrapped in that one, and not in the other."""
    if frame.machine.words.isdisjoint(_INSIDE) or not _says_inside(frame.function or frame.machine.reading.tree_here):
        return
    inside, outside = _unwrapped_in(body), _unwrapped_in(orelse)
    for path, node in {**inside, **outside}.items():
        if path in inside and path not in outside:
            _keep(frame, node, holds, wrapped=True)
            _keep(frame, node, fails, wrapped=False)
        elif path not in inside:
            _keep(frame, node, holds, wrapped=False)
            _keep(frame, node, fails, wrapped=True)


def refine_by_failure(frame: Frame, body: Sequence[ast.AST], caught: State) -> None:
    """``try: model.module`` with a handler: what gets to the handler is not wrapped."""
    if frame.machine.words.intersection(_INSIDE):
        for node in _unwrapped_in(body).values():
            if _is_wrapper(frame.evaluate(node, caught)):
                caught.alive = False
            _keep(frame, node, caught, wrapped=False)


def _keep(frame: Frame, node: ast.expr, state: State, wrapped: bool) -> None:
    """Drop the alternatives of `node` that are wrapped, or those that are not."""
    path, value = dotted_path(node), frame.evaluate(node, state)
    if path is None or not isinstance(value, Choice):
        return
    left = [each for each in value.alternatives if _is_wrapper(each[1]) is wrapped]
    if left:
        state.bind(path, choose(left))


def _wrap_unseen(frame: Frame, test: ast.Call, state: State) -> None:
    """A model that came from outside is a wrapper where the test says so, around one of which nothing is known.

    What has a ``module`` may also be an object of a class here that keeps one, or a model that is sharded: that has no
    prefix. What a call of this file gives to the function that tests it comes from here: the test says nothing new.
    """
    if frame.depth:
        return
    model = test.args[0]
    path, held = dotted_path(model), frame.evaluate(model, state)
    value = next((each for _, each in alternatives(held, state.conditions) if each != NONE), held)
    if path is None or not isinstance(value, Library) or value.name or value.prefix or value.made_at is not None:
        return
    kinds = frame.evaluate(test.args[1], state)
    if isinstance(kinds, Const) and _have_others_inside(frame):
        return
    state.bind(path, Library(_name_of_wrapper(kinds), True, value.device, "module.", value, made_at=model))


def _have_others_inside(frame: Frame) -> bool:
    """Whether a class of this file keeps a ``module``, or the file shards models."""
    kept = any("module" in each.writers for each in frame.machine.classes.values())
    return kept or not frame.machine.words.isdisjoint(_SHARDED)


_SHARDED = frozenset({"FullyShardedDataParallel", "FSDP", "deepspeed"})


def _name_of_wrapper(kinds: Value) -> str:
    """The class that a test asks for, or the first of several; none for a test of an attribute."""
    named = next(iter(kinds.items or ()), kinds) if isinstance(kinds, Seq) else kinds
    return named.name if isinstance(named, Ref) else ""


def _is_wrapper(value: Value) -> bool:
    return bool(getattr(value, "prefix", ""))


def _unwrapped_in(parts: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """The models, by path, whose inside is taken whenever `parts` run, and not under a test inside of them."""
    found: dict[str, ast.expr] = {}
    for part in reversed(parts):
        found.update(_unwrapped_by(part))
    return found


@once_a_node
def _unwrapped_by(part: ast.AST) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    level: list[Any] = [part]
    while level:
        for node in level:
            path = dotted_path(node.value) if isinstance(node, ast.Attribute) and node.attr in _INSIDE else None
            if path is not None:
                found.setdefault(path, node.value)
        level = [each.test if isinstance(each, _TESTED) else each for each in level]
        level = below(each for each in level if not isinstance(each, _LATER))
    return found


_TESTED = (ast.If, ast.IfExp)
_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Try)
"""What is in them does not run whenever they do, or not to its end."""


def _asks_for_wrapper(frame: Frame, test: ast.Call, state: State) -> bool:
    assert isinstance(test.func, ast.Name)
    if test.func.id == "hasattr":
        return frame.evaluate(test.args[1], state) == Const("module")
    if test.func.id != "isinstance":
        return False
    return are_wrappers(frame.evaluate(test.args[1], state))


def are_wrappers(kinds: Value) -> bool:
    """Whether a class, or each of a tuple of classes, is a wrapper."""
    names = list(kinds.items or ()) if isinstance(kinds, Seq) else [kinds]
    return bool(names) and all(isinstance(name, Ref) and name.name in torch_api.WRAPPER_MODULES for name in names)
