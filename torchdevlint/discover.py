"""Which files to lint: folders walked, `.gitignore` and excludes respected, in a fixed order.

What the command line names is linted, whatever its suffix and even if it is excluded (unless ``force-exclude`` is
set); what is found in a folder has to be one of the files that ``include`` takes, by default those with the suffixes of
Python and of notebooks, and nothing may exclude it. Links to folders
are not followed within a folder, so that a loop of links is no loop here, and links that lead nowhere are no files.

What is left out of a folder, its own configuration says: whether it is entered at all, that of the folder above.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.config import DEFAULT_INCLUDE, ConfigError, Settings, SettingsOf
from torchdevlint.files import content, exists, is_file
from torchdevlint.model import Problem
from torchdevlint.patterns import regex
from torchdevlint.source.notebook import NOTEBOOK

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".pyi")

_NAME = regex(r"[\w.+@~ -]*[\w.+@~-]")
_STARS = regex(r"\*+")
_MOST_STARS = 4
"""In one part of a pattern, or `**` in all of it; pathspec tries all ways to divide a name among them."""


class Discovery(Struct, frozen=True):
    """What there is to lint: `files` as they are reported, sorted, none twice."""

    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Patterns(Struct, frozen=True, dict=True):
    """Lines in the language of `.gitignore`. Paths are relative to where they stand, with ``/``.

    Most lists in practice consist of plain names, for which a set does and pathspec is not even imported.
    """

    lines: tuple[str, ...]

    def covers(self, path: str) -> bool:
        """Whether the path, or a folder above it, is matched; a folder's path ends in ``/``."""
        return self.verdict(path) is True

    def verdict(self, path: str) -> bool | None:
        """True if the last line that matches takes the path in, False if it lets it out again, None without one."""
        if self._names is None:
            return self._spec.check_file(path).include
        return None if self._names.isdisjoint(path.split("/")) else True

    def without(self, path: str) -> Patterns:
        """The lines that do not cover `path`: those that still hold within it when a user asks for it."""
        if not self.covers(path):
            return self
        return Patterns(tuple(line for line in self.lines if not Patterns((line,)).covers(path)))

    @cached_property
    def _names(self) -> frozenset[str] | None:
        """The lines as a set, if each is a plain name."""
        return frozenset(self.lines) if all(map(_NAME.fullmatch, self.lines)) else None

    @cached_property
    def _spec(self) -> GitIgnoreSpec:
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(self.lines)


class _Scope(Struct, frozen=True):
    """Patterns and the absolute path of the folder that they are relative to, with ``/`` at its end."""

    base: str
    patterns: Patterns


class _Folder(Struct, frozen=True):
    """A folder of the walk: absolute, as reported, and as the excludes see it, each with ``/`` at its end or empty.

    `includes` are those of its `settings`, or None for the default; `excludes` those of them that hold in it, and
    `ignores` the `.gitignore` files that do, outermost first, or None where they are not asked.
    """

    where: str
    shown: str
    seen: str
    settings: Settings
    includes: Patterns | None
    excludes: Patterns
    ignores: tuple[_Scope, ...] | None

    def below(self, name: str) -> _Folder:
        return replace(self, where=f"{self.where}{name}/", shown=f"{self.shown}{name}/", seen=f"{self.seen}{name}/")

    def under(self, settings: Settings, found: _Found) -> _Folder:
        """The folder under settings of its own, or those that it has already."""
        if settings is self.settings:
            return self
        ignores = self.ignores if settings.respect_gitignore else None
        if settings.respect_gitignore and not self.settings.respect_gitignore:
            ignores = _ignores_above(self.where, found)
        seen = _seen(relative(self.where, settings))
        includes, excludes = including(settings), _within(seen, settings)
        return replace(self, seen=seen, settings=settings, includes=includes, excludes=excludes, ignores=ignores)

    def takes(self, name: str) -> bool:
        """Whether a file is one of those that are linted, if nothing leaves it out."""
        if self.includes is None:
            return name.endswith((*SUFFIXES, NOTEBOOK))
        return self.includes.covers(self.seen + name)

    def leaves_out(self, name: str) -> bool:
        """Whether the walk skips an entry; a folder's name ends in ``/``."""
        if self.excludes.covers(self.seen + name):
            return True
        for scope in reversed(self.ignores or ()):
            verdict = scope.patterns.verdict(self.where[len(scope.base) :] + name)
            if verdict is not None:
                return verdict
        return False


class _Found(Struct):
    """What the walk has collected so far; `files` from absolute to reported paths."""

    files: dict[str, str]
    problems: list[Problem]


def discover(paths: Sequence[str], settings: SettingsOf) -> Discovery:
    """The files under `paths`, which are relative to the current folder or absolute.

    A folder whose own configuration cannot be used is a problem, and nothing of it is taken.
    """
    found = _Found({}, [])
    for path in paths:
        try:
            _start(path, settings, found)
        except ConfigError as error:
            found.problems.append(Problem(None, str(error)))
    return Discovery(
        files=tuple(sorted(found.files.values())),
        problems=tuple(sorted(set(found.problems), key=lambda problem: (problem.filename or "", problem.message))),
    )


def excluding(settings: Settings) -> Patterns:
    """The patterns of ``exclude`` and ``extend-exclude``. Raises ConfigError for one that cannot be read."""
    lines = tuple(line for line in (*settings.exclude, *settings.extend_exclude) if line)
    for line in lines:
        if not are_patterns((line,)):
            raise ConfigError(f"`{line}` in `exclude` or `extend-exclude` is not a pattern")
    return Patterns(lines)


