"""Findings as the protocol has them."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types
from pygls.uris import from_fs_path

from torchdevlint.files import content
from torchdevlint.integrations.lsp.document import Linted
from torchdevlint.integrations.lsp.places import Places
from torchdevlint.model import Diagnostic, Related, Severity
from torchdevlint.report.lines import lines_of_bytes
from torchdevlint.report.places import sentences
from torchdevlint.rules import by_code
from torchdevlint.suppress import UNUSED

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.ADVICE: types.DiagnosticSeverity.Information,
}


def diagnostics(linted: Linted, encoding: str) -> list[types.Diagnostic]:
    """All findings of a document."""
    places = Places(linted.lines, encoding)
    return [diagnostic(each, places) for each in linted.result.diagnostics]


def diagnostic(finding: Diagnostic, places: Places) -> types.Diagnostic:
    """A finding; the protocol counts its place in the text of `places`."""
    return types.Diagnostic(
        range=places.range(finding.span),
        message="\n".join(sentences(finding)),
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(finding.url) if finding.url else None,
        source="torchdevlint",
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED else None,
        related_information=list(_related(finding, places)) or None,
    )


def _related(finding: Diagnostic, places: Places) -> Iterator[types.DiagnosticRelatedInformation]:
    for related in finding.related:
        there = places if related.filename == finding.filename else _places_of(related, places.encoding)
        uri = from_fs_path(related.filename)
        if uri is not None:
            yield types.DiagnosticRelatedInformation(types.Location(uri, there.range(related.span)), related.message)


def _places_of(related: Related, encoding: str) -> Places:
    try:
        return Places(lines_of_bytes(content(related.filename)), encoding)
    except OSError:  # it has gone since it was looked into
        return Places((), encoding)


def page(finding: Diagnostic) -> str:
    """The documentation of a finding's rule as Markdown."""
    rule = by_code()[finding.code]
    return rule.page() + (f"\n[{rule.code} on the web]({rule.url})\n" if rule.url else "")
