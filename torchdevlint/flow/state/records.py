"""Records: instances of dataclasses and named tuples, which hold values under the names of their fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdevlint.flow.scope.annotations import annotated_tensor, annotation_name
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Const,
    Record,
    RecordType,
    Seq,
    Step,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo

_OWN_CONSTRUCTION = frozenset({"__init__", "__new__", "__post_init__", "__getattr__", "__getattribute__"})


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
