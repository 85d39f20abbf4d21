"""Code actions: the fix of a finding, a comment that silences it, and all safe fixes of a file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lsprotocol import types
from msgspec.structs import replace

from torchdevlint.engine import ITS_OWN
from torchdevlint.fix.choice import is_applicable
from torchdevlint.fix.silence import silencing
from torchdevlint.integrations.lsp.document import Linted, Page
from torchdevlint.integrations.lsp.findings import diagnostic
from torchdevlint.integrations.lsp.places import Places, rows_of, touches
from torchdevlint.model import Diagnostic, Edit, Fix, Span
from torchdevlint.source.notebook import Content, content_of
from torchdevlint.syntax.document import parsed

FIX_ALL = "source.fixAll.torchdevlint"
FIX_NOTEBOOK = f"notebook.{FIX_ALL}"
"""For all cells together. An editor asks for `FIX_ALL` once a cell, and would apply what it is given each time."""
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL, FIX_NOTEBOOK)

Edits = Mapping[str, list[types.TextEdit]]
"""Edits by the URIs of the documents that they are in."""
AsTheClientTakesIt = Callable[[Edits], types.WorkspaceEdit]


def actions(
    linted: Linted, page: Page, where: types.Range, encoding: str, workspace_edit: AsTheClientTakesIt
) -> Iterator[types.CodeAction]:
    """What can be done about the findings that a range of a page touches, and about all of the file.

    That for all of them comes last, and has no edit yet, only a URI as its data: see `fix_all`.
    """
    places = Places(page.lines, encoding)
    for finding in linted.findings(page):
        if touches(places.range(finding.span), where):
            yield from _for_finding(finding, linted, encoding, workspace_edit)
    if any(is_applicable(each, linted.settings, unsafe=False) for each in linted.result.diagnostics):
        title, kind = "torchdevlint: apply all safe fixes", FIX_ALL
        if page.cell is not None:
            title, kind = f"{title} of the notebook", FIX_NOTEBOOK
        yield types.CodeAction(title, kind=kind, data=page.uri)


def fix_all(linted: Linted, encoding: str) -> Edits:
    """The edits that all safe fixes of a file come to; lines that stay the same are in none of them."""
    found = ((page, _differences(page, text, encoding)) for page, text in linted.fixed())
    return {page.uri: edits for page, edits in found if edits}


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether the client asks for actions of this kind: it names none, or this one, or one that takes it in."""
    return only is None or any(not each or kind == each or kind.startswith(f"{each}.") for each in only)


def _for_finding(
    finding: Diagnostic, linted: Linted, encoding: str, workspace_edit: AsTheClientTakesIt
) -> Iterator[types.CodeAction]:
    found = [diagnostic(finding, linted.shown, encoding)]
    fix = finding.fix
    if fix is not None and is_applicable(finding, linted.settings, unsafe=True):
        safe = fix.applicability.value == "safe"
        title = f"{fix.message[:1].upper()}{fix.message[1:]} ({finding.code}{'' if safe else ', unsafe'})"
        edit = workspace_edit(_edits(fix, linted, encoding))
        yield types.CodeAction(title, types.CodeActionKind.QuickFix, found, is_preferred=safe, edit=edit)
    comment = _silencing(finding, linted) if finding.code not in ITS_OWN else None
    if comment is not None:
        edit = workspace_edit(_edits(comment, linted, encoding))
        yield types.CodeAction(comment.message, types.CodeActionKind.QuickFix, found, edit=edit)


def _silencing(finding: Diagnostic, linted: Linted) -> Fix | None:
    """The comment that silences a finding; None where there is none, as in a line of a notebook that is no Python."""
    page, ignore_noqa = linted.shown.page(finding.cell), linted.settings.ignore_noqa
    if page.cell is None:
        return silencing(finding, Content(page.text), ignore_noqa)
    module = parsed(content_of(linted.shown.data, finding.filename)).content
    if module.notebook is None:
        return None
    there = module.notebook.in_module(finding)
    return module.notebook.in_cells(replace(there, fix=silencing(there, module, ignore_noqa))).fix


def _edits(fix: Fix, linted: Linted, encoding: str) -> Edits:
    found: dict[str, list[types.TextEdit]] = {}
    for edit in fix.edits:
        page = linted.shown.page(edit.cell)
        found.setdefault(page.uri, []).append(_edit(edit, page, encoding))
    return found


def _edit(edit: Edit, page: Page, encoding: str) -> types.TextEdit:
    return types.TextEdit(Places(page.lines, encoding).range(edit.span), edit.content)


def _differences(page: Page, text: str, encoding: str) -> list[types.TextEdit]:
    """The edits that make a text of a page, one for each group of rows that are others."""
    from difflib import SequenceMatcher

    old, new = rows_of(page.text), rows_of(text)
    return [
        _edit(Edit("".join(new[start:end]), _rows(first, last, old)), page, encoding)
        for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def _rows(first: int, last: int, rows: Sequence[str]) -> Span:
    """The span of the rows from `first`, counted from 0, to the one before `last`, with their line endings."""
    if last < len(rows):
        return Span(first + 1, 1, last + 1, 1)
    return Span(first + 1, 1, len(rows), len(rows[-1]) + 1)
