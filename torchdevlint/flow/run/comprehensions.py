"""Transfer functions of comprehensions, which have names of their own."""

from __future__ import annotations

import ast

from torchdevlint.flow.events import Escaped
from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.run.assignment import assign
from torchdevlint.flow.state.joins import element_of, sequence, unpacked
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Map, Seq, Value
from torchdevlint.source.nodes import inside, nodes_in

_MAX_ITEMS = 8
"""Up to how many items a comprehension is evaluated for each of them."""


def comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, state: State) -> Value:
    inner = state.copy()
    items = _items(frame, node.generators, inner)
    if items is not None:
        values: list[Value] = []
        for item in items:
            assign(frame, node.generators[0].target, item, inner)
            values.append(frame.evaluate(node.elt, inner))
        _leave(node, inner, state)
        return sequence(values)
    _bind_generators(frame, node.generators, inner)
    value = frame.evaluate(node.elt, inner)
    _leave(node, inner, state)
    return Seq(None, value)


def _items(frame: Frame, generators: list[ast.comprehension], state: State) -> tuple[Value, ...] | None:
    """What the one loop of a comprehension goes through, if each of few different items is known; else None."""
    if len(generators) > 1 or generators[0].ifs:
        return None
    source = unpacked(frame.evaluate(generators[0].iter, state))
    frame.machine.emit(Escaped(frame, [source]))
    items = source.items if isinstance(source, Seq) else None
    return items if items and len(items) <= _MAX_ITEMS and len(set(items)) > 1 else None


def dict_comprehension(frame: Frame, node: ast.DictComp, state: State) -> Value:
    inner = state.copy()
    _bind_generators(frame, node.generators, inner)
    frame.evaluate(node.key, inner)
    value = frame.evaluate(node.value, inner)
    _leave(node, inner, state)
    return Map((), value)


def _leave(node: ast.expr, inner: State, state: State) -> None:
    """The names of a comprehension are its own, except those that a walrus binds; what it calls may fill containers."""
    state.touched = inner.touched
    for each in nodes_in(node, ast.NamedExpr):
        if each.target.id in inner.env:
            state.env[each.target.id] = inner.env[each.target.id]
    if not nodes_in(node, ast.Call):
        return
    changed = [name for name, value in inner.env.items() if value is not state.env.get(name)]
    filled = [name for name in changed if name in state.env and isinstance(inner.env[name], (Seq, Map))]
    if filled:
        own = {each.id for each in inside(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        state.env.update((name, inner.env[name]) for name in filled if name not in own)


def _bind_generators(frame: Frame, generators: list[ast.comprehension], state: State) -> None:
    for generator in generators:
        source = frame.evaluate(generator.iter, state)
        frame.machine.emit(Escaped(frame, [source]))
        assign(frame, generator.target, loaders.batch_in(frame, generator, state) or element_of(source), state)
        for test in generator.ifs:
            frame.evaluate(test, state)
