"""An editor for tests: the client of pygls, which waits, and a server in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.conftest import ROOT
from torchdevlint.fix.splice import splice
from torchdevlint.model import Applicability, Edit, Fix, Span

T = TypeVar("T")

SEEDED = """
import sys
from torchdevlint.integrations.lsp import session
lint = session.lint
def seeded(shown):
    if 'print' in shown.filename:
        print('not a word of the protocol')
    if 'crash' in shown.filename:
        raise ZeroDivisionError('seeded')
    return lint(shown)
session.lint = seeded
from torchdevlint.cli import main
try:
    main(['server'])
finally:
    with open('loaded.txt', 'w') as file:
        print(*sorted({'torch', 'numpy'} & set(sys.modules)), file=file)
"""
"""The server, but one kind of document crashes it and another one makes it print."""

LOAD = "import torch\n\nstate = torch.load('model.pt')\n"
AMP = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
FIXED_AMP = 'import torch\n\nscaler = torch.amp.GradScaler("cuda")\n'
ADVICE = '[tool.torchdevlint]\nextend-select = ["TDL504"]\n'

PUSHED = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
    ),
    text_document=types.TextDocumentClientCapabilities(
        code_action=types.CodeActionClientCapabilities(resolve_support=types.ClientCodeActionResolveOptions(["edit"]))
    ),
    notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
)
"""A client that shows what it is sent."""
PULLED = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        configuration=True,
        did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    ),
    text_document=types.TextDocumentClientCapabilities(
        diagnostic=types.DiagnosticClientCapabilities(),
        synchronization=types.TextDocumentSyncClientCapabilities(will_save_wait_until=True),
    ),
    notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
)
"""A client that asks for findings and for settings, and takes no edits that name a version."""


class Editor:
    """A client that waits; the server runs in a folder of its own."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.folder, self.loop = folder, loop
        self.client = LanguageClient("test", "1")
        self.shown: dict[str, list[types.PublishDiagnosticsParams]] = defaultdict(list)
        self.messages: list[str] = []
        self.watched: list[str] = []
        self.settings: Any = None
        self.refreshed: list[str] = []
        self.result: types.InitializeResult
        self._listen()

    def _listen(self) -> None:
        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri].append(params)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            for each in params.registrations:
                options: Any = each.register_options
                self.watched += [each["globPattern"] for each in options.get("watchers", ())]

        @self.client.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            assert [each.section for each in params.items] == ["torchdevlint"]
            return [self.settings]

        @self.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(_: Any) -> None:
            self.refreshed.append("diagnostics")

        @self.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def refresh_hints(_: Any) -> None:
            self.refreshed.append("hints")

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 60))

    def until(self, happened: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not happened():
                await asyncio.sleep(0.01)

        self.do(wait())

    def start(self, capabilities: types.ClientCapabilities, options: Any, *encodings: str) -> types.InitializeResult:
        async def run() -> types.InitializeResult:
            await self.client.start_io(
                sys.executable, "-c", SEEDED, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )
            capabilities.general = types.GeneralClientCapabilities(position_encodings=list(encodings))
            params = types.InitializeParams(capabilities, root_uri=self.folder.as_uri(), initialization_options=options)
            result = await self.client.initialize_async(params)
            self.client.initialized(types.InitializedParams())
            return result

        self.result = self.do(run())
        return self.result

    def stop(self) -> int:
        async def run() -> int:
            await self.client.shutdown_async(None)
            self.client.exit(None)
            process: Any = self.client._server
            code: int = await process.wait()
            await self.client.stop()
            return code

        return self.do(run())

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> str:
        """The URI of a document that is open with this text, after its first findings have come."""
        uri = self.uri(name)
        self.send_open(uri, text)
        self.until(lambda: bool(self.shown[uri]))
        return uri

    def send_open(self, uri: str, text: str, language: str = "python") -> None:
        document = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, uri: str, text: str, version: int = 2) -> None:
        document = types.VersionedTextDocumentIdentifier(version, uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def type(self, uri: str, version: int, *typed: tuple[int, int, int, int, str]) -> None:
        """Replace what lies between two places with a text, for each of `typed` after the other."""
        document = types.VersionedTextDocumentIdentifier(version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, _changes(typed)))

    def save(self, uri: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def open_notebook(self, name: str, *cells: str, kinds: str = "") -> str:
        """The URI of a notebook with these cells, whose URIs are this one with ``#1`` and so on.

        Each letter of `kinds` is a cell's: ``m`` for text, ``r`` for code in R.
        """
        uri = name if ":" in name else self.uri(name)
        documents = [cell_document(f"{uri}#{number}", text) for number, text in enumerate(cells, start=1)]
        made = [notebook_cell(each.uri) for each in documents]
        for cell, document, kind in zip(made, documents, kinds, strict=False):
            cell.kind = types.NotebookCellKind.Markup if kind == "m" else types.NotebookCellKind.Code
            document.language_id = {"m": "markdown", "r": "r"}.get(kind, "python")
        notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, made)
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, documents))
        return uri

    def change_notebook(self, uri: str, cells: types.NotebookDocumentCellChanges) -> None:
        document = types.VersionedNotebookDocumentIdentifier(2, uri)
        change = types.NotebookDocumentChangeEvent(cells=cells)
        self.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(document, change))

    def rearrange(self, uri: str, start: int, deleted: int, *new: str, opened: Any = (), closed: Any = ()) -> None:
        """Put other cells in the place of some: URIs, of which those in `opened` come with a text."""
        array = types.NotebookCellArrayChange(start, deleted, [notebook_cell(each) for each in new])
        documents = [cell_document(*each) for each in opened]
        gone = [types.TextDocumentIdentifier(each) for each in closed]
        structure = types.NotebookDocumentCellChangeStructure(array, documents, gone)
        self.change_notebook(uri, types.NotebookDocumentCellChanges(structure))

    def type_in_cell(self, uri: str, cell: str, version: int, *typed: tuple[int, int, int, int, str]) -> None:
        """As `type` does, in a cell of a notebook."""
        document = types.VersionedTextDocumentIdentifier(version, cell)
        content = types.NotebookDocumentCellContentChanges(document, _changes(typed))
        self.change_notebook(uri, types.NotebookDocumentCellChanges(text_content=[content]))

    def found(self, uri: str) -> list[types.Diagnostic]:
        return list(self.shown[uri][-1].diagnostics)

    def codes(self, uri: str) -> list[Any]:
        return [each.code for each in self.found(uri)] if self.shown[uri] else ["nothing yet"]

    def actions(self, uri: str, line: int, only: list[str] | None = None) -> dict[str, types.CodeAction]:
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            types.Range(types.Position(line, 0), types.Position(line, 80)),
            types.CodeActionContext([], only=only),
        )
        found: Any = self.do(self.client.text_document_code_action_async(params)) or []
        return {each.title: each for each in found}

    def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        return self.do(self.client.text_document_hover_async(place))

    def pull(self, uri: str, known: str | None = None) -> Any:
        """What the server answers when it is asked for the findings of a document."""
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=known)
        return self.do(self.client.text_document_diagnostic_async(params))

    def alive(self) -> bool:
        """Whether the server still finds what there is to find."""
        uri = self.uri(f"alive{time.monotonic_ns()}.py")
        self.send_open(uri, LOAD)
        document = self.result.capabilities.diagnostic_provider is not None and self.pull(uri)
        codes = [each.code for each in document.items] if document and document.items else None
        if codes is None:
            self.until(lambda: bool(self.shown[uri]))
            codes = self.codes(uri)
        return codes == ["TDL201"]


