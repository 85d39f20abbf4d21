"""One process of several: runs a share of the database, and writes what each program did as a JSON line.

    python -m benchmarks.operators.worker real|simulated PART PARTS OUT

A program that takes its process with it is known by the line that says it begins; another one goes on behind it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

SECONDS = 20.0
BROKEN = 3
"""The exit code of a worker that can run nothing."""
LONGEST = 300


def main() -> None:
    backend, part, parts, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    warnings.simplefilter("ignore")
    begun = {json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()} if out.is_file() else set()
    with out.open("a", encoding="utf-8", buffering=1) as answers, contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_backend(backend))
            _load()
        except Exception:  # noqa: BLE001 -- whatever it is, it is told
            traceback.print_exc()
            sys.exit(BROKEN)
        run(part, parts, begun, answers, backend == "real")
    os._exit(0)


def _load() -> None:
    """The database as it is where there is no GPU; it keeps the functions of torch, which are the simulation's then."""
    import torch

    with mock.patch.object(torch.cuda, "is_available", return_value=False):
        from torch.testing._internal import common_utils
        from torch.testing._internal.opinfo import core

        from benchmarks.operators.programs import entries

        next(entries())
    for module in (common_utils, core):  # that no test of torch asks for samples is searched for in the stack each time
        if hasattr(module, "extract_test_fn"):
            module.extract_test_fn = lambda: None
    torch.set_num_threads(1)


def _backend(name: str) -> Any:
    if name == "real":
        import torch

        torch.zeros(1, device="cuda")
        return contextlib.nullcontext()
    from torchdevlint.runtime.simulated import simulate

    return simulate(1)


def run(part: int, parts: int, begun: set[str], answers: Any, real: bool) -> None:
    from benchmarks.operators.programs import entries, of_entry

    for number, (kind, entry) in enumerate(entries()):
        if number % parts != part:
            continue
        for program in of_entry(kind, entry, "cuda"):
            if program.id in begun:
                continue
            answers.write(json.dumps({"id": program.id}) + "\n")
            watch = threading.Timer(SECONDS, os._exit, (9,))
            watch.start()
            answers.write(json.dumps({"id": program.id, **_observe(program.call)}) + "\n")
            watch.cancel()
            if real and not _alive():
                os._exit(8)


def _observe(call: Any) -> dict[str, Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    try:
        leaves = tree_leaves(call())
        devices = [str(leaf.device) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return {"devices": devices[:6]}
    except Exception as error:  # noqa: BLE001 -- whatever it raises is the observation
        return {"raises": type(error).__name__, "text": str(error)[:LONGEST]}


def _alive() -> bool:
    import torch

    try:
        if torch.cuda.is_initialized():
            torch.zeros(1, device="cuda")
            torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


if __name__ == "__main__":
    main()
