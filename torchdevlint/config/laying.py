"""How settings are laid over others: those of a file over what it extends, and flags over those of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from torchdevlint.config.settings import Settings
from torchdevlint.patterns import regex

_PATTERNS = frozenset(("include", "exclude", "extend_exclude", "per_file_ignores"))
"""The fields that hold patterns, or pairs that begin with one."""
_SPECIAL, _ESCAPED = regex(r"([\\\\*?\[\]])"), r"\\\1"
_STANDS_IN = {"select": ("extend_select", "ignore"), "fixable": ("unfixable",)}
"""What is not heard any more of the settings below where a field is given: it was said of that one."""
_ADDING = ("ignore", "unfixable")
_EXTENDING = frozenset(("extend_select", "extend_exclude"))
_FILES = ("baseline", "cache_dir")
"""The fields that are paths, relative to the folder of their configuration."""


def laid(settings: Settings, said: Mapping[str, Any], folder: Path) -> Settings:
    """Settings with others laid over them that are `said` in a folder, by a file there or by who stands there.

    `said` holds values by names of fields; under ``verify`` a mapping of the same kind. ``ignore``, ``unfixable`` and
    the fields that begin with ``extend`` add to what is below, all others take its place, tables too; ``select`` stands
    in for ``extend-select`` and ``ignore`` as well, and ``fixable`` for ``unfixable``.
    """
    given = dict(said)
    verify = replace(settings.verify, **given.pop("verify", {}))
    unheard: dict[str, Any] = {name: () for key, names in _STANDS_IN.items() if key in given for name in names}
    below = replace(settings, verify=verify, **unheard)
    added = {name: (*getattr(below, name), *given[name]) for name in _ADDING if name in given}
    return _over(below, {**given, **added}, folder)


def extended(settings: Settings, said: Mapping[str, Any], file: Path) -> Settings:
    """What a configuration file comes to that says `said`, and extends the one that `settings` are of."""
    folder = file.parent
    files = placed({name: getattr(settings, name) for name in _FILES}, settings.root)
    if not _has_anchored(getattr(settings, name) for name in _PATTERNS):
        settings = replace(settings, root=folder, base=None)
    settings = laid(replace(settings, **files), said, folder)
    base = None if settings.patterns_from == folder else settings.patterns_from
    return replace(settings, root=folder, base=base, config_file=file)


def placed(said: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What is `said` in a folder, with paths that mean the same everywhere else."""
    files = {name: said[name] for name in _FILES if said.get(name) is not None}
    return {**said, **{name: str(folder / os.path.expanduser(value)) for name, value in files.items()}}  # noqa: PTH111


def overlay(settings: Settings, **flags: Any) -> Settings:
    """Settings in which each flag that is not None replaces the key of its name; ``extend_*`` flags add to theirs.

    Flags are named like the fields and hold values of their types. Patterns with a folder in them are meant relative
    to the current folder. Where that is not inside of the folder of the settings' own patterns, all patterns become
    relative to the folder that both are in.
    """
    return _over(settings, {name: value for name, value in flags.items() if value is not None}, Path.cwd())


def _over(settings: Settings, given: dict[str, Any], folder: Path) -> Settings:
    """What `overlay` says, of values that are given in a folder."""
    settings = _based_for(settings, given, folder)
    for name in given.keys() & _PATTERNS:
        given[name] = _moved(given[name], folder, settings.patterns_from)
    for name in given.keys() & _EXTENDING:
        given[name] = (*getattr(settings, name), *given[name])
    return replace(settings, **given)


def _based_for(settings: Settings, given: Mapping[str, Any], folder: Path) -> Settings:
    """The settings with a base that patterns relative to a folder can be written from."""
    base = settings.patterns_from
    if not _has_anchored(given[name] for name in given.keys() & _PATTERNS) or folder.is_relative_to(base):
        return settings
    try:
        common = Path(os.path.commonpath([folder, base]))
    except ValueError:  # another drive, where no pattern of the one can fit files of the other
        return settings
    moved: dict[str, Any] = {name: _moved(getattr(settings, name), base, common) for name in _PATTERNS}
    return replace(settings, base=common, **moved)


def _moved(patterns: Iterable[Any], old: Path, new: Path) -> tuple[Any, ...]:
    """Patterns, or pairs of a pattern and codes, that were relative to one folder, relative to another above it."""
    return tuple(
        _rebased(each, old, new) if isinstance(each, str) else (_rebased(each[0], old, new), each[1])
        for each in patterns
    )


def _has_anchored(fields: Iterable[Iterable[Any]]) -> bool:
    return any(_is_anchored(_text(each)) for patterns in fields for each in patterns)


def _text(pattern: Any) -> str:
    return pattern if isinstance(pattern, str) else str(pattern[0])


def _is_anchored(pattern: str) -> bool:
    """Whether it says in which folder it fits, rather than fitting in all of them."""
    return "/" in pattern.removeprefix("!").rstrip("/")


def _rebased(pattern: str, old: Path, new: Path) -> str:
    """A pattern that is relative to `old`, or absolute, relative to `new` instead."""
    if not _is_anchored(pattern):
        return pattern
    negation, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    inside = f"{new.as_posix().rstrip('/')}/"
    if body.startswith(inside):
        return f"{negation}/{body.removeprefix(inside)}"
    here = os.path.relpath(old, new).replace(os.sep, "/")
    body = body.removeprefix("./").lstrip("/")
    return f"{negation}/{body}" if here == "." else f"{negation}/{_SPECIAL.sub(_ESCAPED, here)}/{body}"
