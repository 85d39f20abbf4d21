"""Clones of the repositories, and the files before and after each fix that are written from them.

Files lie in ``<id>/pre/<path>``, ``<id>/post/<path>`` and, for look-alikes, ``<id>/head/<path>``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from clones import HOST, clone, clone_of, git
from corpus import CorpusError
from records import Bug, LookAlike


def fetch(cases: Iterable[Bug | LookAlike], clones: Path, host: str = HOST) -> list[str]:
    """Clone every repository of `cases` that `clones` lacks; what went wrong, a line for each repository.

    Only the commits that are needed are fetched, without history and without the content of files, which git gets
    when `write` reads them.
    """
    problems = []
    for repo, commits in _commits(cases).items():
        if clone_of(repo, clones):
            continue
        try:
            clone(f"{host}/{repo}", commits, clones / repo)
        except CorpusError as error:
            problems.append(f"{repo}: {error}")
    return problems


def write(cases: Iterable[Bug | LookAlike], clones: Path, files: Path) -> list[str]:
    """Write the files of `cases` under `files`; what could not be written, a line each."""
    problems = []
    for case in cases:
        clone = clone_of(case.repo, clones)
        if clone is None:
            problems.append(f"{case.id}: no clone of {case.repo}")
            continue
        for kind, commit in case.sources:
            try:
                content = git(clone, "cat-file", "blob", f"{commit}:{case.path}")
            except CorpusError as error:
                problems.append(f"{case.id} {kind}: {error}")
                continue
            target = files / case.id / kind / case.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            count = content.count(b"\n")
            if isinstance(case, Bug) and kind == "post" and count != case.post_lines:
                problems.append(f"{case.id}: post_lines is {case.post_lines}, the file has {count}")
    return problems


def absent(cases: Iterable[Bug | LookAlike], files: Path) -> list[str]:
    """The files of `cases` that are not under `files`."""
    wanted = [f"{case.id}/{kind}/{case.path}" for case in cases for kind, _ in case.sources]
    return [path for path in wanted if not (files / path).is_file()]


def _commits(cases: Iterable[Bug | LookAlike]) -> dict[str, list[str]]:
    wanted: dict[str, set[str]] = {}
    for case in cases:
        wanted.setdefault(case.repo, set()).update(commit for _, commit in case.sources)
    return {repo: sorted(commits) for repo, commits in sorted(wanted.items())}
