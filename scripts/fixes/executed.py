"""Run what a safe fix has changed, before and after it, where every accelerator is the CPU under another name.

    python scripts/fixes/executed.py REQUEST     a JSON object: one function in one version of a file, for one process

The values come from the search of `torchdevlint verify`: what lets the function of the finding run before the fix. Both
versions get the same values and the same seed, so the fix has to leave the result as it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
MOST_NUMBERS = 1000


@dataclass(frozen=True)
class Executed:
    """Whether the function gave the same before and after; None with why if it could not be executed."""

    same: bool | None
    why: str


def compare(path: Path, fixed: str, finding: dict[str, Any]) -> Executed:
    """Execute the function of a finding in the file at `path`, and again with the file as it is `fixed`."""
    before = _ask({"finding": finding, "values": None})
    if "result" not in before:
        return Executed(None, before["why"])
    old = path.read_text(encoding="utf-8")
    path.write_text(fixed, encoding="utf-8")
    try:
        after = _ask({"finding": finding, **{key: before[key] for key in ("values", "program")}})
    finally:
        path.write_text(old, encoding="utf-8")
    if "result" not in after:
        return Executed(False, after["why"])
    same = before["result"] == after["result"]
    return Executed(same, "" if same else f"{before['result']} before, {after['result']} after"[:400])


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [sys.executable, __file__, json.dumps({**request, "answer": str(answer)})]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return {"why": f"it took more than {SECONDS} seconds"}
        if not answer.is_file():
            return {"why": f"the process ended with {done.returncode}: {done.stderr.strip()[-300:]}"}
        given: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return given


def _serve(request: dict[str, Any]) -> dict[str, Any]:
    from torchdevlint.runtime.execute import call
    from torchdevlint.runtime.execute.errors import CannotBeginError, told
    from torchdevlint.runtime.execute.lines import LineWatch
    from torchdevlint.runtime.execute.machine import control
    from torchdevlint.runtime.execute.search import Run, search
    from torchdevlint.runtime.execute.target import read_target

    target = read_target(request["finding"])
    setting = control().settings("")[0]
    watch, reasons = LineWatch(target.path), ["no function holds it"]
    try:
        for number, program in enumerate(call.programs(target, construction=False)):
            if request["values"] is not None:
                if number < request["program"]:
                    continue
                try:
                    return {"result": plain(program.run(request["values"], setting)[0])}
                except Exception as error:  # noqa: BLE001 (what the fixed code raises is the answer)
                    return {"why": f"raises {told(error)}"}

            def run(values: dict[str, Any], program: Any = program) -> Run:
                watch.reset()
                try:
                    with watch:
                        program.run(values, setting)
                except BaseException as error:  # noqa: BLE001 (`sys.exit()` is an answer as well)
                    return Run(error, frozenset(watch.rows))
                return Run(None, frozenset(watch.rows))

            found = search(program.slots, run, program.wanted)
            if found.values is not None:
                result = plain(program.run(found.values, setting)[0])
                return {"result": result, "values": found.values, "program": number}
            reasons.append(found.why)
    except CannotBeginError as error:
        reasons.append(str(error))
    return {"why": "; ".join(dict.fromkeys(reasons))}


def plain(value: Any) -> Any:
    """A result as JSON: a tensor by its type, shape and numbers, what is not known by its class."""
    import torch

    if isinstance(value, torch.Tensor):
        dense = value.detach() if value.layout == torch.strided else value.detach().to_dense()
        parts = torch.view_as_real(dense) if dense.is_complex() else dense
        return [str(value.dtype), list(value.shape), str(parts.double().flatten()[:MOST_NUMBERS].tolist())]
    if isinstance(value, torch.nn.Module):
        return {name: plain(one) for name, one in value.state_dict().items()}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else type(value).__name__


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    asked = json.loads(sys.argv[1])
    Path(asked["answer"]).write_text(json.dumps(_serve(asked)), encoding="utf-8")
