"""Abstract values: what kind of thing an expression is, and for tensors and modules where it lives.

Values are immutable. A value that depends on the path is a `Choice`, each alternative under the conditions that lead to
it, so that two values chosen by the same `if` are never paired across its arms.
"""

from __future__ import annotations

import ast
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import force_setattr

from torchdevlint.flow.state.compared import compared_by
from torchdevlint.flow.state.devices import MODEL, TOP, Device
from torchdevlint.source.functions import AnyFunction

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo
    from torchdevlint.flow.state.near import Near

Conditions = tuple[tuple[str, bool], ...]
"""Branch conditions in the order they were met: a key that stands for the test, and which arm."""
Names = MutableMapping[str, "Value"]
"""What names stand for; those of another file, which are bound on first use, are more than a dict."""
AT_LEAST_1 = -1
"""A number of dimensions that is unknown but not zero."""
MAX_ALTERNATIVES = MAX_MEMBERS = 6
"""How many values one may be, and how many a list is known to hold."""
MAX_ITEMS = 300
"""A list or dict that grows beyond is a table of data, of whose items nothing is known."""
MAX_NESTING = 8
"""How deep containers hold containers; one that is deeper is known to be a container, and of what it holds nothing."""


class Value(Struct, frozen=True):
    """Base of all abstract values."""


class Unknown(Value, frozen=True):
    """Anything. Never leads to a finding.

    `given` says that it came from an input of `forward` or from an argument: if it turns out to be a tensor, it is on
    that device. `made_by` is the class of another library that it is an instance of, where that matters.
    """

    given: Device | None = None
    made_by: str = ""


class Const(Value, frozen=True):
    """A literal: None, a bool, a number, a string, bytes or Ellipsis."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is Const and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


class Number(Value, frozen=True):
    """A Python number (or bool) of unknown value; `rank` is where that of this process was asked for, if so."""

    rank: ast.AST | None = None


class Text(Value, frozen=True):
    """A string of unknown value; `rank` says that it is a number of this process, or names the device with it."""

    rank: ast.AST | None = None


class Guard(Value, frozen=True):
    """A test whose outcome is known where an accelerator is there, such as ``torch.cuda.is_available()``."""

    holds: bool


class Ref(Value, frozen=True):
    """Something imported or built in, by its public dotted name: ``torch.zeros``, ``builtins.len``."""

    name: str


@compared_by("device", "creations")
class Dev(Value, frozen=True):
    """A `torch.device`, or a string used as one; `creations` made the tensor whose device it is."""

    device: Device
    creations: tuple[Site, ...] = ()
    number: bool = False
    """It is the number of one, as ``torch.cuda.current_device()`` gives."""
    asked_by: ast.AST | None = None
    """The ``x.get_device()`` that gave the number, which is -1 where `x` is on the CPU; None where it cannot be."""


class Dtype(Value, frozen=True):
    """A `torch.dtype`."""


@compared_by("node")
class Site(Struct, frozen=True):
    """Where a tensor was created on the default device; compared by node."""

    node: ast.AST
    function: str
    where: str
    scope: str
    random: bool
    near: Near | None
    drawn: bool = False
    """It is drawn from a generator that the code chose, or made in a function that calculates with such values."""
    converted: bool = False
    """It is made of what the function asks for its type: whoever gives it knows what goes with it."""
    of_tensor: bool = False
    """It is made by a constructor of the CPU, such as ``torch.FloatTensor``, of what may be a tensor."""


class Step(Struct, frozen=True, eq=False):
    """One event in a tensor's life, for the related locations of a finding."""

    text: str
    node: ast.AST
    made_by: str = ""
    """The factory that made the tensor here, such as ``torch.zeros``."""
    of_module: bool = False
    """Not the tensor was put there, but the module that gave it or owns it: such steps are told, never compared."""
    of_input: bool = False
    """It came with the inputs of `forward`."""
    left: Device | None = None  # where a move found it, or a Module that registered it

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Step) or self.of_module or other.of_module:
            return isinstance(other, Step) and self.of_module and other.of_module
        return self.node is other.node and self.text == other.text and self.made_by == other.made_by

    def __hash__(self) -> int:
        return 0 if self.of_module else hash((self.text, self.node))


@compared_by("device", "ndim", "creations", "steps", "moved", "parameter", "opaque")
class Tensor(Value, frozen=True):
    """A tensor on `device`.

    `ndim` is the number of dimensions, `AT_LEAST_1`, or None; `creations` are the default-device factories that it
    came from; `steps` its life so far (the first one identifies where it came from); `moved` whether the source moved
    or placed it explicitly; `parameter` whether it is a `torch.nn.Parameter` that assigning to a module registers.
    """

    device: Device
    ndim: int | None = None
    creations: tuple[Site, ...] = ()
    steps: tuple[Step, ...] = ()
    moved: bool = False
    parameter: bool = False
    opaque: bool = False
    """What a module of unknown class gave: on its device, but it may be a tuple, dict or output object of tensors."""
    unwrapped: ast.AST | None = None
    """The move that turned a Parameter into a plain tensor."""


@compared_by("name", "module", "device", "prefix", "inner", "children", "wants")
class Library(Value, frozen=True):
    """An instance of a library class, by its public dotted name.

    For a `torch.nn.Module`, `device` is where its parameters live, or None if it has none; `prefix` is what a wrapper
    puts before the keys of the state dict and `inner` what it wraps; `children` are the modules of a container.
    """

    name: str
    module: bool = False
    device: Device | None = None
    prefix: str = ""
    inner: Value | None = None
    children: tuple[Value, ...] = ()
    made_at: ast.AST | None = None
    placed: Step | None = None
    """The move that put it there."""
    held: tuple[ast.expr, Tensor] | None = None
    """For a loss: the weight that it keeps as a buffer, with the argument that gives it; `device` is where that is."""
    wants: Device | None = None
    """Where a `DataParallel` wants its model to be when it is called, if that is known."""


