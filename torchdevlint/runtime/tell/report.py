"""An account of a program as text and as JSON."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from torchdevlint.model import Span
from torchdevlint.report import lines_of_file
from torchdevlint.report.frame import Mark, frame
from torchdevlint.report.summary import count
from torchdevlint.report.terminal import escape, paint, wrap
from torchdevlint.runtime.record.recorder import OperandStory
from torchdevlint.runtime.record.sites import Site
from torchdevlint.runtime.tell.account import Account, DeviceError, Limitation, Straggler, Sync, Transfer
from torchdevlint.runtime.tell.causes import Cause, cause
from torchdevlint.runtime.tell.verdict import CLEAN, verdict

SHOWN = 10
"""Errors, and lines of each table, that are shown; the JSON form has them all."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class Paper:
    """What text is written on: whether it takes colours, its width in cells (None: nothing is wrapped), and the folder
    to which file names are relative.
    """

    color: bool = False
    width: int | None = None
    folder: str = ""


def text(account: Account, paper: Paper, ended: str = "") -> str:
    """The whole report on a program. `ended` is `verdict.ending` of it. Ends in a newline."""
    lines = [paint(f"torchdevlint run: {_backend(account)}", "strong", paper.color), ""]
    for error in account.errors[:SHOWN]:
        lines += [*error_lines(error, paper), ""]
    if len(account.errors) > SHOWN:
        lines += [
            f"{count(len(account.errors) - SHOWN, 'more device error', 'more device errors')}: see the JSON form.",
            "",
        ]
    lines += _tables(account, paper)
    return "\n".join([*lines, _verdict(account, paper, ended)]) + "\n"


def error_lines(error: DeviceError, paper: Paper) -> Iterator[str]:
    """One device error: the text, the line, its operands, the rule, and what to do."""
    color = paper.color
    reason = cause(error)
    code = f"[{reason.code}] {reason.name}" if reason.code else ""
    heading = f"{error.exception}: {_one_line(error.text)}"
    first = f"device error{code}: "
    wrapped = list(wrap(heading, first, "  ", paper.width))
    yield paint(first, "error", color) + paint(wrapped[0][len(first) :], "strong", color)
    yield from wrapped[1:]
    numbers = [site.line for site in _sites(error)]
    gutter = max(2, len(str(max(numbers, default=0) + 2)))
    margin = " " * gutter
    if error.site is not None:
        yield f"{margin}{paint('--> ', 'line', color)}{_place(error.site, paper)} in {escape(error.site.function)}"
        yield from _frame(error, gutter, paper)
        if error.site.inside is not None:
            yield from _item(
                "through", f"{_place(error.site.inside, paper)} in {error.site.inside.function}", margin, paper
            )
    for operand in error.operands:
        yield from _item("operand", _operand(operand, error, paper), margin, paper)
    if error.where:
        yield from _item("where", error.where, margin, paper)
    if error.count > 1:
        yield from _item("raised", f"{error.count:,} times", margin, paper)
    if reason.code:
        yield from _item("rule", _rule(reason, paper), margin, paper)
    yield from _item("help", reason.fix, margin, paper)


def to_json(account: Account, program: Sequence[str], exit_code: int, status: int) -> dict[str, Any]:
    """The account as JSON: everything, in the order of the text. `status` is the program's own exit code."""
    return {
        "program": list(program),
        "program_exit_code": status,
        "exit_code": exit_code,
        "backend": account.backend or None,
        "simulated": account.simulated,
        "accelerators": account.accelerators,
        "kind": account.kind or None,
        "torch": account.torch or None,
        "processes": account.processes,
        "processes_without_end": account.lost,
        "errors": [_error_json(error) for error in account.errors],
        "handled": [_error_json(error) for error in account.handled],
        "transfers": _plain(account.transfers),
        "syncs": _plain(account.syncs),
        "stragglers": _plain(account.stragglers),
        "limitations": _plain(account.limitations),
        "failures": list(account.failures),
        "used": not account.idle,
        "hidden": [{"command": list(one.command), "reason": one.reason} for one in account.hidden],
    }


def _error_json(error: DeviceError) -> dict[str, Any]:
    reason = cause(error)
    found = reason.diagnostic
    rule = {
        "code": reason.code,
        "name": reason.name,
        "found": found is not None,
        "filename": None if found is None else found.filename,
        "location": None if found is None else {"row": found.span.row, "column": found.span.column},
        "message": None if found is None else found.message,
    }
    return {**_plain(error), "rule": rule if reason.code else None, "fix": reason.fix}


