"""Baselines: files of findings that are known and left for later, so that only new ones are reported.

An entry names a finding by its file (relative to the folder of the baseline, with ``/``), its code, and the text of the
lines that it covers, in which blanks and line ends do not count. So it survives lines that move and code that is
formatted. Entries that agree in all of this are numbered from the top of the file, and hide as many findings as there
are of them: those with their numbers first.

A baseline is JSON, sorted, and pure ASCII. Nothing in it depends on where in a file a finding is.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.config import ConfigError
from torchdevlint.files import content
from torchdevlint.model import Diagnostic
from torchdevlint.source.text import Lines

VERSION = 1
_KEYS = {"path": str, "code": str, "text": str, "number": int}


class BaselineError(ConfigError):
    """A baseline that cannot be read or written; the message is one line and names the file."""


class Entry(Struct, frozen=True):
    """One finding in a baseline. `reason` is what somebody, or `verify`, says about leaving it."""

    path: str
    code: str
    text: str
    number: int = 1
    reason: str | None = None

    @property
    def kin(self) -> tuple[str, str, str]:
        """What it shares with the entries that only their numbers tell apart."""
        return (self.path, self.code, "".join(self.text.split()))

    @property
    def sort_key(self) -> tuple[str, str, str, int]:
        return (self.path, self.code, self.text, self.number)


class Baseline(Struct, frozen=True):
    """The entries of a file, which need not exist yet."""

    file: Path
    entries: tuple[Entry, ...] = ()


class Match(Struct, frozen=True):
    """A baseline held against all findings of some files.

    `fresh` has the entry that stands for each finding as the files are now, `hidden` the entry of the baseline for
    each finding that has one, `unmatched` the entries that hid nothing, be it that their files were not looked at.
    """

    fresh: Mapping[Diagnostic, Entry]
    hidden: Mapping[Diagnostic, Entry]
    unmatched: tuple[Entry, ...]


def read(file: Path, missing_ok: bool = False) -> Baseline:
    """The baseline in a file; an empty one for a file that is not there, if that is to be so. Raises BaselineError."""
    try:
        data = json.loads(content(file).decode("utf-8-sig"))
    except FileNotFoundError as error:
        if missing_ok:
            return Baseline(file)
        raise BaselineError(f"{file}: there is no such baseline; --write-baseline writes one") from error
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{file}: not a baseline, since it is no JSON: {error}") from error
    if not isinstance(data, dict) or "version" not in data:
        raise BaselineError(f"{file}: not a baseline: it has no `version`")
    if data["version"] is True or data["version"] != VERSION:
        raise BaselineError(
            f"{file}: a baseline of version {json.dumps(data['version'])}; this release reads version {VERSION}"
        )
    found = data.get("findings")
    if not isinstance(found, list):
        raise BaselineError(f"{file}: `findings` must be a list")
    return Baseline(file, tuple(_entry(file, number, value) for number, value in enumerate(found, start=1)))


def write(baseline: Baseline) -> None:
    """Write a baseline to its file, which is the same for the same findings. Raises BaselineError."""
    findings = [_to_json(entry) for entry in sorted(baseline.entries, key=lambda entry: entry.sort_key)]
    text = json.dumps({"version": VERSION, "findings": findings}, indent=2)
    try:
        baseline.file.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise BaselineError(f"{baseline.file}: cannot be written: {error.strerror or error}") from error


def apply(diagnostics: Sequence[Diagnostic], baseline: Baseline, lines: Lines) -> list[Diagnostic]:
    """The findings that are not in the baseline. `diagnostics` are all findings of their files, from the top."""
    hidden = match(diagnostics, baseline, lines).hidden
    return [diagnostic for diagnostic in diagnostics if diagnostic not in hidden]


def match(diagnostics: Sequence[Diagnostic], baseline: Baseline, lines: Lines) -> Match:
    """Which entry stands for which finding. `diagnostics` are all findings of their files, from the top."""
    fresh = _numbered(diagnostics, baseline.file.parent, lines)
    left: dict[tuple[str, str, str], dict[int, Entry]] = defaultdict(dict)
    for entry in sorted(baseline.entries, key=lambda entry: entry.sort_key):
        left[entry.kin].setdefault(entry.number, entry)
    hidden: dict[Diagnostic, Entry] = {}
    for diagnostic, entry in fresh.items():
        if entry.number in left[entry.kin]:
            hidden[diagnostic] = left[entry.kin].pop(entry.number)
    for diagnostic, entry in fresh.items():
        if diagnostic not in hidden and left[entry.kin]:
            hidden[diagnostic] = left[entry.kin].pop(min(left[entry.kin]))
    return Match(fresh, hidden, tuple(entry for entries in left.values() for entry in entries.values()))


def added(
    baseline: Baseline, chosen: Mapping[Diagnostic, str | None], diagnostics: Sequence[Diagnostic], lines: Lines
) -> Baseline:
    """The baseline with the `chosen` findings in it, each with its reason or, for None, the one it has there.

    `diagnostics` are all findings of their files, from the top, whether chosen or not. Other entries stay.
    """
    found = match(diagnostics, baseline, lines)
    kept = {entry for diagnostic, entry in found.hidden.items() if diagnostic not in chosen}
    return _with(found, chosen, (*kept, *found.unmatched), baseline.file)


def renewed(baseline: Baseline, found: Match, stale: Iterable[Entry]) -> Baseline:
    """The baseline with all findings of a match in it, without the entries of which the caller knows that they are
    stale. Reasons stay.
    """
    gone = set(stale)
    kept = [entry for entry in found.unmatched if entry not in gone]
    return _with(found, dict.fromkeys(found.fresh), kept, baseline.file)


def relative(filename: str, folder: Path) -> str:
    """The path of a file in the entries of a baseline in `folder`."""
    try:
        return os.path.relpath(filename, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return Path(filename).absolute().as_posix()


def _with(found: Match, chosen: Mapping[Diagnostic, str | None], kept: Iterable[Entry], file: Path) -> Baseline:
    entries = list(kept)
    for diagnostic, reason in chosen.items():
        known = found.hidden.get(diagnostic)
        entries.append(replace(found.fresh[diagnostic], reason=reason or (known.reason if known else None)))
    return Baseline(file, tuple(sorted(entries, key=lambda entry: entry.sort_key)))


def _numbered(diagnostics: Iterable[Diagnostic], folder: Path, lines: Lines) -> dict[Diagnostic, Entry]:
    """The entry for each finding, numbered among its kin."""
    numbers: Counter[tuple[str, str, str]] = Counter()
    entries: dict[Diagnostic, Entry] = {}
    for diagnostic in diagnostics:
        covered = lines(diagnostic.filename, diagnostic.cell)[diagnostic.span.row - 1 : diagnostic.span.end_row]
        entry = Entry(relative(diagnostic.filename, folder), diagnostic.code, " ".join(" ".join(covered).split()))
        numbers[entry.kin] += 1
        entries[diagnostic] = replace(entry, number=numbers[entry.kin])
    return entries


def _entry(file: Path, number: int, value: Any) -> Entry:
    """One entry of the file; `number` is its place in the list, from 1."""
    where = f"{file}: finding {number}"
    if not isinstance(value, dict):
        raise BaselineError(f"{where} must be an object")
    for key in sorted(value.keys() - {*_KEYS, "reason"}):
        raise BaselineError(f"{where} has an unknown key {json.dumps(key)}")
    for key, kind in _KEYS.items():
        if not isinstance(value.get(key), kind) or isinstance(value[key], bool):
            wanted = "a string" if kind is str else "a whole number"
            raise BaselineError(f"{where} needs {wanted} as `{key}`")
    if not isinstance(value.get("reason", ""), str):
        raise BaselineError(f"{where} needs a string as `reason`, or none")
    return Entry(**value)


def _to_json(entry: Entry) -> dict[str, Any]:
    said = {} if entry.reason is None else {"reason": entry.reason}
    return {"path": entry.path, "code": entry.code, "text": entry.text, "number": entry.number, **said}
