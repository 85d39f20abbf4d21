"""One real fix, executed: by `hunt` and by the repository's own tests under simulation, before the fix and after it.

The code of the repository is run, as its authors would run it, by an interpreter that has what it imports. A bug is
shown by a report at the labelled lines before the fix, of which there are fewer after it.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clones import clone_of, write_tree
from corpus import CorpusError
from outcomes import HUNT, NO_TESTS, NOT, SHOWN, STAYS, SUITE, UNABLE, Executed
from records import Bug
from score import SLACK

from torchdevlint.runtime.execute.target import import_name

MOST_TESTS = 2
"""How many test files of a repository are run: those that name what was fixed most often."""
LIMITS = {HUNT: 300, SUITE: 240, "build": 100}
"""Seconds of wall time for each step."""
SECONDS_OF_HUNTING = 180
"""After so many seconds a hunt begins no further target."""
SECONDS_OF_TESTS = {HUNT: 60, SUITE: 100}
"""After so many seconds no further test is begun: while a hunt looks on, and under simulation."""
ENDED = 124
"""The exit code of what took longer."""
LIMIT_OF_A_TEST = 100
PYTEST = (
    "-q -p no:cacheprovider -p no:xdist -o addopts= -o filterwarnings=ignore "
    f"--continue-on-collection-errors --timeout={LIMIT_OF_A_TEST}"
).split()


@dataclass(frozen=True)
class Report:
    """An error: the lines of the fixed file that it names; `key` is what it has in common with others of its kind."""

    key: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Told:
    """What one step said: its reports, or in one line why it could not be taken; `also` says how far it came.

    `refused` is why the module of the fix cannot be imported.
    """

    reports: tuple[Report, ...] = ()
    why: str = ""
    also: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Trial:
    """Runs the steps of one record in `home`, with the `python` that has what the repository imports."""

    bug: Bug
    home: Path
    python: str
    clones: Path

    def execute(self) -> Executed:
        """Everything. Raises CorpusError if a commit is not there."""
        try:
            return self._executed(self._tree("pre", self.bug.parent_commit))
        finally:
            for kind in ("pre", "post"):
                shutil.rmtree(self.home / kind, ignore_errors=True)

    def _executed(self, tree: Path) -> Executed:
        tests = tests_of(self.bug, tree)
        hunted = self._hunt(tree, tests)
        if hunted.refused:
            return Executed(self.bug.id, hunted.refused)
        steps = {HUNT: self._hunt, SUITE: self._suite}
        before = {HUNT: hunted, SUITE: self._suite(tree, tests)}
        outcomes = {name: said.why or NOT for name, said in before.items()}
        hits = {name: hits_of(said.reports, self.bug) for name, said in before.items()}
        shown = [name for name in steps if hits[name]]
        if shown:
            fixed = self._tree("post", self.bug.fix_commit)
            for name in shown:
                after = steps[name](fixed, tests)
                failed = after.why or after.refused
                quiet = not failed and goes_quiet(hits[name], before[name].reports, after.reports)
                outcomes[name] = SHOWN if quiet else STAYS
        return Executed(self.bug.id, "", *(outcomes[name] for name in steps), len(tests), hunted.also)

    def _tree(self, kind: str, commit: str) -> Path:
        clone = clone_of(self.bug.repo, self.clones)
        if clone is None:
            raise CorpusError(f"{self.bug.id}: no clone of {self.bug.repo}")
        tree = self.home / kind
        shutil.rmtree(tree, ignore_errors=True)
        write_tree(clone, commit, tree)
        return tree

    def _hunt(self, tree: Path, tests: Sequence[str]) -> Told:
        """The hunt; the files that a build writes are made first if the module cannot be imported without."""
        told = self._hunt_once(tree, tests)
        if told.refused and (tree / "setup.py").is_file():
            self._run("build", tree, [self.python, "setup.py", "-q", "egg_info"])
            told = self._hunt_once(tree, tests)
        return told

    def _hunt_once(self, tree: Path, tests: Sequence[str]) -> Told:
        file = tree / self.bug.path
        out, record = (self.home / f"{tree.name}.{kind}" for kind in ("hunt.json", "record"))
        for stale in (out, record):
            stale.unlink(missing_ok=True)
        _, module = import_name(file)
        chosen = [f"--select={module}:{name}{end}" for name in reaching(self.bug, file) for end in ("", ".*")]
        options = [f"--with-command={' '.join(self._pytest(HUNT, tests))}"] if tests else []
        options += [f"--record={record}", "--output-format=json", f"--output-file={out}", "--jobs=1", "--timeout=20"]
        options += [f"--stop-after={SECONDS_OF_HUNTING}"]
        done = self._run(HUNT, tree, [self.python, "-m", "torchdevlint", "hunt", str(file), *chosen, *options])
        failed = json.loads(out.read_text("utf-8")).get("failed") if out.is_file() else {}
        if failed:
            reason = " ".join(next(iter(failed.values())).split()).removeprefix("importing it fails: ")
            return Told(refused=re.sub(r" \(/[^)]*\)?", "", reason.replace(f"{tree}/", ""))[:160])
        if not record.is_file():
            return Told(why=f"exit code {done.returncode}")
        targets = [json.loads(line) for line in record.read_text("utf-8").splitlines()[1:] if line.endswith("}")]
        executed = sum(not one.get("why") for one in targets)
        ended = " in the time" if done.returncode == ENDED else ""
        also = f"{executed} of {len(targets)} targets executed{ended}"
        bugs = [each for one in targets for each in one.get("failures", ()) if each["sort"] == "bug"]
        return Told(tuple(self._of_failure(each, tree) for each in bugs), also=also)

    def _pytest(self, step: str, tests: Sequence[str]) -> list[str]:
        return [self.python, "-m", "pytest", *PYTEST, f"--session-timeout={SECONDS_OF_TESTS[step]}", *tests]

    def _of_failure(self, failure: Mapping[str, Any], tree: Path) -> Report:
        places = [place for place in (failure.get("raised"), failure.get("origin")) if place]
        mine = [one for one in places if self._is_file(one["filename"], tree)]
        return Report(
            (failure["exception"], *(one.get("function", "") for one in mine)),
            tuple((one["line"], one["line"]) for one in mine),
        )

    def _suite(self, tree: Path, tests: Sequence[str]) -> Told:
        if not tests:
            return Told(why=NO_TESTS)
        out = self.home / f"{tree.name}.suite.json"
        out.unlink(missing_ok=True)
        run = [self.python, "-m", "torchdevlint", "run", f"--timeout={LIMITS[SUITE] - 20}"]
        run += ["--output-format=json", f"--output-file={out}", "--"]
        done = self._run(SUITE, tree, [*run, *self._pytest(SUITE, tests)])
        if not out.is_file():
            return Told(why=f"exit code {done.returncode}")
        if not re.search(r"\d (passed|failed)", done.stdout):
            return Told(why=UNABLE)
        told = json.loads(out.read_text("utf-8"))
        return Told(tuple(self._of_error(each, tree) for each in told["errors"] if each["uncaught"]))

    def _of_error(self, error: Mapping[str, Any], tree: Path) -> Report:
        places = [error["site"], *(one[key] for one in error["operands"] for key in ("created", "moved", "lost"))]
        mine = [one for one in places if one and self._is_file(one["filename"], tree)]
        return Report(
            (error["exception"], *(one.get("function") or "" for one in mine)),
            tuple((one["location"]["row"], one["end_location"]["row"]) for one in mine),
        )

    def _is_file(self, filename: str, tree: Path) -> bool:
        return os.path.realpath(tree / filename) == os.path.realpath(tree / self.bug.path)

    def _run(self, step: str, tree: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """A step in the tree; its output is kept beside it."""
        folder, _ = import_name(tree / self.bug.path)
        paths = dict.fromkeys([str(folder), str(tree), str(tree / "src")])
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"}
        log = self.home / f"{tree.name}.{step}"
        with log.with_suffix(f".{step}.out").open("w") as out, log.with_suffix(f".{step}.err").open("w") as err:
            process = subprocess.Popen(
                command, cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
            try:
                code = process.wait(LIMITS[step])
            except subprocess.TimeoutExpired:
                code = ENDED
            finally:
                end(process)
        texts = [Path(stream.name).read_text("utf-8", "replace") for stream in (out, err)]
        return subprocess.CompletedProcess(command, code, *texts)


def end(process: subprocess.Popen[str]) -> None:
    """End a process and what it has started in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def fixed_names(bug: Bug, tree: ast.Module) -> list[str]:
    """The functions and classes of the top level that hold the labelled lines."""
    found = []
    for node in _definitions(tree):
        rows = range(_first(node), (node.end_lineno or node.lineno) + 1)
        found += [node.name] if any(row in rows for row in bug.lines) else []
    return found


