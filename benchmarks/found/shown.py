"""Whether a script shows its bug: on the CPU it ends well, on an accelerator it does not."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import measured
from corpus import CorpusError
from trophies import Executed, Found

SHOWN, NOT_SHOWN, FAILS_ANYWAY = "shown", "runs on accelerators too", "fails on the CPU too"
ABSENT, OTHER_VERSION = "not installed", "another version is installed"
OUTCOMES = (SHOWN, NOT_SHOWN, FAILS_ANYWAY, ABSENT, OTHER_VERSION)
BAD = (NOT_SHOWN, FAILS_ANYWAY)
_VERSIONS = "import importlib.metadata as m, sys; print(*(m.version(name) for name in sys.argv[1:]), sep='\\n')"

_ACCELERATORS = "import torch; print(torch.cuda.device_count(), torch.cuda.get_device_name(0))"


def accelerators(python: str) -> tuple[str, int]:
    """The name of this machine's GPU and how many there are. Raises CorpusError if there is none."""
    done = measured.run([python, "-c", _ACCELERATORS])
    if done.returncode:
        raise CorpusError(f"torch finds no GPU here: {_last_line(done.stderr)}")
    count, _, name = done.stdout.strip().partition(" ")
    return name, int(count)


def show(found: Found, folder: Path, python: str, device: str = "") -> Executed:
    """Execute the script of `found` on the CPU, then on simulated accelerators, or on `device` where that is named."""
    versions = measured.run([python, "-c", _VERSIONS, found.library, "torch"])
    if versions.returncode:
        return Executed(found.script, ABSENT, "", "", "")
    version, torch = versions.stdout.split()
    if version != found.version:
        return Executed(found.script, OTHER_VERSION, version, torch, "")
    script = str(folder / "scripts" / f"{found.script}.py")
    plain = measured.run([python, script, "cpu"])
    if plain.returncode:
        return Executed(found.script, FAILS_ANYWAY, version, torch, _last_line(plain.stderr))
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        options = ["--output-format", "json", "--output-file", str(report), *(["--device", device] if device else [])]
        done = measured.run(
            [python, "-m", "torchdevlint", "run", *options, "--", python, script, *filter(None, [device])]
        )
        told = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
    error = next((one for one in told.get("errors", ()) if one["uncaught"]), None)
    if done.returncode and error is None:
        return Executed(found.script, SHOWN, version, torch, _exception(done.stderr))
    if error is None:
        return Executed(found.script, NOT_SHOWN, version, torch, "")
    return Executed(
        found.script, SHOWN, version, torch, f"{error['exception']}: {error['text']}", _place(error["site"])
    )


def _place(site: dict[str, Any]) -> str:
    """The innermost line of the library, as ``package/module.py:12``; empty if the error is raised in the script."""
    while site["inside"]:
        site = site["inside"]
    _, inside, path = site["filename"].rpartition("site-packages/")
    return f"{path}:{site['location']['row']}" if inside else ""


def _exception(stderr: str) -> str:
    """The line of a traceback that names the exception; the report of `torchdevlint run` comes after it."""
    lines = [line for line in stderr.splitlines() if line and not line.startswith(" ")]
    named = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception"))]
    return named[-1] if named else _last_line(stderr)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]
