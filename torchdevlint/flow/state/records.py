"""Records: instances of dataclasses and named tuples, which hold values under the names of their fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdevlint.flow.scope.annotations import annotated_tensor, annotation_name
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Const,
    Map,
    Record,
    RecordType,
    Seq,
    Step,
    Tensor,
    Value,
)
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, once_a_node

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo

_HOLDING = frozenset({Seq, Map, Record})
_OWN_CONSTRUCTION = frozenset({"__init__", "__new__", "__post_init__", "__getattr__", "__getattribute__"})


def is_held_together(value: Value) -> bool:
    """Whether a value holds others: a sequence, a mapping or a record."""
    return type(value) in _HOLDING


def fields_of(info: ClassInfo) -> RecordType | None:
    """The fields of a class of this file, if it is a dataclass or a named tuple that is built from its fields only."""
    if info.is_module or not _OWN_CONSTRUCTION.isdisjoint(info.all_methods):
        return None
    given = [base for each in info.mro for base in each.bases if isinstance(base, RecordType)]
    ordered = bool(given) or "typing.NamedTuple" in info.library_bases
    if not ordered and not info.is_dataclass:
        return None
    names = dict.fromkeys(given[0].fields if given else ())
    for each in reversed(info.mro):
        for name, annotation in annotations_in(each):
            if annotation_name(annotation) in ("InitVar", "KW_ONLY"):
                return None
            names[name] = None
    return RecordType(info.name, tuple(names), ordered, info) if names else None


def annotations_in(info: ClassInfo) -> Iterator[tuple[str, ast.expr]]:
    """The annotated names of a class body, in order, without those that belong to the class."""
    for statement in info.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            head = statement.annotation
            if annotation_name(head.value if isinstance(head, ast.Subscript) else head) != "ClassVar":
                yield statement.target.id, statement.annotation


def given_fields(info: ClassInfo) -> frozenset[str]:
    """The fields that the ``__init__`` of a dataclass writes, as they are given, before any method does."""
    if not info.is_dataclass or "__init__" in info.all_methods:
        return frozenset()
    fields = {name for each in info.mro for name, _ in annotations_in(each)}
    left_out = {name for each in info.mro for name in _left_out(each.node)}
    after = info.all_methods.get("__post_init__")
    return frozenset(fields - left_out) if after is None else frozenset(fields - left_out - _set_at_once(after[1]))


@once_a_node
def _left_out(node: ast.ClassDef) -> frozenset[str]:
    """The fields that a class body says are not given: ``cache: Tensor = field(init=False)``."""
    said = [each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.value, ast.Call)]
    options = ((each.target, keyword) for each in said for keyword in each.value.keywords)  # type: ignore[union-attr]
    return frozenset(
        target.id
        for target, each in options
        if isinstance(target, ast.Name) and each.arg == "init" and isinstance(each.value, ast.Constant)
        if not each.value.value
    )


@once_a_node
def _set_at_once(method: FunctionNode) -> frozenset[str]:
    """The attributes of `self` that a method sets whatever they were: ``self.scale = self.width**-0.5``."""
    written = [each for each in method.body if isinstance(each, (ast.Assign, ast.AnnAssign))]
    targets = (each.targets if isinstance(each, ast.Assign) else [each.target] for each in written)
    paths = (dotted_path(each) or "" for several in targets for each in several)
    return frozenset(each.removeprefix("self.") for each in paths if each.startswith("self."))


def make(kind: RecordType, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """``Pair(x, y)``; a field that is not given has the default of the class."""
    if len(positional) > len(kind.fields):
        return UNKNOWN
    held = dict(zip(kind.fields, positional, strict=False)) | keywords
    defaults = kind.info.attributes if kind.info is not None else {}
    return Record(kind, tuple((name, held.get(name, defaults.get(name, UNKNOWN))) for name in kind.fields))


def by_annotation(kind: RecordType, device: Device, step: Step) -> Record | None:
    """A record that is handed over: fields that are annotated as tensors are on `device`; None without any."""
    found: dict[str, Value] = dict.fromkeys(kind.fields, UNKNOWN)
    for info in reversed(kind.info.mro if kind.info is not None else ()):
        for name, annotation in annotations_in(info):
            if annotated_tensor(annotation):
                tensor = Tensor(device, None, (), (step,))
                optional = isinstance(annotation, (ast.Subscript, ast.BinOp))
                found[name] = Choice((((), NONE), ((), tensor))) if optional else tensor
    return Record(kind, tuple(found.items())) if any(value != UNKNOWN for value in found.values()) else None


def kept_by_annotation(info: ClassInfo, device: Device, step: Step) -> Record | None:
    """The same for an instance of a plain class whose constructor keeps tensors as they come: ``self.data = data``."""
    if info.is_module or info.base_names or not _ASKED_AT_LAST.isdisjoint(info.methods):
        return None
    kept = _kept_tensors(info.node)
    items = tuple((name, Tensor(device, None, (), (step,))) for name in kept)
    return Record(RecordType(info.name, kept, False, info), items) if kept else None


_ASKED_AT_LAST = frozenset({"__getattr__", "__getattribute__", "__setattr__"})


@once_a_node
def _kept_tensors(node: ast.ClassDef) -> tuple[str, ...]:
    """The arguments that the constructor keeps by name, and that no method replaces; ``+=`` works in place."""
    init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if init is None:
        return ()
    required = init.args.args[: len(init.args.args) - len(init.args.defaults)]
    in_place = {each.target for each in inside(node) if isinstance(each, ast.AugAssign)}
    written = [each for each in inside(node) if isinstance(each, (ast.Attribute, ast.Name)) and each not in in_place]
    stored = [each for each in written if isinstance(each.ctx, ast.Store)]
    constructing = set(inside(init))
    bound = {each.id for each in stored if isinstance(each, ast.Name) and each in constructing}
    kept = []
    for name in (each.arg for each in required if annotated_tensor(each.annotation) and each.arg not in bound):
        places = [each for each in stored if isinstance(each, ast.Attribute) and each.attr == name]
        if len(places) == 1 and any(_keeps(each, places[0], name) for each in init.body):
            kept.append(name)
    return tuple(kept)


def _keeps(statement: ast.stmt, place: ast.Attribute, name: str) -> bool:
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    value = statement.value
    stored = any(each is place for each in targets) and dotted_path(place) == f"self.{name}"
    return stored and isinstance(value, ast.Name) and value.id == name


def of_itself(kind: RecordType) -> Record | None:
    """`self` in a method that is looked at on its own."""
    if kind.info is None:
        return None
    step = Step(f"a field of `{kind.name}`", kind.info.node)
    return by_annotation(kind, Device(Origin.ARGUMENT, "self"), step)


def attribute(record: Record, name: str) -> Value:
    """A field, or a method or class attribute of the class; UNKNOWN for what the kind of record brings."""
    for field, value in record.items:
        if field == name:
            return value
    info = record.kind.info
    if info is None:
        return UNKNOWN
    return info.attributes.get(name) or info.method(name, record) or UNKNOWN


def with_field(record: Record, name: str, value: Value) -> Record:
    return Record(record.kind, tuple({**dict(record.items), name: value}.items()))


def emptied(record: Record) -> Record:
    """The record when any of its fields may have been written."""
    return Record(record.kind, tuple((name, UNKNOWN) for name, _ in record.items))


def named_tuple(positional: list[Value], keywords: dict[str, Value]) -> Value:
    """``collections.namedtuple(name, fields)``."""
    if len(positional) < 2 or not isinstance(positional[0], Const):
        return UNKNOWN
    given = positional[1]
    names = given.value.replace(",", " ").split() if isinstance(given, Const) and isinstance(given.value, str) else None
    if isinstance(given, Seq) and given.items is not None:
        names = [str(each.value) if isinstance(each, Const) else "" for each in given.items]
    return RecordType(str(positional[0].value), tuple(names), True) if names and all(names) else UNKNOWN
