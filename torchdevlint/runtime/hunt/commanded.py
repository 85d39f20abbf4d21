"""In each process of a command of the user's: the calls of targets are written to a file of a folder."""

from __future__ import annotations

import atexit
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchdevlint.runtime.execute.seen import Seen
from torchdevlint.runtime.hunt.targets import Target

SECONDS = 1.0
"""How often the file is written, for a process that ends without a word."""


def install(observed: Sequence[dict[str, Any]], _recorder: object) -> None:
    """From now on calls are seen; `observed` says of which targets, and where they are to be written."""
    (asked,) = observed
    folder = Path(asked["folder"])
    seen = Seen([Target(*row) for row in asked["targets"]], asked["root"])
    written = time.monotonic()

    def write() -> None:
        nonlocal written
        written = time.monotonic()
        file = folder / f"{os.getpid()}.json"
        part = file.with_suffix(".part")
        part.write_text(json.dumps(seen.told()), encoding="utf-8")
        part.replace(file)

    def write_from_time_to_time() -> None:
        if time.monotonic() - written > SECONDS:
            write()

    seen.on_change = write_from_time_to_time
    atexit.register(write)
    seen.__enter__()
