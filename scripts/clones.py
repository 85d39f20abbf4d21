"""Bare clones of repositories without history and without the content of files, which git gets when it is read."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus import CorpusError

HOST = "https://github.com"
LINK = "120000"
"""git's mode of a symbolic link."""


def clone_of(repo: str, clones: Path) -> Path | None:
    """The git directory of `owner/name`: it is, or lies in, ``owner/name``, ``owner/name.git`` or ``owner+name``."""
    for place in (clones / repo, clones / f"{repo}.git", clones / repo.replace("/", "+")):
        inside = sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
        for folder in (place, *inside):
            if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
                return folder
    return None


def clone(url: str, commits: Sequence[str], target: Path) -> None:
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


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git in `folder` without asking anybody for a password; `given` is its standard input."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        capture_output=True,
        input=given,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        check=False,
    )
    if done.returncode:
        raise CorpusError(f"git {arguments[0]}: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    return done.stdout


def write_tree(folder: Path, commit: str, target: Path) -> None:
    """Write every file of `commit` under `target`, which appears only once it is whole.

    A file that the clone lacks and cannot get is an error where it is Python, and is left out otherwise: notebooks and
    weights are often missing from partial copies, and no test suite imports them.
    """
    scratch = target.with_name(f"{target.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    entries = [_entry(line) for line in git(folder, "ls-tree", "-r", "-z", commit).decode().split("\0") if line]
    files = [entry for entry in entries if entry.kind == "blob"]
    for entry, content in zip(files, _contents(folder, [entry.name for entry in files]), strict=True):
        if content is None:
            if entry.path.endswith(".py"):
                raise CorpusError(f"git cat-file: {entry.path} of {commit} is missing")
            continue
        place = scratch / entry.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == LINK:
            place.symlink_to(content.decode())
        else:
            place.write_bytes(content)
    scratch.replace(target)


class _Entry(NamedTuple):
    """A line of `git ls-tree`."""

    mode: str
    kind: str
    name: str
    path: str


def _entry(line: str) -> _Entry:
    described, _, path = line.partition("\t")
    mode, kind, name = described.split()
    return _Entry(mode, kind, name, path)


def _contents(folder: Path, names: Sequence[str]) -> Iterator[bytes | None]:
    """The content of each object, or None for one that is not to be had, by one process."""
    rest = memoryview(git(folder, "cat-file", "--batch", given="\n".join([*names, ""]).encode()))
    for _ in names:
        end = bytes(rest[:4096]).index(b"\n")
        said = bytes(rest[:end]).split()
        rest = rest[end + 1 :]
        if said[-1] == b"missing":
            yield None
            continue
        size = int(said[-1])
        yield bytes(rest[:size])
        rest = rest[size + 1 :]
