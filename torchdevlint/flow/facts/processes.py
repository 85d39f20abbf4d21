"""What several processes do with one accelerator."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


class AcceleratorInWorker(Fact, frozen=True):
    """What the workers of a loader run uses an accelerator, or reads data that is there already.

    `text` is the call that does, or that put the data there, `stored` whether that was done beforehand, `function` what
    workers run (``Frames.__getitem__``; empty for data that a loader is given as it is); `used_at` is the call, which
    may be in another file, and `loader_at` the loader.
    """

    text: str
    function: str
    stored: bool
    used_at: Span
    loader_at: Span


class PinnedOnDevice(Fact, frozen=True):
    """Memory is to be pinned of a tensor that is on an accelerator.

    `kind` is ``method`` (``t.pin_memory()``), ``factory`` (with ``pin_memory=True``) or ``loader``, `text` the call
    that put the tensor there, at `put_at`; `loader_at` is the loader.
    """

    kind: str
    text: str
    put_at: Span
    loader_at: Span | None = None


class RankMismatch(Fact, frozen=True):
    """A process that is one of several uses a GPU that is not its own.

    `kind` is ``global`` (its number among all machines' is taken for that of a GPU: `text` is where), ``late`` (`text`
    moves to the current GPU before `other` chooses it), ``shared`` (`text` wraps a model that was moved to one GPU
    for all, in `DistributedDataParallel`) or ``host`` (`text` sends `other`, which is on the CPU, over NCCL);
    `other_at` is where the rank is asked for, the GPU is chosen, the model was moved, or the tensor was made;
    `local` is the environment variable with the number on this machine, `numbered` whether the move names one GPU.
    """

    kind: str
    text: str
    other: str
    other_at: Span
    local: str = "LOCAL_RANK"
    numbered: bool = False
