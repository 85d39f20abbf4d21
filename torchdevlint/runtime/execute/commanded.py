"""The flagged expressions of many findings, watched in the processes of a command of the user's."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from torchdevlint.runtime.execute.imported import Finder
from torchdevlint.runtime.execute.instrument import row_of, watch_name
from torchdevlint.runtime.execute.target import Target, read_target
from torchdevlint.runtime.execute.watch import TAKE_ONE, Watch
from torchdevlint.runtime.record.marks import Following
from torchdevlint.runtime.record.recorder import Recorder


@dataclass
class Commanded(Watch):
    """The watch of one finding, the `index`-th; that its operands met well is told as a row of its file."""

    index: int = 0
    found: set[int] = field(default_factory=set)

    def done(self, number: int, value: Any) -> Any:
        value = super().done(number, value)
        self._tell()
        return value

    def operated(self, given: Sequence[torch.Tensor]) -> None:
        super().operated(given)
        self._tell()

    def _tell(self) -> None:
        if self.is_met(alone=self.target.code in TAKE_ONE):
            self.found.add(row_of(self.index))


def install(findings: Sequence[dict[str, Any]], recorder: Recorder) -> None:
    """From now on the files of `findings` are imported with their expressions wrapped; what is seen is recorded.

    A file that is run, and not imported, stays as it is.
    """
    watches: list[Commanded] = []
    shift = 0
    device = torch.device(recorder.kind, 0)
    for index, finding in enumerate(findings):
        watch = Commanded(read_target(finding), device, watch_name(index), shift, index=index)
        shift += len(watch.told.regions)
        setattr(builtins, watch.name, watch)
        watches.append(watch)
    by_path: dict[str, list[Target]] = {}
    for watch in watches:
        path = str(watch.target.path.resolve())
        by_path.setdefault(path, []).append(watch.target)
        if recorder.visited is not None:
            watch.found = recorder.visited.seen.setdefault(path, set())
    for path in sorted(by_path):
        ours = [watch for watch in watches if str(watch.target.path.resolve()) == path]
        sys.meta_path.insert(0, Finder(path, [(watch.told, watch.name) for watch in ours]))

    def operated(given: Sequence[torch.Tensor]) -> None:
        for watch in watches:
            watch.operated(given)

    Following(operated).__enter__()
