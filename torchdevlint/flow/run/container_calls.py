"""Methods of lists, tuples, dicts and records: what they give, and what they leave behind."""

from __future__ import annotations

import ast
from typing import Any

from torchdevlint.flow.run import appended
from torchdevlint.flow.scope.emptied_lists import is_emptied_beside
from torchdevlint.flow.scope.loop_rounds import FILLS
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state import records
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import element_of, join, sequence, settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    MAX_MEMBERS,
    NUMBER,
    TEXT,
    UNKNOWN,
    Choice,
    Const,
    Map,
    Record,
    RecordType,
    Seq,
    Tensor,
    Unknown,
    Value,
)


def container_method(
    frame: Frame, state: State, callee: ast.Attribute, receiver: Seq | Map, arguments: Arguments
) -> Value:
    name = callee.attr
    if isinstance(receiver, Map):
        values = [value for _, value in receiver.items]
        element = receiver.element
        for value in values:
            element = value if isinstance(element, Unknown) else join(element, value)
        if name == "items":
            return Seq(None, sequence([TEXT, element]))
        if name == "values":
            return Seq(None, element)
        if name in ("get", "pop") and arguments.positional:
            key, default = arguments.positional[0][1], arguments.value(1, "default")
            known: dict[Any, Value] = dict(receiver.items)
            if isinstance(key, Const) and key.value in known:
                return known[key.value]
            found = receiver.element if isinstance(key, Const) else element
            return Choice((((), found), ((), default))) if isinstance(default, Tensor) and found != default else found
        if name in ("update", "setdefault", "clear", "popitem"):
            return _grow_map(state, callee, receiver, arguments)
        return UNKNOWN
    if name in FILLS and arguments.positional:
        added = arguments.positional[-1][1]
        value = element_of(added) if name == "extend" else added
        appended.note(frame, state, callee.value, value)
        if name == "append":
            _keep(state, callee.value, _appended(frame, state, callee, receiver, value))
        else:
            _keep(state, callee.value, Seq(None, value if receiver.items == () else join(receiver.element, value)))
        return UNKNOWN
    if name in ("pop", "popleft"):
        return receiver.element
    if name in ("index", "count"):
        return NUMBER
    return receiver if name in ("copy", "__reversed__") else UNKNOWN


def _keep(state: State, node: ast.expr, grown: Seq | Choice) -> None:
    """What a list holds after it has grown, under its name, or as every element of a dict: ``d[key].append(x)``."""
    path = dotted_path(node)
    if path is not None:
        state.bind(path, grown)
        return
    path = dotted_path(node.value) if isinstance(node, ast.Subscript) else None
    table = state.env if path in state.env else state.paths
    held = table.get(path) if path is not None else None
    if path is not None and isinstance(held, Map) and not held.items:
        table[path] = Map((), grown, held.closed)


def _grow_map(state: State, callee: ast.Attribute, receiver: Map, arguments: Arguments) -> Value:
    """``d.update(..)`` and ``d.setdefault(key, value)``; what other methods leave behind is unknown."""
    held, path = dict(receiver.items), dotted_path(callee.value)
    grown = Map((), UNKNOWN)
    found: Value = UNKNOWN
    other = arguments.value(0, "other")
    if callee.attr == "setdefault" and isinstance(other, Const) and len(arguments.positional) == 2:
        added = arguments.positional[1][1]
        found = held.get(other.value, added if receiver.closed else UNKNOWN)
        grown = Map(tuple({**held, other.value: found}.items()), receiver.element, receiver.closed)
    elif callee.attr == "update" and not (arguments.starred or arguments.double_starred):
        more = dict(other.items) if isinstance(other, Map) else {}
        whole = not arguments.positional or (isinstance(other, Map) and other.closed)
        items = tuple({**(held if whole else {}), **more, **arguments.keyword_values}.items())
        grown = Map(items, receiver.element if whole else UNKNOWN, receiver.closed and whole)
    if path is not None:
        state.bind(path, grown)
    return found


def _appended(frame: Frame, state: State, callee: ast.Attribute, receiver: Seq, value: Value) -> Seq | Choice:
    """The list after ``x.append(value)``; an alternative that was made where the list was emptied begins a new one."""
    value, path = settle(value, state.conditions), dotted_path(callee.value)
    scope = frame.function or frame.machine.tree
    if not isinstance(value, Choice) or path is None or receiver.items == ():
        return append(receiver, value)
    anew = [
        (conditions, each)
        for conditions, each in value.alternatives
        if isinstance(each, Tensor)
        and each.creations
        and all(is_emptied_beside(scope, path, site.node, callee) for site in each.creations)
    ]
    rest = [each for each in value.alternatives if each not in anew]
    if not anew or not rest:
        return append(receiver, value)
    kept = rest[0][1] if len(rest) == 1 else Choice(tuple(rest))
    begun = tuple((conditions, sequence([each])) for conditions, each in anew)
    return Choice((*begun, (rest[0][0] if len(rest) == 1 else (), append(receiver, kept))))


def append(receiver: Seq, value: Value) -> Seq:
    """The list with one more item; of a long one, what is in it."""
    if receiver.items is not None and len(receiver.items) < MAX_MEMBERS:
        return sequence([*receiver.items, value])
    members = receiver.members if receiver.items is None else tuple(dict.fromkeys(receiver.items))
    return Seq(None, join(receiver.element, value), tuple(dict.fromkeys((*members, value)))[:MAX_MEMBERS])


def make_record(kind: RecordType, arguments: Arguments) -> Value:
    """An object of a dataclass or named tuple."""
    if arguments.starred or arguments.double_starred:
        given = [value for _, value in arguments.positional]
        spread = given[0] if len(given) == 1 and not arguments.keywords and arguments.starred else UNKNOWN
        return records.make(kind, [spread] * len(kind.fields), {})
    return records.make(kind, arguments.values, arguments.keyword_values)


def record_method(name: str, receiver: Record, arguments: Arguments) -> Value:
    """A method that each named tuple has."""
    if name == "_replace" and not arguments.double_starred:
        return Record(receiver.kind, tuple({**dict(receiver.items), **arguments.keyword_values}.items()))
    return Map(receiver.items, UNKNOWN, closed=True) if name == "_asdict" else UNKNOWN
