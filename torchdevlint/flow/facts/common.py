"""What facts are, and what several of them are made of."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from torchdevlint.model import Span

BUILT = "the device that the Module was built on"
"""Where what ``__init__`` of a Module makes of its parameters and buffers stays."""
UNREGISTERED = "the device that it was made on"
"""Where a tensor stays that ``__init__`` of a Module keeps beside buffers, and of which nothing says where it was."""


class _Shared(Struct, frozen=True, kw_only=True):
    shared: str = ""
    """What it shares with the other facts that one decision would end; empty where it stands for itself."""
    hurts_nobody: bool = False
    """It holds, but no program of the project that is seen is hurt by it; then it is advice."""


class Fact(_Shared, frozen=True):
    """A claim about the place `at`."""

    LACKED: ClassVar[str] = ""
    """The attribute that an object lacks, according to facts of this kind, unless those who made it give it one."""
    at: Span

    @property
    def is_met_anywhere(self) -> bool:
        """Whether programs that are hurt by it end on the CPU as well, so that those which run are not."""
        return False

    @property
    def wrong_result(self) -> str:
        """The method at the place that does what it has to, and gives the wrong thing: it hurts those who use that."""
        return ""

    @property
    def is_theory(self) -> bool:
        """Whether it is for users elsewhere: what an application itself does with it is seen, and goes well."""
        return False

    @property
    def rests_on_default(self) -> bool:
        """Whether it holds only where factories make tensors on the CPU by default."""
        return False

    @property
    def is_of_processes(self) -> bool:
        """Whether it is so only where a program runs in several processes."""
        return False

    @property
    def is_without_cuda(self) -> bool:
        """Whether it is wrong only on machines without CUDA."""
        return False


class Operand(Struct, frozen=True):
    """One side of an operation.

    `text` is its source, `device` what is known of its device in words (``the default device``, ``cuda:0``,
    ``the device of `x```), `evidence` the places that show it, oldest first: creations, moves, parameters.
    """

    text: str
    device: str
    span: Span
    evidence: tuple[tuple[str, Span], ...] = ()


class Creation(Struct, frozen=True):
    """Where a tensor begins that stays behind: a call that makes it on the default device, or an argument that is kept.

    `function` is the public name of what is called, such as ``torch.zeros``, and empty for an argument of ``__init__``
    that becomes an attribute as it came, or what ``__init__`` makes of the Module's own parameters and buffers.
    """

    function: str
    text: str
    span: Span
    where: str
    """``forward`` (or reached from it), ``init``, ``method`` (another method of a Module), ``function``, ``module``."""
    scope: str
    """The qualified name of the function that holds it, such as ``Net.forward``; empty at module level."""
    random: bool = False
    drawn: bool = False
    """It is drawn from a generator that the code chose, which is of the CPU, since nothing else draws for the CPU; or
    made in a function that calculates with what is so drawn."""
    attribute: str | None = None
    """The attribute of the Module that keeps it, for what ``__init__`` made."""
    is_attribute: bool = True
    """Whether the attribute is the tensor; else it holds it, as lists, dicts and distributions do."""
    kept_by: tuple[str, Span] | None = None
    """The text and place of the assignment to the attribute, if a call that registers it can take its place."""
    of_tensor: bool = False
    """It is made by a constructor of the CPU of what may be a tensor, and one of an accelerator is refused there."""


class Reordering(Struct, frozen=True):
    """The lines `text`, which are at `span`, can stand at `before` instead."""

    text: str
    span: Span
    before: Span
