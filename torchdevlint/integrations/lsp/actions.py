"""Code actions: the fix of a finding, a comment that silences it, and all safe fixes of a document at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from lsprotocol import types

from torchdevlint.engine import ITS_OWN
from torchdevlint.fix.choice import is_applicable
from torchdevlint.fix.silence import silencing
from torchdevlint.integrations.lsp.document import Linted
from torchdevlint.integrations.lsp.findings import diagnostic
from torchdevlint.integrations.lsp.places import Places, touches
from torchdevlint.model import Applicability, Diagnostic, Fix, Span

FIX_ALL = "source.fixAll.torchdevlint"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)

_ROW_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")

InDocument = Callable[[list[types.TextEdit]], types.WorkspaceEdit]
"""Makes edits of one document an edit as the client takes it."""


def actions(
    linted: Linted, places: Places, where: types.Range, in_document: InDocument, uri: str
) -> Iterator[types.CodeAction]:
    """What can be done about the findings that a range touches, and about all of them.

    That for all of them comes last, and has no edit yet, only the `uri` as its data: see `fix_all`.
    """
    for finding in linted.result.diagnostics:
        if touches(places.range(finding.span), where):
            yield from _for_finding(finding, linted, places, in_document)
    if any(is_applicable(each, linted.settings, unsafe=False) for each in linted.result.diagnostics):
        yield types.CodeAction("torchdevlint: apply all safe fixes", kind=FIX_ALL, data=uri)


def fix_all(linted: Linted, places: Places) -> list[types.TextEdit]:
    """The edits that all safe fixes of a document come to; lines that stay the same are in none of them."""
    from difflib import SequenceMatcher

    old, new = _rows(linted.text), _rows(linted.fixed())
    return [
        types.TextEdit(places.range(Span(first + 1, 1, last + 1, 1)), "".join(new[start:end]))
        for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def is_wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether the client asks for actions of this kind: it names none, or this one, or one that takes it in."""
    return only is None or any(not each or kind == each or kind.startswith(f"{each}.") for each in only)


def _for_finding(
    finding: Diagnostic, linted: Linted, places: Places, in_document: InDocument
) -> Iterator[types.CodeAction]:
    found = [diagnostic(finding, places)]
    fix = finding.fix
    if fix is not None and is_applicable(finding, linted.settings, unsafe=True):
        safe = fix.applicability is Applicability.SAFE
        title = f"{fix.message[:1].upper()}{fix.message[1:]} ({finding.code}{'' if safe else ', unsafe'})"
        edit = in_document(_edits(fix, places))
        yield types.CodeAction(title, types.CodeActionKind.QuickFix, found, is_preferred=safe, edit=edit)
    comment = silencing(finding, linted.text, linted.settings.ignore_noqa) if finding.code not in ITS_OWN else None
    if comment is not None:
        edit = in_document(_edits(comment, places))
        yield types.CodeAction(comment.message, types.CodeActionKind.QuickFix, found, edit=edit)


def _edits(fix: Fix, places: Places) -> list[types.TextEdit]:
    return [types.TextEdit(places.range(edit.span), edit.content) for edit in fix.edits]


def _rows(text: str) -> list[str]:
    """The rows of a text with their line endings, which are those of `Source`."""
    return [row for row in _ROW_END.split(text) if row]