@contextmanager
def running(
    folder: Path, capabilities: types.ClientCapabilities = PUSHED, options: Any = None, encodings: Sequence[str] = ()
) -> Iterator[Editor]:
    """An editor with a server, which ends well and has loaded neither torch nor numpy."""
    loop = asyncio.new_event_loop()
    one = Editor(folder, loop)
    one.start(capabilities, options, *encodings)
    yield one
    assert one.stop() == 0
    assert (folder / "loaded.txt").read_text() == "\n", "neither torch nor numpy"
    loop.close()


def cell_document(uri: str, text: str, language: str = "python") -> types.TextDocumentItem:
    return types.TextDocumentItem(uri, language, 1, text)


def notebook_cell(uri: str) -> types.NotebookCell:
    return types.NotebookCell(types.NotebookCellKind.Code, uri)


def _changes(typed: Sequence[tuple[int, int, int, int, str]]) -> list[types.TextDocumentContentChangeEvent]:
    return [
        types.TextDocumentContentChangePartial(types.Range(types.Position(*at), types.Position(*to)), text)
        for *places, text in typed
        for at, to in [(places[:2], places[2:])]
    ]


def edited(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """`text` after an edit of this document."""
    return applied(text, edits_of(edit)[uri])


def edits_of(edit: types.WorkspaceEdit | None) -> dict[str, list[types.TextEdit]]:
    """The edits of each document."""
    assert edit is not None
    if edit.changes is not None:
        return {uri: list(edits) for uri, edits in edit.changes.items()}
    found = {}
    for change in edit.document_changes or ():
        assert isinstance(change, types.TextDocumentEdit)
        found[change.text_document.uri] = [each for each in change.edits if isinstance(each, types.TextEdit)]
    return found


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """`text` after edits, whose positions count UTF-16 units."""
    rows = text.split("\n")

    def column(position: types.Position) -> int:
        return len(rows[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le")) + 1

    own = tuple(
        Edit(
            each.new_text,
            Span(each.range.start.line + 1, column(each.range.start), each.range.end.line + 1, column(each.range.end)),
        )
        for each in edits
    )
    return splice(text, [Fix(Applicability.SAFE, "", own)])[0]
