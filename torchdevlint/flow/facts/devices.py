"""How devices are chosen."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact, Reordering
from torchdevlint.model import Span


class LateVisibleDevices(Fact, frozen=True):
    """``CUDA_VISIBLE_DEVICES`` set after CUDA has read it.

    `how` is the text of the assignment, `cause` the call that froze or initialised CUDA, `effect` ``freezes``
    (the visible list is read) or ``initialises``. Where the cause is an import, `inside` is the call that the module
    makes, and where. `reordering` is how the assignment can come first.
    """

    how: str
    cause: str
    cause_at: Span
    effect: str
    inside: tuple[str, Span] | None = None
    reordering: Reordering | None = None
    names_first: bool = False
    """It says that there is the first GPU alone, in a file that does not count them, but to say how many."""

    @property
    def is_theory(self) -> bool:
        """Whether the program uses the very GPU that it names."""
        return self.names_first


class MalformedVisibleDevices(Fact, frozen=True):
    """An environment assignment that cannot do what it is meant to.

    `problem` is ``name`` (misspelt: `found` is what stands there), ``value`` (not a string) or ``arguments``
    (``setdefault(name, "2", "3")``). `given_at` is where the name or the value is written, if it is written out there,
    and `written` what has to stand in its place, if that is known.
    """

    problem: str
    found: str
    suggestion: str
    given_at: Span | None = None
    written: str = ""


class DeviceNumber(Fact, frozen=True):
    """``x.get_device()`` given for a device, though `x` may be on the CPU, where it is -1.

    `tensor` is the text of `x`, `function` what the number is given to, `moves` whether that is ``.cuda(..)``, `text`
    whether the number is put into a string, `used_at` the call, where `at` is not in it; `given_at` is all that is
    given for the device, and `callee_at` what it is given to, where they are one expression with `at`; `of_torch` tells
    whether what is moved surely is a tensor or a module that has ``.to`` too.
    """

    tensor: str
    function: str
    moves: bool
    text: bool
    used_at: Span | None = None
    given_at: Span | None = None
    callee_at: Span | None = None
    of_torch: bool = True


class LeftBehind(Fact, frozen=True):
    """A function moves some of what it works with, and leaves `left` where it is.

    `among` says what it belongs to: things ``beside`` it, which `move` brings elsewhere; the ``cases`` in which the
    function makes something, another of which it moves by `move`; the kinds of argument that `move` brings elsewhere,
    each in an ``arm`` of its own; the ``attributes`` of an object, in a ``to`` of its own; its ``twin``, which another
    method moves by `move`; what other ``calls`` of the same function give, or other ``makers`` of models; a part of a
    model that has the dtype of `move` alone (``typed``); or what `move` asks the place of, and is left in either case
    (``asked``). `move_at` is where `move` stands, and `name` what is left is called, as far as that is known.
    """

    function: str
    among: str
    left: str
    move: str
    move_at: Span
    name: str = ""


class DeviceNotForwarded(Fact, frozen=True):
    """A function takes `parameter`, which says where something is to be, and never reads it.

    `kind` is ``factory`` (`target` makes what is returned, on the default device), ``load`` (`target` reads to the
    CPU), or ``call`` (`target` is a function that takes the parameter too); `suggestion` is what to write there. Where
    a place is ``asked`` for, it is that of the model `target`, which `parameter` holds and nobody reads. A ``mover`` is
    called after a move that it does not do; where a device is ``unread``, `target` makes a tensor without it, or what
    was ``brought`` to the CPU is returned; where one is ``chosen``, `target` is what keeps another one. A move that is
    ``forgotten``, or ``dropped`` with all others, is `target`; in place of ``fallback``, `target` holds the default of
    `parameter`. `text` is the call at `at`, or what is at `at` instead of the parameter; `alone` says that nothing else
    has to be written, and `keeps` that callers who leave the parameter out get what they got.
    """

    function: str
    parameter: str
    kind: str
    target: str
    suggestion: str
    parameter_at: Span
    text: str
    alone: bool
    keeps: bool


class InvalidDevice(Fact, frozen=True):
    """What is given for a device is none.

    `problem` is ``type`` (``"gpu"``), ``string`` (``"cuda:0,1"``), ``index`` (negative), ``unnumbered`` (where a number
    is needed), ``number`` (where only names are taken), ``context`` (a ``torch.cuda.device``), ``tuple`` (a comma too
    many), ``name`` (not bound) or ``legacy`` (a constructor that makes tensors of the CPU only). `found` is what was
    given, `function` what it was given to, `suggestion` what to write in its place, or empty, `used_at` the call, where
    `at` is somewhere else. `written` is what to write at `at`, if the whole of that is known, and for ``legacy`` what
    to call at `callee_at` instead. `read` tells whether the name that holds it is read as something else than a device.
    """

    problem: str
    found: str
    function: str
    suggestion: str
    used_at: Span | None = None
    written: str = ""
    callee_at: Span | None = None
    read: bool = False


class MaybeCpuDevice(Fact, frozen=True):
    """A call that takes devices of CUDA only gets one that may be the CPU.

    `call` is ``.cuda``, ``torch.cuda.set_device`` or ``torch.cuda.device``, `device` the text of what it gets, `why`
    what says that this may be the CPU, and `why_at` where. `callee_at` is what is called, if ``.to`` takes the same
    arguments, and `of_torch` whether it surely is a tensor or a module that has it.
    """

    call: str
    device: str
    why: str
    why_at: Span
    callee_at: Span | None = None
    of_torch: bool = False
