"""Findings of all that a client has open, and of the other files of its workspace where it wants them, when it asks.

Editors ask again and again. What was found in a file that is not open holds until a file or a setting changes.
"""

from __future__ import annotations

import asyncio
import os

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from torchdevlint.config import ConfigError, Configuration
from torchdevlint.discover import discover
from torchdevlint.files import content
from torchdevlint.integrations.lsp.document import Page, Shown, lint
from torchdevlint.integrations.lsp.findings import diagnostics
from torchdevlint.integrations.lsp.latest import StaleError
from torchdevlint.integrations.lsp.pulled import result_id
from torchdevlint.integrations.lsp.session import Session
from torchdevlint.integrations.lsp.worker import Urgency
from torchdevlint.source.notebook import NOTEBOOK
from torchdevlint.source.text import UndecodableError, decode

Found = list[types.Diagnostic]
Report = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport
_ABOUT = "workspace"


def register(server: LanguageServer, session: Session) -> None:
    """Have the server answer what a client asks about all of its workspace."""
    closed = _Closed(session)

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def pull(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        """The findings of each document that is open, and with the mode `workspace` of each file that is not.

        A document that changes meanwhile is left out, and so are notebooks, whose findings are sent. What the client
        has findings of that there are no more is emptied.
        """
        found: dict[str, Found] = {}
        for uri in session.texts.units:
            try:
                current = None if uri in session.texts.notebooks else await session.current(uri, settled=True)
            except StaleError:
                continue
            if current is not None:
                found[uri] = diagnostics(*current, session.texts.encoding)
        if session.preferences.diagnostic_mode == "workspace":
            found = {**await closed.found(), **found}
        known = {each.uri: each.value for each in params.previous_result_ids}
        for uri in known:
            if uri not in session.texts.texts:
                found.setdefault(uri, [])
        reports = (_report(uri, found[uri], known.get(uri), session.texts.version(uri)) for uri in sorted(found))
        return types.WorkspaceDiagnosticReport(list(reports))


class _Closed:
    """What was found in the files of the workspace that are not open."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._round = -1
        self._files: tuple[str, ...] = ()
        self._found: dict[str, Found] = {}
        self._asking = asyncio.Lock()

    async def found(self) -> dict[str, Found]:
        """The findings by the URIs of the files. Open documents are worked on first, whenever one needs to be."""
        async with self._asking:
            return await self._of_round()

    async def _of_round(self) -> dict[str, Found]:
        session, found = self._session, self._found
        if self._round != session.findings.round:
            self._round, found = session.findings.round, {}
            self._found = found
            self._files, problem = await session.work(_files, urgency=Urgency.WORKSPACE)
            session.say(_ABOUT, (problem,) if problem else ())
        shown = {to_fs_path(uri) for uri in session.texts.texts}
        files = [each for each in self._files if each not in shown]
        for file in files:
            if file not in found:
                found[file] = await session.work(_of_file, file, session.texts.encoding, urgency=Urgency.WORKSPACE)
        return {from_fs_path(file) or "": found[file] for file in files}


def _files() -> tuple[tuple[str, ...], str]:
    """The files of the workspace, which the current folder is, as `check` takes them; and what kept it from that."""
    try:
        found = discover(["."], Configuration())
    except ConfigError as error:
        return (), f"torchdevlint: {error}"
    return tuple(os.path.abspath(file) for file in found.files if not file.endswith(NOTEBOOK)), ""  # noqa: PTH100


def _of_file(filename: str, encoding: str) -> Found:
    try:
        page = Page(from_fs_path(filename) or "", decode(content(filename)))
    except (OSError, UndecodableError):
        return []
    return diagnostics(lint(Shown(filename, (page,)), believing=False), page, encoding)


def _report(uri: str, found: Found, known: str | None, version: int | None) -> Report:
    name = result_id(found)
    if name == known:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri, name, version=version)
    return types.WorkspaceFullDocumentDiagnosticReport(uri, found, result_id=name, version=version)
