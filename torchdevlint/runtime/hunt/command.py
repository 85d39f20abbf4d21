"""The parent's side of a command of the user's, such as ``pytest tests/``: it runs once, and its calls are seen."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from torchdevlint.runtime.hunt.machines import Order, Recorded
from torchdevlint.runtime.hunt.targets import Target
from torchdevlint.runtime.start import launch
from torchdevlint.runtime.verify.hardware import UnusableError

OBSERVER = "torchdevlint.runtime.hunt.commanded"


def calls_of(order: Order, targets: Sequence[Target]) -> Recorded:
    """The calls of the targets that the command makes on the control. Raises UnusableError if it cannot be started."""
    with tempfile.TemporaryDirectory(prefix="torchdevlint-hunt-") as folder:
        observed = {"targets": [target.row for target in targets], "root": order.project.root, "folder": folder}
        command = tuple(shlex.split(order.command))
        try:
            launch.run(launch.Order(command, flat=True, output_to_stderr=True, observer=OBSERVER, observed=[observed]))
        except launch.UsageError as error:
            raise UnusableError(str(error)) from error
        files = sorted(Path(folder).glob("*.json"))
        found = [Recorded(**json.loads(file.read_text("utf-8"))) for file in files]
    return reduce(Recorded.joined, found, Recorded())
