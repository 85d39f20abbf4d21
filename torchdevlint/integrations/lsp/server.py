"""The server: what it answers to what a client sends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchdevlint import __version__
from torchdevlint.config import NAMES
from torchdevlint.discover import SUFFIXES
from torchdevlint.integrations.lsp.actions import FIX_ALL, KINDS, actions, fix_all, is_wanted
from torchdevlint.integrations.lsp.findings import page
from torchdevlint.integrations.lsp.places import touches
from torchdevlint.integrations.lsp.session import Session

PAUSE = 0.3
"""Seconds without a change after which a document is linted."""


def create() -> LanguageServer:
    """A server that is yet to be connected."""
    # Whole texts: what is sent as a change would be put together by pygls, which takes a form feed for a new line.
    server = LanguageServer("torchdevlint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = Session(server)
    _lint_when_told(server, session)
    _answer(server, session)
    return server


def serve() -> None:
    """Serve one client on standard input and output until it ends the connection.

    Nothing else is written to standard output: whatever is printed goes to standard error.
    """
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        create().start_io(sys.stdin.buffer, out)


def _lint_when_told(server: LanguageServer, session: Session) -> None:
    """Documents are linted when they are opened, saved, or have not changed for a moment."""

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        if (root := server.workspace.root_path) is not None:
            with suppress(OSError):
                os.chdir(root)
        await _watch(server)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        session.schedule([params.text_document.uri])

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        session.schedule([params.text_document.uri], PAUSE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_: types.DidSaveTextDocumentParams) -> None:
        session.schedule_all()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(_: types.DidChangeWatchedFilesParams) -> None:
        session.schedule_all(PAUSE)


def _answer(server: LanguageServer, session: Session) -> None:
    """What can be done about a finding, and what is to be read about it."""
    options = types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        linted = await session.current(uri)
        if linted is None:
            return []
        found = actions(linted, session.places(linted), params.range, session.edit_of(uri), uri)
        wanted = [each for each in found if is_wanted(each.kind or "", only)]
        if not _resolves(server.client_capabilities):
            return [await resolved(each) for each in wanted]
        return wanted

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolved(action: types.CodeAction) -> types.CodeAction:
        if action.kind == FIX_ALL and action.edit is None:
            uri = str(action.data)
            linted = await session.current(uri)
            if linted is not None:
                action.edit = session.edit_of(uri)(await session.work(fix_all, linted, session.places(linted)))
        return action

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        linted = await session.current(params.text_document.uri)
        if linted is None:
            return None
        places, here = session.places(linted), types.Range(params.position, params.position)
        found = [each for each in linted.result.diagnostics if touches(places.range(each.span), here)]
        if not found:
            return None
        pages = dict.fromkeys(map(page, found))
        value = "\n---\n\n".join(pages)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, value), places.range(found[0].span))


async def _watch(server: LanguageServer) -> None:
    """Ask to be told of files that findings in other files depend on: modules and configurations."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace is not None else None
    if watched is None or not watched.dynamic_registration:
        return
    globs = [*(f"**/*{suffix}" for suffix in SUFFIXES), *(f"**/{name}" for name in NAMES)]
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(glob) for glob in globs])
    registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await server.client_register_capability_async(types.RegistrationParams([registration]))


def _resolves(client: types.ClientCapabilities) -> bool:
    """Whether the client asks for the edit of an action when the user has chosen it."""
    document = client.text_document
    support = document.code_action.resolve_support if document and document.code_action else None
    return support is not None and "edit" in support.properties