def _plain(value: Any) -> Any:
    """A record as JSON. Places look as those of `check` do: rows and columns from 1, columns in code points."""
    if isinstance(value, Site):
        return _plain_site(value)
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _plain_site(site: Site) -> dict[str, Any]:
    lines = lines_of_file(site.filename)
    span = _span(site, lines) if site.line <= len(lines) else None
    return {
        "filename": site.filename,
        "location": {"row": site.line, "column": 1 if span is None else span.column},
        "end_location": None if span is None else {"row": span.end_row, "column": span.end_column},
        "function": site.function,
        "inside": _plain(site.inside),
    }


def _backend(account: Account) -> str:
    if not account.processes:
        return "no process was seen that imports torch" + (" and is checked" if account.hidden else "")
    number = count(account.accelerators, "accelerator", "accelerators")
    what = f"{number} ({account.kind}, {'simulated' if account.simulated else 'real'})"
    if account.simulated and not account.accelerators:
        what = "a machine without accelerators (simulated)"
    processes = "" if account.processes == 1 else f", {count(account.processes, 'process', 'processes')}"
    return f"{what}, torch {account.torch}{processes}"


def _sites(error: DeviceError) -> Iterator[Site]:
    places = [error.site, *(place for one in error.operands for place in (one.created, one.moved))]
    yield from (place for place in places if isinstance(place, Site))


def _frame(error: DeviceError, gutter: int, paper: Paper) -> list[str]:
    """The line of the error, and those of its operands that are in the same file."""
    assert error.site is not None
    filename = error.site.filename
    lines = lines_of_file(filename)
    if error.site.line > len(lines):
        return []
    marks = {_span(error.site, lines): Mark(_span(error.site, lines), "", "error", primary=True)}
    for operand in error.operands:
        for place, verb in ((operand.created, "made"), (operand.moved, "moved"), (operand.lost, "moved in vain")):
            if isinstance(place, Site) and place.filename == filename and place.line <= len(lines):
                span = _span(place, lines)
                label = f"{_called(operand, error)} is {verb} here"
                label += f" ({operand.how})" if verb == "made" and operand.how else ""
                marks.setdefault(span, Mark(span, escape(label), "line"))
    return frame(lines, list(marks.values()), paper.width, paper.color, gutter)


def _span(site: Site, lines: Sequence[str]) -> Span:
    """The expression, if it is known and on lines that exist, else the line without its indentation."""
    line = lines[site.line - 1]
    if 0 < site.end_line <= len(lines):
        last = lines[site.end_line - 1]
        return Span(site.line, _column(line, site.column), site.end_line, _column(last, site.end_column))
    return Span(site.line, len(line) - len(line.lstrip()) + 1, site.line, len(line.rstrip()) + 1)


def _column(line: str, position: int) -> int:
    """A 1-based column in code points from a 0-based one in bytes."""
    return len(line.encode("utf-8", "surrogatepass")[:position].decode("utf-8", "replace")) + 1


def _called(operand: OperandStory, error: DeviceError) -> str:
    """What the user calls an operand; what torch calls it where that is nothing, or the error's text says so."""
    if not operand.variable:
        return f"`{operand.name}`" + (f" of {error.operation}" if error.operation else "")
    said = operand.name != operand.variable and re.search(rf"\b{re.escape(operand.name)}\b", error.text)
    return f"`{operand.variable}`" + (f" ({operand.name})" if said else "")


def _operand(operand: OperandStory, error: DeviceError, paper: Paper) -> str:
    shape = "x".join(map(str, operand.shape)) or "0-dim"
    parts = [f"{_called(operand, error)} is on {operand.device} ({shape} {operand.dtype})".replace(" )", ")")]
    if isinstance(operand.created, Site):
        by = f" by {operand.how}" if operand.how else ""
        parts.append(f"made{by} at {_place(operand.created, paper)}")
    if isinstance(operand.moved, Site):
        parts.append(f"moved there at {_place(operand.moved, paper)}")
    if isinstance(operand.lost, Site):
        parts.append(f"the result of its move at {_place(operand.lost, paper)} was thrown away")
    if operand.owner:
        parts.append(f"a {operand.owner}")
    return ", ".join(parts)


def _rule(reason: Cause, paper: Paper) -> str:
    name = f"{reason.code} {reason.name}"
    if reason.diagnostic is None and reason.advice:
        return f"{name} is about this, as advice: `torchdevlint check --select {reason.code}` looks for it"
    if reason.diagnostic is None:
        return f"{name} is about this; `torchdevlint check` does not find it here"
    place = Site(reason.diagnostic.filename, reason.diagnostic.span.row, "")
    return f"{name}: `torchdevlint check` finds it at {_place(place, paper)}: {reason.diagnostic.message}"