@compared_by("info", "device", "given")
class Obj(Value, frozen=True):
    """An instance of a class of this file; `device` is where its parameters live, if it is a Module."""

    info: ClassInfo
    device: Device = TOP
    placed: Step | None = None
    """The move that put it there."""
    made_of: tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]] | None = None
    """The arguments that ``__init__`` got, by position and by name, where it was made here."""
    made_at: ast.AST | None = None
    given: tuple[tuple[str, Value], ...] | None = None
    """Those of these arguments that are in a place or name one, by parameter; None for `self` in its own methods."""


class Cls(Value, frozen=True):
    """A class of this file."""

    info: ClassInfo


class Closure(Struct, frozen=True, eq=False):
    """The names that a function sees besides its own: one mapping for each enclosing function, then the module."""

    scopes: tuple[Names, ...]


class Func(Value, frozen=True):
    """A function, method or lambda of this file; `receiver` is bound as its first argument."""

    node: AnyFunction
    closure: Closure
    qualname: str
    owner: ClassInfo | None = None
    receiver: Value | None = None
    plain: bool = True
    """No decorator that could change what a call gives."""


class Super(Value, frozen=True):
    """``super()`` in a method of `info`."""

    info: ClassInfo
    receiver: Value


@compared_by("items", "element", "members")
class Seq(Value, frozen=True):
    """A list, tuple, set or iterator: known `items`, or only what each `element` is.

    `members` are values that a list is known to hold besides others, from appending to it in a loop.
    """

    items: tuple[Value, ...] | None
    element: Value
    members: tuple[Value, ...] = ()
    depth: int = 1

    def __post_init__(self) -> None:
        depth = 1 + nesting_of(self.element)
        for each in (*self.items, *self.members) if self.items else self.members:
            if type(each) in _NESTING:
                depth = max(depth, 1 + nesting_of(each))
        if depth != self.depth:
            force_setattr(self, "depth", depth)
        if depth > MAX_NESTING:
            for name, nothing in (("depth", 1), ("items", None), ("members", ()), ("element", Unknown())):
                force_setattr(self, name, nothing)


@compared_by("items", "element", "closed")
class Map(Value, frozen=True):
    """A dict: the values under literal keys, and what any other value is; `closed` if there are no other keys."""

    items: tuple[tuple[Any, Value], ...]
    element: Value
    closed: bool = False
    depth: int = 1

    def __post_init__(self) -> None:
        depth = 1 + max([nesting_of(self.element), *[nesting_of(value) for _, value in self.items]])
        force_setattr(self, "depth", depth)
        if depth > MAX_NESTING or len(self.items) > MAX_ITEMS:
            for name, nothing in (("depth", 1), ("items", ()), ("closed", False), ("element", Unknown())):
                force_setattr(self, name, nothing)


class RecordType(Value, frozen=True):
    """A class whose instances are named fields: a dataclass or a named tuple, which is `ordered`, of this file."""

    name: str
    fields: tuple[str, ...]
    ordered: bool
    info: ClassInfo | None = None


@compared_by("kind", "items")
class Record(Value, frozen=True):
    """An instance of a `RecordType`; `items` are its fields, and attributes that were assigned besides."""

    kind: RecordType
    items: tuple[tuple[str, Value], ...]
    depth: int = 1

    def __post_init__(self) -> None:
        depth = 1 + max((nesting_of(value) for _, value in self.items), default=0)
        force_setattr(self, "depth", min(depth, MAX_NESTING))
        if depth > MAX_NESTING:
            force_setattr(self, "items", tuple((name, Unknown()) for name, _ in self.items))


class Partial(Value, frozen=True):
    """``functools.partial(function, *positional, **keywords)``."""

    function: Value
    positional: tuple[tuple[ast.expr, Value], ...]
    keywords: tuple[tuple[str, tuple[ast.expr, Value]], ...]


@compared_by("prefix", "wrapper", "owner")
class StateDict(Value, frozen=True):
    """What ``state_dict()`` gives: `prefix` is on its keys, and `wrapper`, made at `made_at`, put it there."""

    prefix: str
    wrapper: str
    owner: str
    node: ast.AST | None = None
    made_at: ast.AST | None = None
    function: ast.AST | None = None


class Loaded(Value, frozen=True):
    """What a load call gave; `node` is the call, and `host` says that it reads all to the CPU."""

    node: ast.AST
    path: str = ""
    host: bool = False


class Choice(Value, frozen=True):
    """One of several values, each under the conditions that lead to it."""

    alternatives: tuple[tuple[Conditions, Value], ...]


_NESTING = frozenset({Choice, Seq, Map, Record})


def nesting_of(value: Value) -> int:
    """How many containers are inside each other, which bounds the work of comparing and hashing them."""
    if type(value) is Choice:
        return max([nesting_of(each) for _, each in value.alternatives])
    return value.depth if type(value) in _NESTING else 0  # type: ignore[attr-defined]


UNKNOWN = Unknown()
GIVEN = Unknown(given=MODEL)
NUMBER = Number()
TEXT = Text()
NONE = Const(None)
DATASET_FILE = Library("a file of a dataset repository")
NUMBERS = Seq(None, NUMBER)
