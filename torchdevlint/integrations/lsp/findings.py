"""Findings as the protocol has them."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types
from msgspec.structs import replace
from pygls.uris import from_fs_path

from torchdevlint.files import content
from torchdevlint.integrations.lsp.document import Linted, Page, Shown
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


def diagnostics(linted: Linted, page: Page, encoding: str) -> list[types.Diagnostic]:
    """All findings of a page."""
    return [diagnostic(each, linted.shown, encoding) for each in linted.findings(page)]


def diagnostic(finding: Diagnostic, shown: Shown, encoding: str) -> types.Diagnostic:
    """A finding in one of the pages."""
    return types.Diagnostic(
        range=Places(shown.page(finding.cell).lines, encoding).range(finding.span),
        message="\n".join(sentences(replace(finding, cell=None))),
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(finding.url) if finding.url else None,
        source="torchdevlint",
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED else None,
        related_information=list(_related(finding, shown, encoding)) or None,
    )


def _related(finding: Diagnostic, shown: Shown, encoding: str) -> Iterator[types.DiagnosticRelatedInformation]:
    for related in finding.related:
        if related.filename == finding.filename:
            page = shown.page(related.cell)
            uri, places = page.uri, Places(page.lines, encoding)
        else:
            uri, places = from_fs_path(related.filename) or "", _places_of(related, encoding)
        if uri:
            yield types.DiagnosticRelatedInformation(types.Location(uri, places.range(related.span)), related.message)


def _places_of(related: Related, encoding: str) -> Places:
    try:
        return Places(lines_of_bytes(content(related.filename)), encoding)
    except OSError:  # it has gone since it was looked into
        return Places((), encoding)


def page_of_rule(finding: Diagnostic) -> str:
    """The documentation of a finding's rule as Markdown."""
    rule = by_code()[finding.code]
    return rule.page() + (f"\n[{rule.code} on the web]({rule.url})\n" if rule.url else "")
