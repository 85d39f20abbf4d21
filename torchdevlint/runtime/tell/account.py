"""The records of all processes of a program, merged: what `torchdevlint run` and the pytest plugin report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchdevlint.runtime.record.recorder import OperandStory
from torchdevlint.runtime.record.sites import Site, from_json
from torchdevlint.runtime.tell.naming import named, thrown_away

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeviceError:
    """A device error. `uncaught` if nobody handled it; `where` says in which thread, process or test, if not in the
    main program; `count` how often it was raised.
    """

    exception: str
    text: str
    operation: str
    site: Site | None
    operands: tuple[OperandStory, ...]
    uncaught: bool
    where: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Transfer:
    """All copies from `source` to `target` by one line; `blocking` of them made the program wait."""

    site: Site | None
    source: str
    target: str
    count: int
    bytes: int
    blocking: int


@dataclass(frozen=True, slots=True)
class Sync:
    """How often one line waited for an accelerator in `operation`, without saying so."""

    site: Site | None
    operation: str
    count: int


@dataclass(frozen=True, slots=True)
class Straggler:
    """A tensor, or a module by its first tensor, that a `module` held at `path` and that stayed on the CPU."""

    module: str
    path: str
    kind: str
    shape: tuple[int, ...]
    device: str
    created: Site | None
    moved: Site | None


@dataclass(frozen=True, slots=True)
class Limitation:
    """What the backend could not do, and the line that needed it first."""

    text: str
    site: Site | None


@dataclass(frozen=True, slots=True)
class Hidden:
    """A process that has loaded torch and was not checked, by its command line, and why, in words for the user."""

    command: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Account:
    """What a program did. `processes` are those that imported torch; `lost` of them ended without a full record."""

    backend: str = ""
    accelerators: int = 0
    kind: str = ""
    torch: str = ""
    processes: int = 0
    lost: int = 0
    errors: tuple[DeviceError, ...] = ()
    handled: tuple[DeviceError, ...] = ()
    raised: int = 0
    transfers: tuple[Transfer, ...] = ()
    syncs: tuple[Sync, ...] = ()
    stragglers: tuple[Straggler, ...] = ()
    limitations: tuple[Limitation, ...] = ()
    visited: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """The lines that were asked for and executed, by the real path of their file."""
    failures: tuple[str, ...] = field(default=())
    """Processes in which the backend could not be started."""
    hidden: tuple[Hidden, ...] = ()
    idle: bool = False
    """It is known that no process ever had a tensor on an accelerator."""

    @property
    def simulated(self) -> bool:
        return self.backend == "simulated"


def read(folder: Path) -> list[dict[str, Any]]:
    """All records of a folder, the oldest process first; a file that is broken is left out."""
    records = []
    for file in sorted(folder.glob("*.json")):
        try:
            record = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return sorted(records, key=lambda record: (record["started"], record["pid"]))


def merge(records: Sequence[Row], status: int = 0) -> Account:
    """One account of several processes. Equal rows are added up.

    If the program failed (`status`) and nobody saw why, the last device error that it caught is taken for the reason;
    not so of tests, where it is known which errors failed one.
    """
    account = _merged(records)
    if any(record["tests"] for record in records) or not status or account.errors or not account.handled:
        return account
    *others, last = account.handled
    told = replace(last, uncaught=True, where=f"caught by the program, which then ended with exit code {status}")
    return replace(account, errors=(told,), handled=tuple(others))


def _merged(records: Sequence[Row]) -> Account:
    if not records:
        return Account()
    endings = [str(record["ending"]) for record in records if record["ending"]]
    errors = [error for record in records for error in _errors(record, endings)]
    errors = [error for error in errors if not any(_tells(error.text, other) for other in errors if other is not error)]
    top = {_key(error) for error in errors if error.uncaught}
    return Account(
        backend=records[0]["backend"],
        accelerators=max(record["accelerators"] for record in records),
        kind=records[0]["kind"],
        torch=next((record["torch"] for record in records if record["torch"]), ""),
        processes=len(records),
        lost=sum(not record["final"] for record in records),
        errors=_joined(error for error in errors if _key(error) in top),
        handled=_joined(error for error in errors if _key(error) not in top),
        idle=all(record["used"] is False and record["final"] for record in records),
        raised=sum(record["raised"] for record in records),
        transfers=_transfers(records),
        syncs=_syncs(records),
        stragglers=_stragglers(records),
        limitations=_limitations(records),
        visited=_visited(records),
        failures=tuple(sorted({ending for ending in endings if ending.startswith("the backend failed:")})),
    )


def error_of(story: Row) -> DeviceError:
    """A device error from what the recorder wrote."""
    site = from_json(story["site"])
    return DeviceError(
        exception=story["exception"],
        text=story["text"],
        operation=story["operation"],
        site=site,
        operands=named([_operand(row) for row in story["operands"]], site),
        uncaught=story["status"] == "uncaught",
        where=story["where"],
        count=story["count"],
    )


def order(site: Site | None) -> tuple[str, int]:
    return ("", 0) if site is None else (site.filename, site.line)


def _operand(row: Row) -> OperandStory:
    places = {name: from_json(row[name]) for name in ("created", "moved", "lost")}
    if places["lost"] is not None and not thrown_away(places["lost"]):
        places["lost"] = None
    return OperandStory(**{**row, "shape": tuple(row["shape"]), **places})


def _errors(record: Row, endings: Sequence[str]) -> Iterable[DeviceError]:
    """The errors of one process. One that ended another process was not handled, even if this one caught it: workers of
    a loader and of ``torch.multiprocessing.spawn`` send their errors to the parent as text.
    """
    rank = f"rank {record['rank']}" if record["rank"] is not None else ""
    for story in record["errors"]:
        error = error_of(story)
        sent = not error.uncaught and any(_tells(ending, error) for ending in endings if ending != record["ending"])
        yield replace(error, uncaught=error.uncaught or sent, where=", ".join(filter(None, (rank, error.where))))


def _tells(ending: str, error: DeviceError) -> bool:
    """Whether the text that ended a process holds the traceback of this error."""
    if error.site is None:
        return False
    return error.text in ending and f'"{error.site.filename}", line {error.site.line},' in ending


def _key(error: DeviceError) -> tuple[Any, ...]:
    """By the line: of what is known of an error from a text alone, no more is known of its place."""
    return order(error.site), error.exception, error.text


def _joined(errors: Iterable[DeviceError]) -> tuple[DeviceError, ...]:
    """Equal errors of several processes as one, in the order in which they came first."""
    rows: dict[tuple[Any, ...], list[DeviceError]] = {}
    for error in errors:
        rows.setdefault(_key(error), []).append(error)
    joined = []
    for same in rows.values():
        best = max(same, key=lambda error: (len(error.operands), error.site is not None and error.site.end_line))
        where = "; ".join(dict.fromkeys(error.where for error in same if error.where))
        uncaught, times = any(error.uncaught for error in same), sum(error.count for error in same)
        joined.append(replace(best, where=where, uncaught=uncaught, count=times))
    return tuple(joined)


def _transfers(records: Sequence[Row]) -> tuple[Transfer, ...]:
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row in _rows(records, "transfers"):
        total = rows.setdefault((from_json(row["site"]), row["source"], row["target"]), [0, 0, 0])
        for index, name in enumerate(("count", "bytes", "blocking")):
            total[index] += row[name]
    found = [Transfer(*key, *total) for key, total in rows.items()]
    return tuple(sorted(found, key=lambda one: (-one.bytes, order(one.site), one.source, one.target)))


def _syncs(records: Sequence[Row]) -> tuple[Sync, ...]:
    rows: dict[tuple[Any, ...], int] = {}
    for row in _rows(records, "syncs"):
        key = (from_json(row["site"]), row["operation"])
        rows[key] = rows.get(key, 0) + row["count"]
    found = [Sync(site, operation, count) for (site, operation), count in rows.items()]
    return tuple(sorted(found, key=lambda one: (-one.count, order(one.site), one.operation)))


def _stragglers(records: Sequence[Row]) -> tuple[Straggler, ...]:
    found = {
        Straggler(
            **{
                **row,
                "shape": tuple(row["shape"]),
                "created": from_json(row["created"]),
                "moved": from_json(row["moved"]),
            }
        )
        for row in _rows(records, "stragglers")
    }
    return tuple(sorted(found, key=lambda one: (one.module, one.path, order(one.created), order(one.moved), one.shape)))


def _visited(records: Sequence[Row]) -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for record in records:
        for path, rows in record["visited"].items():
            found[path] = found.get(path, frozenset()) | frozenset(rows)
    return found


def _limitations(records: Sequence[Row]) -> tuple[Limitation, ...]:
    found: dict[str, Limitation] = {}
    for row in _rows(records, "limitations"):
        found.setdefault(row["text"], Limitation(row["text"], from_json(row["site"])))
    return tuple(found[text] for text in sorted(found))


def _rows(records: Sequence[Row], name: str) -> Iterable[Row]:
    return (row for record in records for row in record[name])
