"""An answer as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from torchdevlint import report, rules
from torchdevlint.explain.answer import Answer
from torchdevlint.explain.pasted import Pasted
from torchdevlint.explain.ranking import Likely
from torchdevlint.model import Belief, Diagnostic, FileResult, Note, Span, run_of
from torchdevlint.report import Look, lines_of_file
from torchdevlint.report.frame import Mark, frame
from torchdevlint.report.json import to_dict
from torchdevlint.report.terminal import escape, one_line, paint, wrap
from torchdevlint.symptoms import Recognised

RULES = 5
"""Rules that are named where none has found anything."""


def text(answer: Answer, color: bool, width: int | None) -> str:
    """The answer for people. Ends in a newline."""
    lines = list(_lines(answer, color, width))
    if answer.findings:
        lines += ["", paint("`torchdevlint check` finds this there:", "strong", color), ""]
    found = report.render("full", run_of([FileResult("", answer.findings)]), Look(color, width, quiet=True))
    return "\n".join(lines) + "\n" + found.removesuffix("\n")


def _lines(answer: Answer, color: bool, width: int | None) -> Iterator[str]:
    error, place = answer.error, answer.place
    first, *rest = wrap(one_line(error.said), "", "  ", width)
    yield from (paint(line, "strong", color) for line in (first, *rest))
    span = answer.span
    gutter = max(2, len(str((span.row if span is not None else 0) + 2)))
    margin = " " * gutter
    if place is not None:
        yield f"{margin}{paint('--> ', 'line', color)}{escape(_where(answer))}"
    if place is not None and place.located is not None and span is not None:
        mark = Mark(span, "", "error", primary=True)
        yield from frame(lines_of_file(place.located.filename), [mark], width, color, gutter)
    elif place is not None and place.frame.code:
        yield f"{margin} {paint('|', 'line', color)}     {escape(place.frame.code)}"
    yield f"{margin} {paint('|', 'line', color)}"
    for title, said in _items(answer):
        head = f"{margin} = {title}: "
        painted = f"{margin} {paint('=', 'line', color)} {paint(title, 'strong', color)}: "
        first, *rest = wrap(one_line(said), head, " " * len(head), width)
        yield painted + first[len(head) :]
        yield from rest


def _where(answer: Answer) -> str:
    assert answer.place is not None
    shown, located = answer.place.frame, answer.place.located
    function = f" in {shown.function}" if shown.function and shown.function != "<module>" else ""
    if located is None or located.row is None:
        return f"{shown.place}{function}"
    column = answer.span.column if answer.span is not None else 1
    return f"{located.filename}:{located.row}:{column}{function}"


def _items(answer: Answer) -> Iterator[tuple[str, str]]:
    """What is said of an error, with its titles."""
    symptom, place = answer.recognised.symptom, answer.place
    said = told(answer.recognised)
    yield "meaning", symptom.meaning + (f" {said}" if said else "")
    if place is None:
        yield (
            "note",
            "no line of your own code is in this traceback" if answer.error.frames else "there is no traceback",
        )
    elif place.located is None and place.frame.cell is None:
        yield "note", f"{place.frame.path} is not here; `--root` says where the sources are"
    elif place.located is not None and place.located.remark:
        yield "note", place.located.remark
    for operand in answer.operands:
        yield "operand", _operand(operand)
    if not answer.findings:
        yield from _rules(answer)
        yield "help", symptom.help
    for finding in answer.nearby:
        yield "see also", f"{finding.filename}:{finding.span.row}: {finding.code} {finding.message}"
    for other in answer.others:
        yield "also there", f"{other.said} (line {other.row} of the text)"
    yield "page", symptom.url


def _rules(answer: Answer) -> Iterator[tuple[str, str]]:
    if not answer.likely:
        return
    first, *further = answer.likely[:RULES]
    yield ("rule" if answer.recognised.symptom.sure else "likely"), _rule(first)
    if further:
        yield "or else", ", ".join(f"{one.code} {rules.by_code()[one.code].name}" for one in further)


def _rule(one: Likely) -> str:
    rule = rules.by_code()[one.code]
    since = f" ({one.why})" if one.why else ""
    return f"{rule.code} {rule.name}{since}: {rule.summary}"


def told(recognised: Recognised) -> str:
    """What the text of an error says of the case, as a sentence; nothing if it names no devices."""
    operand = f"`{recognised.argument}`" if recognised.argument else "One operand"
    operation = f" in `{recognised.operation}`" if recognised.operation else ""
    if recognised.device and recognised.other:
        return f"{operand} is on {recognised.device}, where {recognised.other} is wanted{operation}."
    return f"It is about {operand}{operation}." if recognised.argument else ""


def _operand(one: Belief) -> str:
    notes = "; ".join(map(_note, one.notes))
    if one.alternatives:
        ways = "; ".join(f"{each.description} {each.when}".strip() for each in one.alternatives)
        return f"`{one.text}` is {ways}"
    if one.unknown_because is not None and one.device is None:
        return f"`{one.text}`: {one.description}: {_note(one.unknown_because)}"
    return f"`{one.text}` is {one.description}" + (f": {notes}" if notes else "")


def _note(note: Note) -> str:
    return f"{note.message} ({note.span.file + ' ' if note.span.file else ''}line {note.span.row})"


def refused(error: Pasted | None) -> str:
    """One line for a text that holds no device error."""
    if error is None:
        return "no error was found in this text: neither a traceback nor a text of PyTorch's\n"
    said = one_line(error.said)
    if error.recognised is None:
        return f"no device error: torchdevlint knows nothing of `{said}`\n"
    symptom = error.recognised.symptom
    return f"no device error: `{said}`. {symptom.meaning} Try: {symptom.help}. {symptom.url}\n"


def to_json(answer: Answer) -> str:
    symptom, place = answer.recognised.symptom, answer.place
    found = {
        "error": _error(answer.error),
        "symptom": symptom.name,
        "meaning": symptom.meaning,
        "help": symptom.help,
        "url": symptom.url,
        "said": {name: getattr(answer.recognised, name) for name in ("argument", "device", "other", "operation")},
        "frames": [
            {
                "path": one.path,
                "row": one.row,
                "cell": one.cell,
                "function": one.function,
                "code": one.code,
                "user": one.is_users,
            }
            for one in answer.error.frames
        ],
        "place": None
        if place is None
        else {
            "path": place.frame.path,
            "row": place.frame.row,
            "cell": place.frame.cell,
            "function": place.frame.function,
            "code": place.frame.code,
            "filename": place.located.filename if place.located is not None else None,
            "location": _location(answer.span),
            "remark": place.located.remark if place.located is not None else "",
        },
        "operands": [_belief(one) for one in answer.operands],
        "findings": [to_dict(one) for one in answer.findings],
        "nearby": [_finding(one) for one in answer.nearby],
        "rules": [
            {
                "code": one.code,
                "name": rules.by_code()[one.code].name,
                "why": one.why,
                "url": rules.by_code()[one.code].url,
            }
            for one in answer.likely
        ],
        "others": [_error(one) for one in answer.others],
    }
    return json.dumps(found, indent=2) + "\n"


def refused_json(error: Pasted | None) -> str:
    known = error.recognised.symptom if error is not None and error.recognised is not None else None
    found: dict[str, Any] = {
        "error": None if error is None else _error(error),
        "symptom": None if known is None else known.name,
        "meaning": None if known is None else known.meaning,
        "help": None if known is None else known.help,
        "url": None if known is None else known.url,
        "rules": [],
    }
    return json.dumps(found, indent=2) + "\n"


def _error(error: Pasted) -> dict[str, Any]:
    return {"exception": error.exception, "text": error.text, "row": error.row}


def _finding(one: Diagnostic) -> dict[str, Any]:
    return {"code": one.code, "filename": one.filename, "row": one.span.row, "message": one.message}


def _location(span: Span | None) -> dict[str, int] | None:
    return None if span is None else {"row": span.row, "column": span.column, "end_column": span.end_column}


def _belief(one: Belief) -> dict[str, Any]:
    return {
        "text": one.text,
        "kind": one.kind,
        "description": one.description,
        "device": one.device,
        "location": _location(one.span),
        "notes": [
            {"message": note.message, "row": note.span.row, "filename": note.span.file or None} for note in one.notes
        ],
        "unknown_because": one.unknown_because.message if one.unknown_because is not None else None,
    }
