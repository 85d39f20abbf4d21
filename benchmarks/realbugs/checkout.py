"""Clones of the repositories, and the files before and after each fix that are written from them.

Files lie in ``<id>/pre/<path>``, ``<id>/post/<path>`` and, for look-alikes, ``<id>/head/<path>``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from corpus import CorpusError
from records import Bug, LookAlike

HOST = "https://github.com"


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
            _clone(f"{host}/{repo}", commits, clones / repo)
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


def clone_of(repo: str, clones: Path) -> Path | None:
    """The git directory of `owner/name`: it is, or lies in, ``owner/name``, ``owner/name.git`` or ``owner+name``."""
    for place in (clones / repo, clones / f"{repo}.git", clones / repo.replace("/", "+")):
        inside = sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
        for folder in (place, *inside):
            if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
                return folder
    return None


def _commits(cases: Iterable[Bug | LookAlike]) -> dict[str, list[str]]:
    wanted: dict[str, set[str]] = {}
    for case in cases:
        wanted.setdefault(case.repo, set()).update(commit for _, commit in case.sources)
    return {repo: sorted(commits) for repo, commits in sorted(wanted.items())}


def _clone(url: str, commits: Sequence[str], target: Path) -> None:
    """A bare partial clone of `commits` alone; `target` appears only once it is whole."""
    scratch = target.with_name(f"{target.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        git(scratch, "init", "--quiet", "--bare")
        git(scratch, "remote", "add", "origin", url)
        git(scratch, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "origin", *commits)
        scratch.replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def git(folder: Path, *arguments: str) -> bytes:
    """Run git in `folder` without asking anybody for a password."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        check=False,
    )
    if done.returncode:
        raise CorpusError(f"git {arguments[0]}: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    return done.stdout
