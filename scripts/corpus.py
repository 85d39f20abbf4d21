"""The pinned releases that the linter is tried on: which they are, how they are fetched, checked and unpacked.

The list is `scripts/ecosystem/releases.jsonl`: one release a line with the archive's SHA-256 and the size of its Python
code. Archives come through ``pip download --no-deps``; for a source distribution pip runs its build back end to learn
its metadata (in a temporary environment). Nothing of a release is installed or imported here, and of an archive only
``.py`` files are written.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

SETS = ("gating", "extended")
"""`gating`: every finding is judged and the precision promise holds. `extended`: more code, looked at now and then."""

PACKAGING = frozenset({"PKG-INFO", "README.md", "README.rst", "README.txt", "pyproject.toml", "setup.cfg"})
"""Files at the root of a source distribution by which the linter knows what is in it for what others install."""


class CorpusError(Exception):
    """A release that cannot be named, fetched or unpacked; the message is for the user."""


@dataclass(frozen=True, order=True)
class Release:
    """One pinned release; `files` and `lines` count its ``.py`` files."""

    name: str
    version: str
    set: str
    archive: str
    sha256: str
    files: int
    lines: int

    @property
    def label(self) -> str:
        """Its folder in the cache and the start of its findings' keys: ``timm-1.0.9``."""
        return f"{self.name}-{self.version}"


def default_cache() -> Path:
    """``$XDG_CACHE_HOME/torchdevlint-ecosystem``, by default under ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "torchdevlint-ecosystem"


def load(data: Path) -> list[Release]:
    """All pinned releases, in the file's order."""
    path = data / "releases.jsonl"
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        return [Release(**json.loads(line)) for line in lines if line.strip()]
    except (OSError, TypeError, ValueError) as error:
        raise CorpusError(f"{path}: {error}") from error


def select(releases: Iterable[Release], names: Iterable[str], chosen_set: str) -> list[Release]:
    """The releases called ``name`` or ``name==version``; without names those of `chosen_set`, or ``all``."""
    releases, names = list(releases), list(names)
    if not names:
        return [release for release in releases if chosen_set in ("all", release.set)]
    known = {spelling for release in releases for spelling in (release.name, f"{release.name}=={release.version}")}
    unknown = sorted(set(names) - known)
    if unknown:
        raise CorpusError(f"not pinned: {', '.join(unknown)} (known: {', '.join(sorted(known))})")
    return [r for r in releases if r.name in names or f"{r.name}=={r.version}" in names]


def folder(release: Release, cache: Path) -> Path:
    """The release's Python files, fetched and unpacked if they are not in the cache yet."""
    target = cache / "src" / release.label
    if not target.is_dir():
        _unpack(archive(release, cache), target)
    return target


def archive(release: Release, cache: Path) -> Path:
    """The release as it was published, fetched if it is not in the cache yet, with its SHA-256 as it is pinned."""
    return _archive(release, cache / "downloads")


def pin(requirement: str, chosen_set: str, cache: Path) -> Release:
    """Fetch ``name==version`` as the index has it today and describe it, so that it can be added to the list."""
    name, equals, version = requirement.partition("==")
    if not (name and equals and version):
        raise CorpusError(f"a pin is name==version, not {requirement!r}")
    downloads = cache / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        _pip_download(requirement, Path(scratch))
        (fetched,) = Path(scratch).iterdir()
        archive = fetched.replace(downloads / fetched.name)
    return describe(Release(name, version, chosen_set, archive.name, digest(archive), 0, 0), cache)


def describe(release: Release, cache: Path) -> Release:
    """`release` with its files and lines counted."""
    texts = [path.read_bytes() for path in python_files(folder(release, cache))]
    return replace(release, files=len(texts), lines=sum(map(count_lines, texts)))


def save(releases: Iterable[Release], data: Path) -> None:
    """Write the list: the gating set first, then by name and version."""
    ordered = sorted(releases, key=lambda release: (SETS.index(release.set), release.name, release.version))
    text = "".join(json.dumps(asdict(release)) + "\n" for release in ordered)
    (data / "releases.jsonl").write_text(text, encoding="utf-8")


def python_files(root: Path) -> list[Path]:
    """Every ``.py`` file below `root` (or `root` itself), sorted."""
    return [root] if root.is_file() else sorted(path for path in root.rglob("*.py") if path.is_file())


def count_lines(data: bytes) -> int:
    """Physical lines, a last one without a newline included."""
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _archive(release: Release, downloads: Path) -> Path:
    archive = downloads / release.archive
    if not archive.is_file():
        downloads.mkdir(parents=True, exist_ok=True)
        _pip_download(f"{release.name}=={release.version} --hash=sha256:{release.sha256}", downloads)
    if not archive.is_file():
        raise CorpusError(f"{release.label}: pip brought no {release.archive}")
    if digest(archive) != release.sha256:
        raise CorpusError(f"{archive}: not the pinned file (its SHA-256 differs); remove it to fetch it again")
    return archive


def _pip_download(requirement: str, target: Path) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as requirements:
        requirements.write(requirement + "\n")
        requirements.flush()
        options = ["--no-deps", "--ignore-requires-python", "--disable-pip-version-check", "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(target), "-r", requirements.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise CorpusError(f"pip download {requirement.split(maxsplit=1)[0]} failed: {' '.join(errors[-2:])}")


def _unpack(archive: Path, target: Path) -> None:
    """Write what is read of the archive to `target`, which appears only once it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        for name, data in _sources(archive):
            path = scratch / _inside(name, archive)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        scratch.chmod(0o755)
        scratch.replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _sources(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each ``.py`` member, and of what says at the root that a source distribution is one.

    The top folder of a source distribution is taken off.
    """
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                if info.filename.endswith(".py"):
                    yield info.filename, wheel.read(info)
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            name = member.name.partition("/")[2]
            wanted = member.isfile() and (name.endswith(".py") or name in PACKAGING)
            content = sdist.extractfile(member) if wanted else None
            if content:
                yield name, content.read()


def _inside(name: str, archive: Path) -> PurePosixPath:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise CorpusError(f"{archive.name}: refused to unpack {name!r}")
    return path
