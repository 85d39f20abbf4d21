"""A value in words: its kind, where it is, how many dimensions it has, and the steps of its life."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from torchdevlint.flow.state.devices import HOST, TOP, Device
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.others import Imported
from torchdevlint.flow.state.reading import Reading
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    Choice,
    Cls,
    Conditions,
    Const,
    Dev,
    Dtype,
    Func,
    Guard,
    Library,
    Loaded,
    Map,
    Number,
    Obj,
    Partial,
    Record,
    Ref,
    Seq,
    StateDict,
    Step,
    Super,
    Tensor,
    Text,
    Unknown,
    Value,
)
from torchdevlint.model import Note

_SHOWN = 4
"""So many items of a container are told one by one."""
_LONGEST = 40
_VOWELS = "AEIOUaeiou"


class Told(Struct, frozen=True):
    """A value in words. `device` is None where it has no place, or none that is known."""

    kind: str
    description: str
    device: str | None = None
    ndim: int | None = None
    notes: tuple[Note, ...] = ()


def tell(value: Value, reading: Reading) -> Told:
    """One value in words; a `Choice` is told as one only if all its alternatives are the same in words."""
    if isinstance(value, Choice):
        return _choice(value, reading)
    kind, description = _KINDS[type(value)](value, reading) if type(value) in _KINDS else ("unknown", "unknown")
    ndim = value.ndim if isinstance(value, Tensor) else None
    return Told(kind, description, place_of(value), ndim, tuple(_notes(value, reading)))


def place_of(value: Value) -> str | None:
    """Where a value is, or which place it names, in words."""
    if isinstance(value, Obj):
        return words_for(value.device) if value.info.is_module else None
    if isinstance(value, (Tensor, Dev)):
        return words_for(value.device)
    if isinstance(value, Library):
        return words_for(value.device) if value.module else None
    if isinstance(value, Unknown):
        return None
    held = list(_held(value))
    places = {place_of(each) for each in held}
    return places.pop() if len(places) == 1 else None


def words_for(device: Device | None) -> str | None:
    """A device in words, None for one that is not known."""
    if device == HOST:
        return "the CPU (as it was read or converted)"
    return None if device is None or device == TOP else device.describe()


def conditions_in_words(conditions: Conditions) -> str:
    """``x is None`` holds, ``self.training`` does not."""
    said = (f"`{key.partition(':')[2]}` {'holds' if arm else 'does not hold'}" for key, arm in conditions)
    return " and ".join(dict.fromkeys(said))


def dimensions_in_words(ndim: int | None) -> str | None:
    """A number of dimensions in words, None where it is not known."""
    if ndim is None:
        return None
    return "at least 1" if ndim == AT_LEAST_1 else str(ndim)


def is_known(value: Value) -> bool:
    """Whether anything is known of a value."""
    return not isinstance(value, Unknown)


def _choice(value: Choice, reading: Reading) -> Told:
    told = [tell(each, reading) for _, each in value.alternatives]
    first = told[0]
    if all((each.kind, each.description) == (first.kind, first.description) for each in told):
        return first
    places = {each.device for each in told if each.kind != "none"}
    ndims = {each.ndim for each in told if each.kind != "none"}
    kinds = {each.kind for each in told}
    some = kinds - {"none"} or kinds
    kind = some.pop() if len(some) == 1 else "choice"
    description = ", or ".join(dict.fromkeys(each.description for each in told))
    notes = tuple(dict.fromkeys(note for each in told for note in each.notes))
    device = places.pop() if len(places) == 1 else None
    return Told(kind, description, device, ndims.pop() if len(ndims) == 1 else None, notes)


def _a(noun: str) -> str:
    return f"{'an' if noun.lstrip('`')[:1] in _VOWELS else 'a'} {noun}"


def _unknown(value: Unknown, reading: Reading) -> tuple[str, str]:
    if value.made_by:
        return _kind_of(value.made_by), _a(f"`{value.made_by}`")
    place = words_for(value.given)
    return "unknown", "unknown" if place is None else f"unknown; if it is a tensor, it is on {place}"


def _const(value: Const, reading: Reading) -> tuple[str, str]:
    held = value.value
    if held is None:
        return "none", "None"
    kind = "text" if isinstance(held, str) else "number" if isinstance(held, (int, float, complex)) else "constant"
    kind = "bool" if isinstance(held, bool) else kind
    text = repr(held)
    return kind, f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'}`"


def _number(value: Number, reading: Reading) -> tuple[str, str]:
    return "number", "a number" if value.rank is None else "the number of this process"


def _text(value: Text, reading: Reading) -> tuple[str, str]:
    return "text", "a string" if value.rank is None else "a string with the number of this process"


def _guard(value: Guard, reading: Reading) -> tuple[str, str]:
    return "bool", f"{value.holds} where an accelerator is there"


def _ref(value: Ref, reading: Reading) -> tuple[str, str]:
    name = value.name.removeprefix("builtins.")
    where = " of another file of the project" if isinstance(value, Imported) else ""
    if name.rpartition(".")[2][:1].isupper():
        return "class", f"the class `{name}`{where}"
    return "import", f"`{name}`, {'built in' if name != value.name else f'imported{where}'}"


def _device(value: Dev, reading: Reading) -> tuple[str, str]:
    what = "the number of a device" if value.number else "a device"
    place = words_for(value.device)
    return "device", what if place is None else f"{what}: {place}"


def _dtype(value: Dtype, reading: Reading) -> tuple[str, str]:
    return "dtype", "a dtype"


def _tensor(value: Tensor, reading: Reading) -> tuple[str, str]:
    noun = "a tensor, or an object that holds tensors," if value.opaque else "a tensor"
    known = value.ndim is not None and value.ndim != AT_LEAST_1
    dimensions = f" of {value.ndim} dimension{'' if value.ndim == 1 else 's'}" if known else ""
    place = words_for(value.device)
    where = f" on {place}" if place is not None else "; where it is, is not known"
    return "tensor", f"{'a parameter' if value.parameter else noun}{dimensions}{where}"


def _library(value: Library, reading: Reading) -> tuple[str, str]:
    if not value.module:
        return _kind_of(value.name), _a(value.name if " " in value.name else f"`{value.name}`")
    noun = _a(f"`{value.name}`") if value.name else "a Module"
    around = "" if value.inner is None else f" around {tell(value.inner, reading).description}"
    if around:
        return "module", noun + around
    if value.device is None and not value.name:
        return "module", noun
    return "module", noun + _with_parameters(value.device)


def _kind_of(name: str) -> str:
    """The kind of an instance of a class of a library that is no Module."""
    kinds = ((".optim.lr_scheduler.", "scheduler"), (".optim.", "optimizer"), ("DataLoader", "loader"))
    return next((kind for part, kind in kinds if part in f".{name}"), "object")


def _object(value: Obj, reading: Reading) -> tuple[str, str]:
    noun = _a(f"`{value.info.name}`")
    return ("module", noun + _with_parameters(value.device)) if value.info.is_module else ("object", noun)


def _with_parameters(device: Device | None) -> str:
    if device is None:
        return ", which has no parameters"
    place = words_for(device)
    return "" if place is None else f", its parameters on {place}"


def _class(value: Cls, reading: Reading) -> tuple[str, str]:
    return "class", f"the class `{value.info.name}`{', a Module' if value.info.is_module else ''}"


def _function(value: Func, reading: Reading) -> tuple[str, str]:
    if isinstance(value.node, ast.Lambda):
        return "function", "a lambda"
    noun = "method" if value.owner is not None else "function"
    return "function", f"the {noun} `{value.qualname}`"


def _partial(value: Partial, reading: Reading) -> tuple[str, str]:
    return "function", f"{tell(value.function, reading).description}, with some of its arguments"


def _super(value: Super, reading: Reading) -> tuple[str, str]:
    return "object", f"`super()` of `{value.info.name}`"


def _sequence(value: Seq, reading: Reading) -> tuple[str, str]:
    if value.items is None:
        held = [*value.members, value.element] if isinstance(value.element, Unknown) else [value.element]
        said = list(dict.fromkeys(tell(each, reading).description for each in held))
        return "container", f"a sequence; each item: {', or '.join(said)}"
    if not value.items:
        return "container", "an empty sequence"
    said = [tell(each, reading).description for each in value.items]
    items = f"{len(said)} item{'' if len(said) == 1 else 's'}"
    if len(said) > 1 and len(set(said)) == 1:
        return "container", f"{items}, each {said[0]}"
    more = "; ..." if len(said) > _SHOWN else ""
    return "container", f"{items}: {'; '.join(said[:_SHOWN])}{more}"


def _mapping(value: Map, reading: Reading) -> tuple[str, str]:
    said = [f"`{key!r}`: {tell(each, reading).description}" for key, each in value.items]
    if not value.closed and is_known(value.element):
        said.append(f"{'other keys' if said else 'each value'}: {tell(value.element, reading).description}")
    if not said:
        return "dict", "an empty dict" if value.closed else "a dict"
    more = "; ..." if len(said) > _SHOWN else ""
    return "dict", f"a dict; {'; '.join(said[:_SHOWN])}{more}"


def _record(value: Record, reading: Reading) -> tuple[str, str]:
    said = [f"`{name}`: {tell(each, reading).description}" for name, each in value.items]
    more = "; ..." if len(said) > _SHOWN else ""
    return "object", _a(f"`{value.kind.name}`") + (f"; {'; '.join(said[:_SHOWN])}{more}" if said else "")


def _state_dict(value: StateDict, reading: Reading) -> tuple[str, str]:
    prefix = f", whose keys start with `{value.prefix}`" if value.prefix else ""
    return "state dict", f"a state dict{prefix}"


def _loaded(value: Loaded, reading: Reading) -> tuple[str, str]:
    path = f" of `{value.path}`" if value.path else ""
    return "checkpoint", f"what a checkpoint{path} holds" + (", read to the CPU" if value.host else "")


def _held(value: Value) -> Iterator[Value]:
    """What a container holds, as far as it has a place."""
    if isinstance(value, Choice):
        yield from (each for _, each in alternatives(value) if not isinstance(each, Const))
    elif isinstance(value, Seq):
        yield from value.items if value.items is not None else (value.element,)
    elif isinstance(value, Map):
        yield from (each for _, each in value.items)
        if not value.closed:
            yield value.element


def _notes(value: Value, reading: Reading) -> Iterator[Note]:
    """Where it was made, and moved."""
    steps: tuple[Step, ...] = value.steps if isinstance(value, Tensor) else ()
    if isinstance(value, (Library, Obj)):
        if value.made_at is not None:
            yield Note("made here", reading.span_of(value.made_at))
        steps = () if value.placed is None else (value.placed,)
    if isinstance(value, Loaded):
        yield Note("read here", reading.span_of(value.node))
    if isinstance(value, (Func, Cls)):
        yield Note("defined here", reading.span_of(value.node if isinstance(value, Func) else value.info.node))
    yield from (Note(step.text, reading.span_of(step.node)) for step in steps)


_KINDS: dict[type, Callable[[Any, Reading], tuple[str, str]]] = {
    Unknown: _unknown,
    Const: _const,
    Number: _number,
    Text: _text,
    Guard: _guard,
    Ref: _ref,
    Imported: _ref,
    Dev: _device,
    Dtype: _dtype,
    Tensor: _tensor,
    Library: _library,
    Obj: _object,
    Cls: _class,
    Func: _function,
    Partial: _partial,
    Super: _super,
    Seq: _sequence,
    Map: _mapping,
    Record: _record,
    StateDict: _state_dict,
    Loaded: _loaded,
}