def reaching(bug: Bug, file: Path) -> list[str]:
    """The definitions of the top level from which the labelled lines can be reached by names; all, if they are outside.

    What others of the module do with other targets proves nothing of these lines, and takes hours in some modules.
    """
    tree = ast.parse(file.read_text("utf-8", "replace"))
    names = {node.name: _names(node) for node in _definitions(tree)}
    reached = set(fixed_names(bug, tree))
    if not reached:
        return sorted(names)
    while True:
        more = {name for name, used in names.items() if used & reached} - reached
        if not more:
            return sorted(reached)
        reached |= more


def tests_of(bug: Bug, root: Path) -> list[str]:
    """The test files of the repository that name what was fixed, the most frequent first; at most `MOST_TESTS`.

    If no test names it, those that name what it is reached from in its module; then those that name the module.
    """
    file = root / bug.path
    _, module = import_name(file)
    fixed = fixed_names(bug, ast.parse(file.read_text("utf-8", "replace")))
    groups = [fixed, reaching(bug, file) if fixed else [], [module.rpartition(".")[2]]]
    package = re.compile(rf"\b{re.escape(module.partition('.')[0])}\b")
    texts = [(path.relative_to(root).as_posix(), path.read_text("utf-8", "replace")) for path in _test_files(root)]
    for words in (re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b") for names in groups if names):
        ranked = [(-len(words.findall(text)), path) for path, text in texts if package.search(text)]
        chosen = [path for count, path in sorted(ranked) if count]
        if chosen:
            return chosen[:MOST_TESTS]
    return []


def _test_files(root: Path) -> list[Path]:
    named = [path for path in root.rglob("*.py") if path.name.startswith("test") or path.name.endswith("_test.py")]
    return sorted(path for path in named if path.is_file())


def hits_of(reports: Iterable[Report], bug: Bug) -> list[Report]:
    return [
        one
        for one in reports
        if any(first - SLACK <= row <= last + SLACK for first, last in one.spans for row in bug.lines)
    ]


def goes_quiet(hits: Iterable[Report], before: Iterable[Report], after: Iterable[Report]) -> bool:
    """Whether what hit is told of fewer places after the fix."""
    before, after = set(before), set(after)
    return any(sum(one.key == hit.key for one in after) < sum(one.key == hit.key for one in before) for hit in hits)


def _definitions(tree: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def _first(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _names(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
