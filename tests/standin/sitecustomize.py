"""A backend for the tests of `torchdevlint run`: `meta` stands in for an accelerator, so that errors are torch's own.

On the import path of the processes that `run` starts, in the place of a project's own ``sitecustomize``.
"""

import os
import sys
from types import ModuleType
from typing import Any

import torchdevlint.runtime


def install(count: int = 2, kind: str = "cuda", recorder: Any = None, **_options: bool) -> None:
    from torchdevlint.runtime.record import hardware

    if os.environ.get("STANDIN") == "broken":
        raise RuntimeError("no such luck")

    def accelerated(device: Any) -> bool:
        return device.type == "meta"

    hardware.Watch(recorder, accelerated).__enter__()
    hardware.watch_modules(recorder, accelerated)
    recorder.created_at = hardware.created_at


backend = ModuleType("torchdevlint.runtime.simulated")
backend.install = install  # type: ignore[attr-defined]
sys.modules[backend.__name__] = torchdevlint.runtime.simulated = backend  # type: ignore[attr-defined]