def _item(title: str, value: str, margin: str, paper: Paper) -> Iterator[str]:
    first = f"{margin} = {title}: "
    wrapped = list(wrap(_one_line(value), first, " " * len(first), paper.width))
    sign, name = paint("=", "line", paper.color), paint(title, "strong", paper.color)
    yield f"{margin} {sign} {name}: {wrapped[0][len(first) :]}"
    yield from wrapped[1:]


def _one_line(value: str) -> str:
    return escape(" ".join(value.split()))


def _place(site: Site, paper: Paper) -> str:
    path = Path(site.filename)
    folder = Path(paper.folder or Path.cwd())
    name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else site.filename
    return escape(f"{name}:{site.line}")


def _tables(account: Account, paper: Paper) -> Iterator[str]:
    if account.transfers:
        total = sum(one.bytes for one in account.transfers)
        number = sum(one.count for one in account.transfers)
        yield f"{count(number, 'transfer', 'transfers')} between devices, {_size(total)}:"
        yield from _rows([_transfer(one, paper) for one in account.transfers])
    if account.syncs:
        number = sum(one.count for one in account.syncs)
        yield f"{count(number, 'wait', 'waits')} for an accelerator that the program does not spell out:"
        yield from _rows([_sync(one, paper) for one in account.syncs])
    if account.stragglers:
        number = len(account.stragglers)
        yield f"{count(number, 'tensor', 'tensors')} that never left the CPU, although the model did:"
        yield from _rows([_straggler(one, paper) for one in account.stragglers])
    if account.handled:
        number = sum(one.count for one in account.handled)
        yield f"{count(number, 'device error', 'device errors')} that did not end the program:"
        yield from _rows([_handled(one, paper) for one in account.handled])
    if account.limitations:
        yield "What could not be done as on an accelerator, so that nothing is known about it:"
        yield from _rows([_limitation(one, paper) for one in account.limitations])
    if account.hidden:
        number = len(account.hidden)
        yield f"{count(number, 'process', 'processes')} that loaded torch and could not be checked:"
        yield from _rows([f"{escape(shlex.join(one.command))}: {one.reason}" for one in account.hidden])
    if account.lost:
        yield f"{count(account.lost, 'process', 'processes')} ended without a full record (killed, or crashed)."
        yield ""


def _verdict(account: Account, paper: Paper, ended: str) -> str:
    said = verdict(account, ended)
    style = "error" if account.failures else "good" if said == CLEAN else None
    return said if style is None else paint(said, style, paper.color)


def _rows(rows: Sequence[str]) -> Iterator[str]:
    yield from (f"  {row}" for row in rows[:SHOWN])
    if len(rows) > SHOWN:
        yield f"  ... and {count(len(rows) - SHOWN, 'more line', 'more lines')}"
    yield ""


def _transfer(one: Transfer, paper: Paper) -> str:
    kind = "" if one.blocking else ", without waiting"
    return f"{_at(one.site, paper)}: {one.count:,} x {one.source} -> {one.target}, {_size(one.bytes)}{kind}"


def _sync(one: Sync, paper: Paper) -> str:
    return f"{_at(one.site, paper)}: {one.count:,} x {escape(one.operation)}"


def _straggler(one: Straggler, paper: Paper) -> str:
    made = f", made at {_place(one.created, paper)}" if one.created is not None else ""
    moved = f" at {_place(one.moved, paper)}" if one.moved is not None else ""
    what = "a module in a Python container" if one.kind == "module" else "x".join(map(str, one.shape)) or "0-dim"
    path = escape(f"{one.module}: {one.path}")
    return f"{path} ({what}){made}; the module was moved to {one.device}{moved}"


def _handled(one: DeviceError, paper: Paper) -> str:
    times = f" ({one.count:,} times)" if one.count > 1 else ""
    return f"{_at(one.site, paper)}: {one.exception}: {_one_line(one.text)}{times}"


def _limitation(one: Limitation, paper: Paper) -> str:
    place = f"{_place(one.site, paper)}: " if one.site is not None else ""
    return f"{place}{_one_line(one.text)}"


def _at(site: Site | None, paper: Paper) -> str:
    return "(no line of the program)" if site is None else _place(site, paper)


def _size(size: int) -> str:
    number = float(size)
    for unit in UNITS:
        if number < 1024 or unit == UNITS[-1]:
            break
        number /= 1024
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
