"""What `torchdevlint run` has its processes do: record, on a backend, from the moment torch has been imported.

The environment says what is wanted: ``TORCHDEVLINT_RECORD`` is the folder for the records, ``TORCHDEVLINT_SIMULATE``
the number of accelerators to simulate, ``TORCHDEVLINT_SIMULATE_KIND`` their type (cuda unless it is said), and
``TORCHDEVLINT_FLAT`` that they are the CPU by another name; ``TORCHDEVLINT_DEVICE`` is the type of the real ones
otherwise. ``TORCHDEVLINT_LINES`` names a JSON file with rows by path: whether they are executed is recorded; and with
the module of an observer, and what it is given.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from torchdevlint.runtime.importing import when_imported
from torchdevlint.runtime.start import inherit
from torchdevlint.runtime.start.inherit import DEVICE, FLAT, LINES, RECORD, SIMULATE, SIMULATE_KIND

RECORDER = "torchdevlint.runtime.record.recorder"


def begin() -> None:
    """Called as the interpreter starts; torch is not imported here."""
    inherit.announce(Path(os.environ[RECORD]))
    inherit.hand_on(inherit.kept(os.environ))
    when_imported("multiprocessing.process", _watch_processes)
    when_imported("torch", partial(install, environment=dict(os.environ)))


def install(_torch: ModuleType, environment: Mapping[str, str]) -> None:
    """Start the record and the backend. A backend that fails ends the program: an unchecked run must not look clean."""
    from torchdevlint.runtime.record import endings, recorder

    device = environment.get(DEVICE, "")
    count = int(environment.get(SIMULATE, "0") or "0")
    kind = environment.get(SIMULATE_KIND) or "cuda"
    one = recorder.Recorder(Path(environment[RECORD]), device or "simulated", count, device or kind)
    recorder.start(one)
    try:
        if device:
            from torchdevlint.runtime.record import hardware

            hardware.install(one, device)
        else:
            simulate(count, kind, flat=bool(environment.get(FLAT)))
    except Exception as error:
        one.ending = f"the backend failed: {type(error).__name__}: {error}"
        one.write(final=True)
        sys.stderr.write(f"torchdevlint: {one.ending}\n")
        raise
    if environment.get(LINES):
        from torchdevlint.runtime.record.visited import Visited

        asked = json.loads(Path(environment[LINES]).read_text("utf-8"))
        if asked["lines"]:
            one.visited = Visited(asked["lines"])
            one.visited.watch()
        if asked["observer"]:
            import_module(asked["observer"]).install(asked["observed"], one)
    endings.watch(one)
    one.write()


def _watch_processes(module: ModuleType) -> None:
    """A process of `multiprocessing` handles every error itself, and may import torch only while it runs already."""
    original = module.BaseProcess._bootstrap

    @wraps(original)
    def bootstrap(process: Any, *arguments: Any, **options: Any) -> Any:
        run = process.run

        def watched() -> None:
            try:
                run()
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                if RECORDER in sys.modules:
                    sys.modules[RECORDER].uncaught_in(error, f"the process {process.name}")
                raise

        process.run = watched
        return original(process, *arguments, **options)

    module.BaseProcess._bootstrap = bootstrap


def simulate(count: int, kind: str, flat: bool = False) -> None:
    """Simulate `count` accelerators of `kind` in this process, from now on, and tell the active recorder of it.

    On a `flat` machine they are the CPU under another name.
    """
    from torchdevlint.runtime.record import recorder

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch's modules say as they are imported; it may be an error by -W
        from torchdevlint.runtime import simulated

        simulated.install(count, kind, recorder=recorder.active(), flat=flat, lasts=True)
