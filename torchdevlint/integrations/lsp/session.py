"""The open documents of a client: when each is linted, and what the client is told of it.

One thread lints, since the engine keeps what it knows of a project in one place; the event loop answers meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path, uri_scheme
from pygls.workspace import TextDocument

from torchdevlint.discover import SUFFIXES
from torchdevlint.integrations.lsp.document import Linted, lint
from torchdevlint.integrations.lsp.findings import diagnostics
from torchdevlint.integrations.lsp.places import Places
from torchdevlint.source.notebook import NOTEBOOK

STACK = 16 * 1024 * 1024
"""Bytes for the thread that lints: what a main thread has at least, since code may be nested as deeply as there."""

T = TypeVar("T")


class Session:
    """The open documents of one client: what was found in each, and what is still to be linted."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.linted: dict[str, Linted] = {}
        self.pending: dict[str, asyncio.Task[None]] = {}
        self.told: dict[str, tuple[str, ...]] = {}
        threading.stack_size(STACK)
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lint")

    @property
    def encoding(self) -> str:
        """What the client counts characters of a line in."""
        encoding = self.server.workspace.position_encoding or "utf-16"
        return encoding.value if isinstance(encoding, types.PositionEncodingKind) else encoding

    def schedule(self, uris: Iterable[str], pause: float = 0) -> None:
        """Lint documents after a pause, unless they are scheduled again before it is over."""
        for uri in uris:
            self.forget(uri)
            self.pending[uri] = asyncio.create_task(self._publish(uri, pause))

    def schedule_all(self, pause: float = 0) -> None:
        """Lint every open document, since a file or a setting has changed that it may depend on."""
        self.linted.clear()
        self.schedule(list(self.server.workspace.text_documents), pause)

    def forget(self, uri: str) -> None:
        """What was scheduled for a document is not done."""
        if (task := self.pending.pop(uri, None)) is not None:
            task.cancel()

    def close(self, uri: str) -> None:
        self.forget(uri)
        self.linted.pop(uri, None)
        self.told.pop(uri, None)
        self._show(uri, None, [])

    async def current(self, uri: str) -> Linted | None:
        """What is found in a document as it is now; None if it is none of those that are linted."""
        document = self.server.workspace.get_text_document(uri)
        filename = _filename(document, self.server.workspace.root_path)
        if filename is None:
            return None
        known = self.linted.get(uri)
        if known is None or known.text != document.source:
            known = self.linted[uri] = await self.work(lint, filename, document.source)
        return known

    async def work(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function, in the thread that lints."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, function, *arguments)

    async def _publish(self, uri: str, pause: float) -> None:
        try:
            await asyncio.sleep(pause)
            linted = await self.current(uri)
            document = self.server.workspace.get_text_document(uri)
            if linted is not None and linted.text == document.source:
                self._show(uri, document.version, diagnostics(linted, self.encoding))
                self._tell(uri, tuple(problem.message for problem in linted.result.problems))
        except Exception as error:  # noqa: BLE001 (one document must not end the server)
            self._tell(uri, (f"internal error: {type(error).__name__}: {error}",))

    def _show(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _tell(self, uri: str, messages: tuple[str, ...]) -> None:
        """Show what kept a document from being linted, once as long as it stays the same."""
        for message in messages:
            if message not in self.told.get(uri, ()):
                self.server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))
        self.told[uri] = messages

    def places(self, linted: Linted) -> Places:
        return Places(linted.lines, self.encoding)

    def edit_of(self, uri: str) -> Callable[[list[types.TextEdit]], types.WorkspaceEdit]:
        """Makes edits of a document an edit that the client refuses if the document has changed since."""
        workspace = self.server.client_capabilities.workspace
        if workspace is None or workspace.workspace_edit is None or not workspace.workspace_edit.document_changes:
            return lambda edits: types.WorkspaceEdit(changes={uri: edits})
        version = self.server.workspace.get_text_document(uri).version
        document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        return lambda edits: types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])


def _filename(document: TextDocument, root: str | None) -> str | None:
    """The file that a document is linted as, absolute; None for notebooks, cells, old versions, other languages."""
    scheme = uri_scheme(document.uri)
    if scheme == "untitled":
        return str(Path(root or "", "untitled.py").absolute()) if document.language_id == "python" else None
    path = to_fs_path(document.uri)
    if scheme != "file" or path is None or path.endswith(NOTEBOOK):
        return None
    return path if document.language_id == "python" or path.endswith(SUFFIXES) else None
