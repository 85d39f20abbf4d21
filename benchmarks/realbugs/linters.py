"""The linters that are scored: how each is started on a folder, and its report as `Finding`.

What torchdevlint says of a file depends on the project around it, so each version of a record is linted as a project of
its own, in its folder: whether anything of another record calls a function must not decide. The peers know no project,
and lint all files in one run.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import measured
from corpus import CorpusError

OURS = "torchdevlint"
IN_REPOSITORY = "torchdevlint in the repository"
GREP = "grep"
EXPRESSIONS = {
    "load": r"\btorch\.load\((?!.*map_location)",
    "cuda": r"\.cuda\(|\bdevice\s*=\s*[\"']cuda|[\"']cuda:\d",
    "factory": r"\b(?:torch|th)\.(?:as_tensor|from_numpy|(?:zero|one)s|empty|full|eye|rand\w*|arange|linspace|tensor)\("
    r"(?!.*(?:device|_like))",
    "constructor": r"\b(?:torch|th)\.(?:Bool|Byte|Double|Float|Half|Int|Long)?Tensor\(",
    "numpy": r"(?<!\.cpu\(\))\.numpy\(\)",
    "statement": r"^\s*[\w.\[\]]+\.(?:to|cpu|cuda)\(.*\)\s*(?:#.*)?$",
}
"""The grep baseline: what somebody would search for who has five minutes. Each line that matches is a finding."""


@dataclass(frozen=True)
class Finding:
    """A report on one file of one record.

    `spans` are the first and last rows of the reported place and then of the related places in the same file. `lines`
    is how many lines its message reports, since one finding may speak for several.
    """

    id: str
    kind: str
    code: str
    spans: tuple[tuple[int, int], ...]
    lines: int = 1


@dataclass(frozen=True)
class Run:
    """All that one linter says, and how many wall and CPU seconds it took."""

    linter: str
    version: str
    findings: tuple[Finding, ...]
    wall: float
    cpu: float

    @property
    def title(self) -> str:
        return f"{self.linter} {self.version}".strip()


@dataclass(frozen=True)
class _Tool:
    """A linter on its command line: arguments after the command, and how its output is read.

    All of them exit with 0 or 1, whether they found something or not. `read` is given the folder of the run as well,
    from that of all files; `by_project` says that there is a run for each version of a record.
    """

    arguments: tuple[str, ...]
    read: Callable[[str, str], list[Finding]]
    by_project: bool = False


def run(name: str, command: Sequence[str], files: Path) -> Run:
    """Lint everything under `files` with linter `name`, which `command` starts."""
    tool = _TOOLS[name]
    folders = sorted(filter(Path.is_dir, files.glob("*/*"))) if tool.by_project else [files]
    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda folder: _run(name, command, files, folder), folders))
    wall = time.perf_counter() - start
    findings = tuple(finding for found, _ in runs for finding in found)
    return Run(name, _version(name, command), findings, wall, sum(cpu for _, cpu in runs))


def _run(name: str, command: Sequence[str], files: Path, folder: Path) -> tuple[list[Finding], float]:
    """What a linter says of one folder, and its seconds of CPU."""
    tool = _TOOLS[name]
    done = measured.run([*command, *tool.arguments], cwd=folder, extra_env={"PYTHONHASHSEED": "0"})
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise CorpusError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    try:
        return tool.read(done.stdout, folder.relative_to(files).as_posix()), done.cpu
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"{name} wrote something unexpected: {error!r}") from error


def grep(files: Path) -> Run:
    """The floor: `EXPRESSIONS` on every line."""
    wall, cpu = time.perf_counter(), time.process_time()
    expressions = {code: re.compile(pattern) for code, pattern in EXPRESSIONS.items()}
    found = [
        _finding(path.relative_to(files).as_posix(), code, [(row, row)])
        for path in sorted(files.rglob("*.py"))
        for row, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), start=1)
        for code, expression in expressions.items()
        if expression.search(line)
    ]
    return Run(GREP, "", tuple(found), time.perf_counter() - wall, time.process_time() - cpu)


def _version(name: str, command: Sequence[str]) -> str:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.split():
        raise CorpusError(f"{name} does not tell its version: {done.stderr.strip()[-300:]}")
    return done.stdout.split()[-1]


def _finding(path: str, code: str, spans: Sequence[tuple[int, int]]) -> Finding:
    record, kind, *_ = posixpath.normpath(path).split("/")
    return Finding(record, kind, code, tuple(spans))


def _read_ours(output: str, folder: str) -> list[Finding]:
    return [
        replace(_finding(posixpath.join(folder, each["filename"]), each["code"], spans_of(each)), lines=_lines(each))
        for each in json.loads(output)
    ]


def _lines(item: Mapping[str, Any]) -> int:
    """How many lines a finding of ours speaks for."""
    also = re.search(r"\(also in lines? ([\d, ]+)(?: and (\d+) more)?\)$", item.get("message", ""))
    return 1 if also is None else 2 + also[1].count(",") + int(also[2] or 0)


def spans_of(item: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """The rows of a finding of ours, and of what it names as related in the same file."""
    places = item.get("related", ())
    related = [place for place in places if place.get("filename", item["filename"]) == item["filename"]]
    return tuple(_span(place) for place in (item, *related))


def _span(place: Mapping[str, Any]) -> tuple[int, int]:
    return place["location"]["row"], (place.get("end_location") or place["location"])["row"]


def _read_torchfix(output: str, folder: str) -> list[Finding]:
    """Its ``path:row:column: code message`` lines; the differences that it also prints are passed over."""
    lines = re.findall(r"^([^\s:]+):(\d+):\d+: (TOR\d+) ", output, re.MULTILINE)
    return [_finding(posixpath.join(folder, path), code, [(int(row), int(row))]) for path, row, code in lines]


def _read_preflight(output: str, folder: str) -> list[Finding]:
    return [
        _finding(posixpath.join(folder, item["path"]), item["code"], [(item["line"], item["end_line"] or item["line"])])
        for item in json.loads(output)["diagnostics"]
    ]


_TOOLS = {
    OURS: _Tool(("check", "--output-format", "json", "--isolated", "--no-cache", "--jobs", "1", "."), _read_ours, True),
    "torchfix": _Tool(("--select", "ALL", "."), _read_torchfix),
    "torch-preflight": _Tool(("check", "--format", "json", "."), _read_preflight),
}
MODULES = {"torchfix": "torchfix", "torch-preflight": "torch_preflight"}
"""Peers that are started as ``python -m MODULE``."""
NAMES = (OURS, IN_REPOSITORY, *(name for name in _TOOLS if name != OURS), GREP)
"""All linters, in the order in which they are shown."""
