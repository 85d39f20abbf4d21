"""Each record in its repository: the file is linted where it stands, with the Python files of the commit around it.

What tells a library from an application is there as well: how the project is installed, and what it says of itself.
What the linter says of a file alone is `linters.run`; this shows what the other files add.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path

import measured
from clones import clone_of, git
from corpus import CorpusError
from linters import IN_REPOSITORY, Finding, Run, spans_of
from records import Bug, LookAlike

_PACKAGING = ("pyproject.toml", "setup.cfg", "requirements*", "readme*", "environment.y*ml", ".gitignore")
"""Files beside those of Python that say what a project is, by their names in small letters."""
ARGUMENTS = ("check", "--output-format", "json", "--isolated", "--no-cache", "--exit-zero")


def run(command: Sequence[str], cases: Iterable[Bug | LookAlike], clones: Path) -> Run:
    """Lint the file of each record in the trees of its commits. Raises CorpusError for a commit that is not there."""
    findings: list[Finding] = []
    started, cpu = time.perf_counter(), 0.0
    for case in cases:
        for kind, commit in case.sources:
            with tempfile.TemporaryDirectory() as scratch:
                _extract(case, commit, clones, Path(scratch))
                result = measured.run(
                    [*command, *ARGUMENTS, case.path], cwd=Path(scratch), extra_env={"PYTHONHASHSEED": "0"}
                )
            if result.returncode != 0:
                raise CorpusError(f"{case.id}: {result.stderr.strip()[-500:]}")
            cpu += result.cpu
            findings += [Finding(case.id, kind, item["code"], spans_of(item)) for item in json.loads(result.stdout)]
    return Run(IN_REPOSITORY, "", tuple(findings), time.perf_counter() - started, cpu)


def _extract(case: Bug | LookAlike, commit: str, clones: Path, target: Path) -> None:
    """Write the Python files of a commit and those of its packaging, and mark their root as that of a project."""
    clone = clone_of(case.repo, clones)
    if clone is None:
        raise CorpusError(f"{case.id}: no clone of {case.repo}")
    try:
        names = git(clone, "ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")
        wanted = [f":(literal){each}" for each in names if _says_what_it_is(each)]
        archived = git(clone, "archive", "--format=tar", commit, "--", ":(glob)**/*.py", *wanted)
    except CorpusError as error:
        raise CorpusError(f"{case.id}: {error}") from error
    with tarfile.open(fileobj=BytesIO(archived)) as archive:
        archive.extractall(target, filter="data")
    (target / "setup.cfg").touch()


def _says_what_it_is(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return any(fnmatchcase(name, pattern) for pattern in _PACKAGING)