def including(settings: Settings) -> Patterns | None:
    """The patterns of ``include``, or None for the default. Raises ConfigError for one that cannot be read."""
    if settings.include == DEFAULT_INCLUDE:
        return None
    lines = tuple(line for line in settings.include if line)
    for line in lines:
        if not are_patterns((line,)):
            raise ConfigError(f"`{line}` in `include` is not a pattern")
    return Patterns(lines)


@lru_cache(maxsize=64)
def _within(folder: str, settings: Settings) -> Patterns:
    """The patterns that leave something out of a folder that is entered all the same."""
    return excluding(settings).without(folder) if folder else excluding(settings)


def excluded(filename: str, settings: Settings) -> bool:
    """Whether the excludes cover a file that the command line names, such as the one that stdin stands for."""
    return excluding(settings).covers(relative(filename, settings))


def relative(path: str, settings: Settings) -> str:
    """A path as the patterns of the settings see it: relative to the folder that they are meant from, with ``/``."""
    return os.path.relpath(path, settings.patterns_from).replace(os.sep, "/")


def _seen(folder: str) -> str:
    """The path of a folder with ``/`` at its end, empty for the one that patterns are relative to."""
    return "" if folder == "." else f"{folder}/"


def _start(path: str, settings_of: SettingsOf, found: _Found) -> None:
    shown, where = reported(path), _absolute(path)
    try:
        folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116
    except FileNotFoundError:
        found.problems.append(Problem(shown, "no such file or folder"))
        return
    except OSError as error:
        found.problems.append(Problem(shown, f"cannot be read: {error.strerror or error}"))
        return
    settings = settings_of.of(where)
    if settings.force_exclude and _within("", settings).covers(relative(path, settings) + "/" * folder):
        return
    if not folder:
        found.files.setdefault(where, shown)
        return
    where = where.rstrip("/") + "/"
    settings = settings_of.of(where)
    seen = _seen(relative(path, settings))
    top = _Folder(
        where=where,
        shown="" if shown == "." else shown.rstrip("/") + "/",
        seen=seen,
        settings=settings,
        includes=including(settings),
        excludes=_within(seen, settings),
        ignores=_ignores_above(where, found) if settings.respect_gitignore else None,
    )
    _walk(top, settings_of, found)


def _walk(top: _Folder, settings_of: SettingsOf, found: _Found) -> None:
    """Collects what is under `top`."""
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            folder = folder.under(settings_of.of(folder.where), found)
        except ConfigError as error:
            found.problems.append(Problem(None, str(error)))
            continue
        try:
            with os.scandir(folder.where) as entries:
                inside = list(entries)
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror or error}"
            found.problems.append(Problem(folder.shown.rstrip("/") or ".", reason))
            continue
        if folder.ignores is not None and any(entry.name == ".gitignore" and _is_file(entry) for entry in inside):
            own = _read_ignores(f"{folder.where}.gitignore", folder.where, found)
            folder = replace(folder, ignores=(*folder.ignores, *own))
        for entry in inside:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if not folder.leaves_out(f"{name}/"):
                    pending.append(folder.below(name))
            elif folder.takes(name) and _is_file(entry) and not folder.leaves_out(name):
                found.files.setdefault(folder.where + name, folder.shown + name)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself
        return False


def _ignores_above(folder: str, found: _Found) -> tuple[_Scope, ...]:
    """The ignore files of the repository that hold in `folder` and stand above it, less what overrules `folder`."""
    parents = [Path(folder), *Path(folder).parents]
    root = next((depth for depth, parent in enumerate(parents) if exists(parent / ".git")), None)
    if root is None:
        return ()
    bases = [_absolute(str(parent), folder=True) for parent in reversed(parents[: root + 1])]
    files = [(f"{bases[0]}.git/info/exclude", bases[0]), *((f"{base}.gitignore", base) for base in bases[:-1])]
    scopes = [scope for file, base in files if is_file(file) for scope in _read_ignores(file, base, found)]
    return tuple(_Scope(scope.base, scope.patterns.without(folder[len(scope.base) :])) for scope in scopes)


def _read_ignores(file: str, base: str, found: _Found) -> Iterator[_Scope]:
    """The patterns of an ignore file, if it has any. Like git, skips lines that are no patterns."""
    try:
        text = content(file).decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        found.problems.append(Problem(reported(os.path.relpath(file)), f"cannot be read: {error.strerror or error}"))
        return
    lines = tuple(line for line in text.replace("\r\n", "\n").split("\n") if line.strip() and not line.startswith("#"))
    if not are_patterns(lines):
        lines = tuple(line for line in lines if are_patterns((line,)))
    if lines:
        yield _Scope(base, Patterns(lines))


def are_patterns(lines: tuple[str, ...]) -> bool:
    """Whether each line can be read as a pattern, and matched in a time that has an end."""
    if any(map(_takes_for_ever, lines)):
        return False
    try:
        Patterns(lines).verdict("any")
    except ValueError:
        return False
    return True


def _takes_for_ever(line: str) -> bool:
    """Whether a line has so many stars that a name could be divided among them in more ways than can be tried."""
    parts = line.split("/")
    return parts.count("**") > _MOST_STARS or any(len(_STARS.findall(part)) > _MOST_STARS for part in parts)


def reported(path: str) -> str:
    """A path as the user gave it, with ``/``, and without ``./`` before it or ``/`` after it."""
    shown = re.sub(r"/{2,}", "/", path.replace(os.sep, "/"))
    while shown.startswith("./") and shown != "./":
        shown = shown[2:]
    return shown.rstrip("/") or "/"


def _absolute(path: str, folder: bool = False) -> str:
    absolute = os.path.abspath(path).replace(os.sep, "/")  # noqa: PTH100 (Path.resolve follows links)
    return absolute.rstrip("/") + "/" if folder else absolute
