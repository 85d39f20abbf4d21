"""Findings that a client asks for.

A result is named by what it says, so that the same one has the same name however often it is worked out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from torchdevlint.integrations.lsp.findings import diagnostics
from torchdevlint.integrations.lsp.latest import StaleError
from torchdevlint.integrations.lsp.session import Session

Report = types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport


def register(server: LanguageServer, session: Session) -> None:
    """Have the server answer what a client that pulls asks about documents."""
    options = types.DiagnosticOptions(True, workspace_diagnostics=True, identifier="torchdevlint")

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def pull(params: types.DocumentDiagnosticParams) -> Report:
        """The findings of a document that does not change any more.

        Those of cells are sent: a change of one may change what is found in each, and editors ask for the one only.
        """
        uri, unit = params.text_document.uri, session.texts.unit(params.text_document.uri)
        try:
            current = await session.current(uri, settled=True) if unit == uri else None
        except StaleError as error:
            raise _again() from error
        if current is None:
            return types.RelatedFullDocumentDiagnosticReport([])
        linted, page = current
        session.tell(unit, linted)
        found = diagnostics(linted, page, session.texts.encoding)
        name = result_id(found)
        if name == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(name)
        return types.RelatedFullDocumentDiagnosticReport(found, result_id=name)


def result_id(found: Sequence[types.Diagnostic]) -> str:
    """A name of a result that says this."""
    return hashlib.blake2b(repr(found).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _again() -> JsonRpcException:
    """What a client is told that asked about a text which has changed since: to ask again."""
    data = types.DiagnosticServerCancellationData(retrigger_request=True)
    return JsonRpcException("the document has changed", types.LSPErrorCodes.ServerCancelled.value, data)
