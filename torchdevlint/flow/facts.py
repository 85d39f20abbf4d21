"""What the inference hands to the rules: plain frozen records, each a claim about one place in one file.

A fact is recorded only when it is sure in the world that the user cares about, where an accelerator is there.
A rule turns a fact into a `Report`, or stays silent; it never sees a syntax tree.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchdevlint.model import Span


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of an operation.

    `text` is its source, `device` what is known of its device in words (``the default device``, ``cuda:0``,
    ``the device of `x```), `evidence` the places that show it, oldest first: creations, moves, parameters.
    """

    text: str
    device: str
    span: Span
    evidence: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Creation:
    """Where a tensor begins that stays behind: a call that makes it on the default device, or an argument that is kept.

    `function` is the public name of what is called, such as ``torch.zeros``, and empty for an argument of ``__init__``
    that becomes an attribute as it came.
    """

    function: str
    text: str
    span: Span
    where: str
    """``forward`` (or reached from it), ``init``, ``method`` (another method of a Module), ``function``, ``module``."""
    scope: str
    """The qualified name of the function that holds it, such as ``Net.forward``; empty at module level."""
    random: bool = False
    attribute: str | None = None
    """The attribute of the Module that keeps it, for what ``__init__`` made."""
    is_attribute: bool = True
    """Whether the attribute is the tensor; else it holds it, as lists, dicts and distributions do."""


@dataclass(frozen=True, slots=True)
class MixedDevices:
    """One operation whose operands surely sit on different devices once the model is on an accelerator.

    `creations` are the default-device factories behind the operand that stayed on the CPU, in source order (empty
    when it is on the CPU for another reason); `other_like` is an expression in scope at the first creation whose
    ``.device`` is the right one, or None.
    """

    at: Span
    operation: str
    stayed: Operand
    other: Operand
    creations: tuple[Creation, ...]
    entry: str
    """What kind of code was entered: ``forward``, ``method`` (of a Module), ``function``, ``module``."""
    model_side: bool
    """The other operand is on the model's device (parameters, buffers, inputs of forward), not just an argument's."""
    other_like: str | None = None
    other_origin: str = "model"
    """What says where the other operand is: ``model``, ``argument``, ``expression`` or ``literal``."""
    literal: Span | None = None
    """Where the other operand was put on CUDA by name."""


@dataclass(frozen=True, slots=True)
class DiscardedMove:
    """A statement ``t.to(d)`` whose receiver is a tensor and whose result is thrown away.

    `method` is ``to``, ``cuda``, ``double``...; `moves` is False for a pure dtype conversion; `target` the text of
    the arguments; `evidence` says why the receiver is a tensor, with the place that shows it.
    """

    at: Span
    receiver: str
    method: str
    target: str
    moves: bool
    evidence: tuple[tuple[str, Span], ...]


@dataclass(frozen=True, slots=True)
class DeadLoopMove:
    """A loop that moves its own target and then drops it: ``for t in batch: t = t.to(d)``.

    `form` is ``list``, ``dict`` (over ``.items()``), or ``comprehension`` (of moves, as a statement).
    """

    at: Span
    name: str
    container: str
    form: str
    target: str


@dataclass(frozen=True, slots=True)
class CheckpointLoad:
    """A call that reads storages back to the device they were saved on, because nothing says otherwise.

    `function` is the public name (``torch.load``, ``torch.jit.load`` ...); `only_state_dict` whether the result only
    feeds `load_state_dict` without ``assign``; `rank_code` whether the file runs one process a GPU.
    """

    at: Span
    function: str
    text: str
    only_state_dict: bool
    rank_code: bool


@dataclass(frozen=True, slots=True)
class WrappedStateDict:
    """A state dict saved with, or loaded into, the wrong prefix.

    `direction` is ``save`` (a wrapper's keys are written) or ``load`` (a file and a model disagree);
    `prefix` is ``module.`` or ``_orig_mod.``; `conditional` whether the wrap happens on some paths only.
    """

    at: Span
    direction: str
    wrapper: str
    prefix: str
    model: str
    wrapped_at: Span
    conditional: bool
    saved_at: Span | None = None


