"""What one client has open: when it is linted, and what the client is told of it without having asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchdevlint.integrations.lsp.actions import AsTheClientTakesIt, Edits
from torchdevlint.integrations.lsp.client import Client
from torchdevlint.integrations.lsp.document import Linted, Page, Shown, lint
from torchdevlint.integrations.lsp.findings import diagnostics
from torchdevlint.integrations.lsp.latest import Latest, StaleError
from torchdevlint.integrations.lsp.preferences import Preferences
from torchdevlint.integrations.lsp.texts import Texts
from torchdevlint.integrations.lsp.worker import Urgency, Worker

T = TypeVar("T")

log = logging.getLogger(__name__)


class Session:
    """The texts that a client has open, what was found in them, and what is still to be linted.

    What is linted as a whole, a document or a notebook, goes by its URI.
    """

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.client = Client()
        self.texts = Texts()
        self.preferences = Preferences()
        self.worker = Worker()
        self.findings: Latest[Linted] = Latest(self._shown, self._lint)
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._changed: dict[str, float] = {}
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._told: dict[str, tuple[str, ...]] = {}

    def schedule(self, units: Iterable[str], pause: float = 0) -> None:
        """Lint after a pause, unless that is asked for again before it is over.

        What the client asks for itself is not linted before it does.
        """
        now = asyncio.get_running_loop().time()
        for unit in units:
            self._changed[unit] = now + pause
            self._forget(unit)
            if unit in self.texts.notebooks or not self.client.pulls:
                self._pending[unit] = asyncio.create_task(self._publish(unit, pause))

    def schedule_all(self, pause: float = 0) -> None:
        """Lint all that is open, since a file or a setting has changed that it may depend on."""
        self.findings.new_round()
        self.schedule(self.texts.units, pause)
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._refreshing = asyncio.create_task(self._refresh(pause))

    async def _refresh(self, pause: float) -> None:
        """Have the client ask anew for what it asks for itself."""
        await asyncio.sleep(pause)
        if self.client.pulls and self.client.refreshes:
            self.server.workspace_diagnostic_refresh(None)
        if self.client.refreshes_hints:
            self.server.workspace_inlay_hint_refresh(None)

    def close(self, unit: str, uris: Iterable[str]) -> None:
        """A document or a notebook with these cells is no longer open."""
        self._forget(unit)
        self.findings.forget(unit)
        self._told.pop(unit, None)
        self._changed.pop(unit, None)
        self.clear(uris)

    def clear(self, uris: Iterable[str]) -> None:
        """Take away what was shown in documents."""
        for uri in uris:
            if self._published.pop(uri, None) is not None:
                self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    async def current(self, uri: str, settled: bool = False) -> tuple[Linted, Page] | None:
        """What is found in what is shown now, and the page that is a document; None if it is none that is linted.

        With `settled` the text has to stay as it is for the pause after a change. Raises StaleError if it changes.
        """
        unit = self.texts.unit(uri)
        shown = self.texts.shown(unit)
        page = None if shown is None else shown.of_uri(uri)
        if shown is None or page is None:
            return None
        if settled:
            await self.settled(unit, shown)
        return await self.findings.of(unit, shown), page

    async def settled(self, unit: str, shown: Shown) -> None:
        """Return when a text has been as it is for the pause after a change. Raises StaleError if it changes."""
        await asyncio.sleep(self._changed.get(unit, 0) - asyncio.get_running_loop().time())
        self.findings.expect(unit, shown)

    def expect(self, uri: str, linted: Linted) -> None:
        """Raises StaleError if what was linted with a document is no longer what is shown."""
        self.findings.expect(self.texts.unit(uri), linted.shown)

    async def work(self, function: Callable[..., T], *arguments: object, urgency: Urgency = Urgency.FINDINGS) -> T:
        """The result of a function, in the thread that lints."""
        return await self.worker.submit(partial(function, *arguments), urgency)

    def _shown(self, unit: str) -> Shown | None:
        return self.texts.shown(unit)

    def _lint(self, shown: Shown) -> asyncio.Future[Linted]:
        return self.worker.submit(partial(lint, shown))

    def _forget(self, unit: str) -> None:
        """What was scheduled is not done."""
        if (task := self._pending.pop(unit, None)) is not None:
            task.cancel()

    async def _publish(self, unit: str, pause: float) -> None:
        try:
            await asyncio.sleep(pause)
            shown = self.texts.shown(unit)
            if shown is None:
                return
            linted = await self.findings.of(unit, shown)
            for page in shown.pages:
                self._show(page, diagnostics(linted, page, self.texts.encoding))
            self.tell(unit, linted)
        except StaleError:
            return  # what is shown now was scheduled as well
        except Exception as error:  # one document must not end the server
            log.exception("linting %s", unit)
            self.say(unit, (f"internal error: {type(error).__name__}: {error}",))

    def _show(self, page: Page, found: list[types.Diagnostic]) -> None:
        """Show what is found in a page; a cell in which it stays the same has it already."""
        if page.cell is not None and self._published.get(page.uri, []) == found:
            return
        self._published[page.uri] = found
        version = self.texts.version(page.uri)
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(page.uri, found, version))

    def tell(self, unit: str, linted: Linted) -> None:
        """Show what kept something from being linted."""
        self.say(unit, tuple(problem.message for problem in linted.result.problems))

    def say(self, about: str, messages: tuple[str, ...]) -> None:
        """Show messages, once as long as they stay the same."""
        for message in messages:
            if message not in self._told.get(about, ()):
                self.server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))
        self._told[about] = messages

    @property
    def workspace_edit(self) -> AsTheClientTakesIt:
        """Makes edits of documents one that the client refuses if a document has changed since."""
        if not self.client.versioned_edits:
            return lambda edits: types.WorkspaceEdit(changes=dict(edits))
        return self._versioned

    def _versioned(self, edits: Edits) -> types.WorkspaceEdit:
        changes = [
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, self.texts.version(uri)), own)
            for uri, own in edits.items()
        ]
        return types.WorkspaceEdit(document_changes=changes)
