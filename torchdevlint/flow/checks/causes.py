"""One cause, one finding: of several facts that one edit would end, the one nearest to that edit stays."""

from __future__ import annotations

from collections.abc import Iterable

from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.facts.modules import MovedParameter
from torchdevlint.flow.facts.processes import AcceleratorInWorker, PinnedOnDevice
from torchdevlint.flow.facts.tensors import BatchNotMoved, DeadLoopMove, DiscardedMove, IgnoresGivenDevice, MixedDevices
from torchdevlint.model import Span


def nearest(facts: Iterable[Fact]) -> list[Fact]:
    """The facts without those that another one explains.

    A batch that was left behind explains the operation that it is used in, and a move whose result is lost explains
    that its device is a literal. A literal device explains what its tensor meets, unless that was made on the CPU by
    the same function, which stays there whatever the device. Workers that use an accelerator explain that what they
    give cannot be pinned. A device that a function was given and has forgotten explains what is mixed with what it
    makes; a load that says nothing of the place explains that it forgets the one it was given, unless what it loads was
    published, which is nearly always for the CPU.
    """
    held = list(facts)
    loads = {fact.at for fact in held if isinstance(fact, CheckpointLoad) and not fact.published}
    forgotten = {fact.at for fact in held if isinstance(fact, DeviceNotForwarded)}
    lost = [fact.at for fact in held if isinstance(fact, (DiscardedMove, DeadLoopMove, MovedParameter))]
    literals = {
        fact.at
        for fact in held
        if isinstance(fact, IgnoresGivenDevice) and not any(_within(fact.at, each) for each in lost)
    }
    batches = {fact.at for fact in held if isinstance(fact, BatchNotMoved)}
    loaders = {fact.loader_at for fact in held if isinstance(fact, AcceleratorInWorker)}
    return [
        fact
        for fact in held
        if not _is_explained(fact, batches, literals)
        and not (isinstance(fact, DeviceNotForwarded) and fact.at in loads)
        and not (isinstance(fact, CheckpointLoad) and fact.published and fact.at in forgotten)
        and not (isinstance(fact, MixedDevices) and any(each.span in forgotten for each in fact.creations))
        and not (isinstance(fact, PinnedOnDevice) and fact.loader_at in loaders)
    ]


def _is_explained(fact: Fact, batches: set[Span], literals: set[Span]) -> bool:
    if isinstance(fact, IgnoresGivenDevice):
        return fact.at not in literals
    if not isinstance(fact, MixedDevices):
        return False
    return fact.at in batches or (fact.literal in literals and not _is_made_beside(fact))


def _is_made_beside(fact: MixedDevices) -> bool:
    """Whether the function that holds the operation made what stayed on the CPU."""
    return bool(fact.creations) and fact.creations[0].scope == fact.scope


def _within(inner: Span, outer: Span) -> bool:
    start, end = (inner.row, inner.column), (inner.end_row, inner.end_column)
    return (outer.row, outer.column) <= start and end <= (outer.end_row, outer.end_column)