@dataclass(frozen=True, slots=True)
class LateVisibleDevices:
    """``CUDA_VISIBLE_DEVICES`` set after CUDA has read it.

    `how` is the text of the assignment, `cause` the call that froze or initialised CUDA, `effect` ``freezes``
    (the visible list is read) or ``initialises``.
    """

    at: Span
    how: str
    cause: str
    cause_at: Span
    effect: str


@dataclass(frozen=True, slots=True)
class MalformedVisibleDevices:
    """An environment assignment that cannot do what it is meant to.

    `problem` is ``name`` (misspelt: `found` is what stands there), ``value`` (not a string) or ``arguments``
    (``setdefault(name, "2", "3")``).
    """

    at: Span
    problem: str
    found: str
    suggestion: str


@dataclass(frozen=True, slots=True)
class UnusedSuppression:
    """A suppression comment that names TDL codes which suppress nothing; `unused` are those codes, as written."""

    at: Span
    comment: str
    unused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InvalidSyntax:
    """The file cannot be parsed or decoded; `reason` is the parser's own words."""

    at: Span
    reason: str


@dataclass(frozen=True, slots=True)
class BatchNotMoved:
    """A batch from a loader that reaches the model, a criterion or another half of the batch where it was collated.

    `name` is the part that stayed (``labels``), `loaded_at` the loop that takes it from the loader, `at` the operation,
    `other` what it meets there: the model, or the part that was moved.
    """

    at: Span
    operation: str
    name: str
    loaded_at: Span
    other: Operand


@dataclass(frozen=True, slots=True)
class ReadOnHost:
    """NumPy, or code that reads through it, is given a tensor that is on an accelerator.

    `call` is the text of the call (``output.numpy()``, ``np.mean(output)``), `value` the tensor; `needs_detach` whether
    it comes from a model outside of ``no_grad``.
    """

    at: Span
    call: str
    value: Operand
    needs_detach: bool


@dataclass(frozen=True, slots=True)
class IgnoresGivenDevice:
    """A literal CUDA device where the code has the right one at hand.

    `text` is what names it (``.cuda()``, ``device="cuda"``), `given` the expression that says where (``x.device``,
    ``self.device``, ``device``), `why` how it is at hand, `given_at` where. `kind` is ``device``; ``default`` where a
    call leaves a parameter as it is; ``stream`` for streams; ``flag`` where `given` is a test that decides other moves.
    """

    at: Span
    text: str
    given: str
    why: str
    given_at: Span
    kind: str = "device"


@dataclass(frozen=True, slots=True)
class ModulesInContainer:
    """A list, tuple or dict of modules or parameters as an attribute of a Module, which registers none of them.

    `container` is ``list``, ``tuple`` or ``dict``, `holds` ``modules`` or ``parameters``, `suggestion` the class that
    registers them (``nn.ModuleList``), `used_at` where the attribute is read, if it is.
    """

    at: Span
    attribute: str
    class_name: str
    container: str
    holds: str
    suggestion: str
    used_at: Span | None


@dataclass(frozen=True, slots=True)
class MovedParameter:
    """``self.w = nn.Parameter(t).to(d)``: what is assigned is no Parameter where the move does something."""

    at: Span
    attribute: str
    class_name: str
    move: str


Fact = (
    MixedDevices
    | DiscardedMove
    | DeadLoopMove
    | CheckpointLoad
    | WrappedStateDict
    | LateVisibleDevices
    | MalformedVisibleDevices
    | UnusedSuppression
    | InvalidSyntax
    | BatchNotMoved
    | ReadOnHost
    | IgnoresGivenDevice
    | ModulesInContainer
    | MovedParameter
)
