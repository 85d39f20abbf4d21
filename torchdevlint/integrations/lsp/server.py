"""The server: what it does with what a client tells it, and what it answers to what a client asks."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress

from lsprotocol import types
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer

from torchdevlint import __version__
from torchdevlint.integrations.lsp import beliefs, fixes, pulled, settings, workspace
from torchdevlint.integrations.lsp.client import client_of
from torchdevlint.integrations.lsp.session import Session
from torchdevlint.integrations.lsp.texts import Texts

PAUSE = 0.3
"""Seconds without a change after which a document is linted."""
OURS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)
"""What pygls would do something about itself: see `texts`."""

log = logging.getLogger(__name__)


class Server(LanguageServer):
    """A server that writes its own errors into its log, since what is asked is answered with the error anyway."""

    def report_server_error(self, error: Exception, source: type[PyglsError | JsonRpcException]) -> None:
        log.warning("%s: %s: %s", source.__name__, type(error).__name__, error)


def create() -> LanguageServer:
    """A server that is yet to be connected."""
    # All cells, so that they have the numbers here which they have in the file.
    notebooks = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")], save=True)
    server = Server("torchdevlint", __version__, notebook_document_sync=notebooks)
    for name in OURS:
        del server.protocol.fm.builtin_features[name]
    session = Session(server)
    _begin(server, session)
    _keep_texts(server, session)
    _keep_notebooks(server, session)
    fixes.register(server, session)
    beliefs.register(server, session)
    pulled.register(server, session)
    workspace.register(server, session)
    return server


def serve() -> None:
    """Serve one client on standard input and output until it ends the connection.

    Nothing else is written to standard output: whatever is printed goes to standard error.
    """
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        create().start_io(sys.stdin.buffer, out)


def _begin(server: LanguageServer, session: Session) -> None:
    """What is agreed upon before anything is opened, and what is asked for right after."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        encoding = server.workspace.position_encoding or "utf-16"
        name = encoding.value if isinstance(encoding, types.PositionEncodingKind) else encoding
        session.texts = Texts(name, server.workspace.root_path)
        session.client = client_of(params.capabilities)
        settings.at_the_start(session, params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        if (root := server.workspace.root_path) is not None:
            with suppress(OSError):
                os.chdir(root)
        await settings.watch(server, session)
        await settings.ask(server, session)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        await settings.changed(server, session, params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(_: types.DidChangeWatchedFilesParams) -> None:
        session.schedule_all(PAUSE)


def _keep_texts(server: LanguageServer, session: Session) -> None:
    """Documents are linted when they are opened, saved, or have not changed for a moment."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        session.texts.open(params.text_document)
        session.schedule([session.texts.unit(params.text_document.uri)])

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        session.texts.change(params.text_document, params.content_changes)
        session.schedule([session.texts.unit(params.text_document.uri)], PAUSE)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(_: types.DidSaveTextDocumentParams) -> None:
        session.schedule_all()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        unit = session.texts.unit(uri)
        session.texts.close(uri)
        if unit == uri:
            session.close(uri, [uri])
        else:
            session.schedule([unit], PAUSE)


def _keep_notebooks(server: LanguageServer, session: Session) -> None:
    """All cells of a notebook are linted when one would be, or when one comes, goes, moves or is run."""

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        session.texts.open_notebook(params.notebook_document, params.cell_text_documents)
        session.schedule([params.notebook_document.uri])

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        uri, cells = params.notebook_document.uri, params.change.cells
        if cells is not None:
            session.clear(session.texts.change_notebook(uri, cells))
            session.schedule([uri], PAUSE)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(_: types.DidSaveNotebookDocumentParams) -> None:
        session.schedule_all()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        session.close(uri, session.texts.close_notebook(uri))
