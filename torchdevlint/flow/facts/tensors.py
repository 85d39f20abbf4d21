"""What stays behind: operands on different devices, lost moves, batches, reads on the host, given devices."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Creation, Fact, Operand
from torchdevlint.model import Span

RETURN = "`return`"
ANOTHER_RETURN = "another `return`"
ANOTHER_ARM = "another arm of a test"
SAME_RETURN = "the same `return`"
SIZED_ALIKE = "a `return` of what is as large as an argument, with its dtype"
TYPED_ALIKE = "a `return` of what has the dtype of another tensor"
RESULT = "the result of an operator, as its stand-in gives it"
FIRST_STATE = "a `return` of what a Module makes for its callers"
KEPT = "what one object keeps"
MARKER = "what says where a Module is"
TYPE_OF_KEPT = "a conversion to the type of what a Module keeps"
"""Operations in which operands do not meet: one was written into the other, which is returned; the function returns, or
works with, the one or the other; it returns both, in one tuple or dict; an object keeps both, or one or the other; one
is asked where the other one is; one is converted to the type of the other, and goes there by that."""
ASSERTED = "`torch.testing.assert_close()`"
"""The operation that an assertion of a test is."""
GRADIENT = "`.grad`"
"""The assignment of a gradient to its tensor."""


class MixedDevices(Fact, frozen=True):
    """One operation whose operands surely sit on different devices once the model is on an accelerator.

    `creations` are the default-device factories behind the operand that stayed on the CPU, in source order (empty
    when it is on the CPU for another reason); `there` is an expression for the device of the other operand whose names
    are surely bound at the first creation, or None, and `here` one for the operation.
    """

    operation: str
    stayed: Operand
    other: Operand
    creations: tuple[Creation, ...]
    entry: str
    """What kind of code was entered: ``forward``, ``method`` (of a Module), ``function``, ``module``."""
    model_side: bool
    """The other operand is on the model's device (parameters, buffers, inputs of forward), not just an argument's."""
    there: str | None = None
    here: str | None = None
    movable: bool = False
    """What stayed is read as a tensor there: it is no list that holds it, and the operation does not write to it."""
    one_input: bool = False
    """The function of the first creation gets one tensor, which `there` cannot confuse with another one."""
    parts: bool = False
    """What the first creation makes meets others of the CPU as well, which would stay there if it were made there."""
    other_origin: str = "model"
    """What says where the other operand is: ``model``, ``argument``, ``expression`` or ``literal``."""
    literal: Span | None = None
    """Where the other operand was put on CUDA by name."""
    scope: str = ""
    """The qualified name of the function that holds the operation."""
    placed_here: bool = False
    """The other operand was put where it is by that function, and did not come into it."""
    placed_elsewhere: bool = False
    """Another file makes or moves it, which may know when that is right."""
    scalar: str = ""
    """What stayed if it has one element: ``sum`` (it is written to), ``part`` (of what is joined); or a ``list``, made
    by `torch.tensor` of scalars that are on an accelerator."""
    placed_by_caller: bool = False
    """A call that is seen, here or in another file, gives the other operand, or what it is made of, placed."""
    made_of: str = ""
    """The model that moved only after what stayed had been made of it."""
    brought: Operand | None = None
    """What stayed where this file gives it to the call that has another file use what that file made."""
    led_by: str = ""
    """The call `at` which this file has them meet in another one, that made the one and does not know the other."""
    met_at: Span | None = None
    """Where they meet then."""
    through: Span | None = None
    """The call of a third function, which has both the one made and them meet."""

    @property
    def rests_on_default(self) -> bool:
        return bool(self.creations)

    @property
    def of_argument(self) -> bool:
        """Whether the other operand is where an argument of the function is that was entered."""
        return bool(self.creations) and self.other_origin == "argument" and self.entry in ("function", "method")

    @property
    def is_theory(self) -> bool:
        """Whether nothing meets there, but what a function returns to its callers may; those of a model need both."""
        together = self.operation == SAME_RETURN and not self.model_side
        return together or self.operation in (RETURN, ANOTHER_RETURN, ANOTHER_ARM, SIZED_ALIKE, TYPED_ALIKE)


class DiscardedMove(Fact, frozen=True):
    """A statement ``t.to(d)`` whose receiver is a tensor and whose result is thrown away.

    `method` is ``to``, ``cuda``, ``double``...; `moves` is False for a pure dtype conversion; `target` the text of
    the arguments; `evidence` says why the receiver is a tensor, with the place that shows it. `assignable` says that
    the statement is nothing but the move, and that its result can be assigned to the receiver there; `harmless` that
    by this nothing changes but where the receiver is, and that later lines do not want it on the CPU. `part_of` is the
    batch of which the receiver is each part in turn.
    """

    receiver: str
    method: str
    target: str
    moves: bool
    evidence: tuple[tuple[str, Span], ...]
    assignable: bool = False
    harmless: bool = False
    part_of: str = ""
    named: bool = False
    """Whether the tensor is on CUDA by name already, and is sent to an accelerator: with one GPU nothing is lost."""
    scope: str = ""
    """The function that throws it away."""

    @property
    def is_theory(self) -> bool:
        """Whether it was to be brought to the CPU: a read there that needs it so is found by itself."""
        return self.method == "cpu" or self.target.strip("'\"") == "cpu"


class DeadLoopMove(Fact, frozen=True):
    """A loop that moves its own target and then drops it: ``for t in batch: t = t.to(d)``.

    `form` is ``list``, ``dict`` (over ``.items()``), or ``comprehension`` (of moves, as a statement).

    `item` is what the moved tensor can be assigned to instead of the name at `name_at`: ``batch[key]``. `path` is what
    the results can be assigned to (``batch``, or ``x, y`` for a `literal` tuple of names), `loop_at` a loop that does
    nothing else than `move` its target. `harmless` is as in `DiscardedMove`.
    """

    name: str
    container: str
    form: str
    target: str
    item: str | None = None
    name_at: Span | None = None
    path: str | None = None
    loop_at: Span | None = None
    move: str = ""
    literal: bool = False
    harmless: bool = False


class BatchNotMoved(Fact, frozen=True):
    """A batch or sample that reaches the model, a criterion or another part of it where the loader or data set made it.

    `name` is the part that stayed (``labels``), `loaded_at` the loop that takes it from the loader, `at` the operation,
    `other` what it meets there: the model, or the part that was moved; `made_by` is what it came from.

    `name_at` is where the operation reads it, if that is a place of its own, and `here` an expression for the right
    device that is bound there. `whole` says that it is a batch as it came, which may hold several tensors, and
    `before` is the statement before which it can be moved for all that reads it later. `beside` is a name of another
    part of the batch, and the move that brought it to an accelerator.
    """

    operation: str
    name: str
    loaded_at: Span
    other: Operand
    made_by: str = "loader"
    name_at: Span | None = None
    here: str | None = None
    whole: bool = False
    before: Span | None = None
    beside: tuple[str, Span] | None = None
    led_by: str = ""
    """The call `at` which this file has it meet in another one, that does not know where the other operand is."""
    met_at: Span | None = None
    """Where it meets then."""
    loop_at: Span | None = None
    """The loop, where a function that it calls gives the batch to the operation."""
    shown: tuple[str, Span] | None = None
    """What shows that the batch is on the CPU, where no other part of it is moved, and its place."""
    weak: bool = False
    """Neither the data set is known nor is a batch of the file moved."""
    fed_alone: bool = False
    """It is given to a model of which only the place is known, and nothing that the model gets was moved."""


class ReadOnHost(Fact, frozen=True):
    """NumPy, or code that reads through it, is given a tensor that is on an accelerator.

    `call` is the text of the call (``output.numpy()``, ``np.mean(output)``), `value` the tensor; `needs_detach` whether
    it is a parameter; `of_list` whether `value` is the text of a list that holds it; `opaque` whether a model of
    unknown class gave it, which may give a tuple or a dict; `surely` that it is a tensor on all paths.
    """

    call: str
    value: Operand
    needs_detach: bool
    of_list: bool = False
    opaque: bool = False
    surely: bool = True
    scope: str = ""
    """The qualified name of the function that holds the call."""
    by_callers: bool = False
    """It holds if a caller in another file gives the function a tensor of an accelerator."""
    for_users: bool = False
    """Or if no call says that it is on the CPU, and who uses the code works on an accelerator."""
    by_users: bool = False
    """It rests on that."""
    as_given: bool = False
    """`forward` reads it in any case, as it was given: each run with a model on an accelerator would end there."""
    of_argument: bool = False
    """It is where an argument of the function is that was entered."""
    placed_by_caller: bool = False
    """A call gives the function what was put on an accelerator."""
    led_by: Operand | None = None
    """The call in this file that leads to a read in another file, of what this file has put on an accelerator."""
    meets_others: bool = False
    """NumPy gives a tensor back, which may then meet others that are on the accelerator."""


class IgnoresGivenDevice(Fact, frozen=True):
    """A literal CUDA device where the code has the right one at hand.

    `text` is what names it (``.cuda()``, ``device="cuda"``), `given` the expression that says where (``x.device``,
    ``self.device``, ``device``), `why` how it is at hand, `given_at` where. `kind` is ``device``; ``default`` where a
    call leaves a parameter as it is, and ``switch`` where that is one such as ``use_cuda=True``; ``stream`` for
    streams; ``flag`` where `given` is a test that decides other moves; ``question`` where a test asks whether `given`
    is CUDA. Where no device can be named there, because another function shows it, `given` is what brings them
    together: ``kept`` is a variable or call that gives it, ``buffer`` one of the attributes of a Module, ``passed`` a
    call that takes it. Of a ``kernel`` it is what a kernel of an extension gets as well. A ``lone`` literal is one of a
    file that follows devices elsewhere, of which `given` is one; one of a ``module`` is in a method of `given`, which
    goes where its owner moves it; one that is ``alone`` in a file, in the function `given`, is one of a project that
    follows devices elsewhere.
    `call` is the text at `at`, `named_at` the argument of it that names the device; `bound` says whether the names of
    `given` are surely bound there, and `of_tensor` that it is the device of a tensor.
    """

    text: str
    given: str
    why: str
    given_at: Span
    kind: str = "device"
    call: str = ""
    named_at: Span | None = None
    bound: bool = False
    of_tensor: bool = False
    scope: str = ""
    """The qualified name of the function that holds it."""
    asks: bool = False
    """Whether it is run only where the tests around it found CUDA."""

    @property
    def is_met_anywhere(self) -> bool:
        return self.kind in ("module", "alone")
