"""The language server, spoken to over standard input and output by the client of pygls."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.conftest import ROOT, python
from torchdevlint.cli import COMMANDS
from torchdevlint.fix.splice import splice
from torchdevlint.integrations.lsp.actions import FIX_ALL
from torchdevlint.integrations.lsp.places import Places
from torchdevlint.model import Applicability, Edit, Fix, Span

T = TypeVar("T")

SEEDED = """
import sys
from torchdevlint.integrations.lsp import session
lint = session.lint
def seeded(filename, text):
    if 'print' in filename:
        print('not a word of the protocol')
    if 'crash' in filename:
        raise ZeroDivisionError('seeded')
    return lint(filename, text)
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
ADVICE = '[tool.torchdevlint]\nextend-select = ["TDL504"]\n'


class Editor:
    """A client that waits; the server runs in a folder of its own."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.folder, self.loop = folder, loop
        self.client = LanguageClient("test", "1")
        self.shown: dict[str, list[types.PublishDiagnosticsParams]] = defaultdict(list)
        self.messages: list[str] = []
        self.watched: list[str] = []

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri].append(params)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            options: Any = params.registrations[0].register_options
            self.watched += [each["globPattern"] for each in options["watchers"]]

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 60))

    def until(self, happened: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not happened():
                await asyncio.sleep(0.01)

        self.do(wait())

    def start(self, *encodings: str) -> types.InitializeResult:
        async def run() -> types.InitializeResult:
            await self.client.start_io(
                sys.executable, "-c", SEEDED, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )
            capabilities = types.ClientCapabilities(
                general=types.GeneralClientCapabilities(position_encodings=list(encodings)),
                workspace=types.WorkspaceClientCapabilities(
                    workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                    did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
                ),
                text_document=types.TextDocumentClientCapabilities(
                    code_action=types.CodeActionClientCapabilities(
                        resolve_support=types.ClientCodeActionResolveOptions(["edit"])
                    )
                ),
            )
            params = types.InitializeParams(capabilities, root_uri=self.folder.as_uri())
            result = await self.client.initialize_async(params)
            self.client.initialized(types.InitializedParams())
            return result

        return self.do(run())

    def stop(self) -> int:
        async def run() -> int:
            await self.client.shutdown_async(None)
            self.client.exit(None)
            process: Any = self.client._server
            code: int = await process.wait()
            await self.client.stop()
            return code

        return self.do(run())

    def open(self, name: str, text: str) -> str:
        """The URI of a document that is open with this text, after its first findings have come."""
        uri = (self.folder / name).as_uri()
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

    def save(self, uri: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

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

    def alive(self) -> bool:
        """Whether the server still finds what there is to find."""
        return self.codes(self.open(f"alive{time.monotonic_ns()}.py", LOAD)) == ["TDL201"]


def edited(text: str, edit: types.WorkspaceEdit | None, uri: str) -> str:
    """`text` after an edit of one document, whose positions count UTF-16 units."""
    assert edit is not None
    assert edit.document_changes is not None
    (change,) = edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.uri == uri
    rows = text.split("\n")

    def column(position: types.Position) -> int:
        return len(rows[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le")) + 1

    edits = tuple(
        Edit(
            each.new_text,
            Span(each.range.start.line + 1, column(each.range.start), each.range.end.line + 1, column(each.range.end)),
        )
        for each in change.edits
        if isinstance(each, types.TextEdit)
    )
    return splice(text, [Fix(Applicability.SAFE, "", edits)])[0]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text(ADVICE)
    loop = asyncio.new_event_loop()
    one = Editor(folder, loop)
    result = one.start()
    assert result.capabilities.position_encoding == "utf-16"
    yield one
    assert one.stop() == 0
    assert (folder / "loaded.txt").read_text() == "\n", "neither torch nor numpy"
    loop.close()


def test_a_finding_has_all_that_the_command_line_says(editor: Editor) -> None:
    uri = editor.open("load.py", LOAD)
    (found,) = editor.found(uri)
    assert (found.code, found.source, found.severity) == ("TDL201", "torchdevlint", types.DiagnosticSeverity.Warning)
    assert found.code_description is not None
    assert found.code_description.href.endswith("/TDL201/")
    assert found.range == types.Range(types.Position(2, 8), types.Position(2, 30))
    assert "At run time: " in found.message
    assert "Help: " in found.message
    assert editor.shown[uri][-1].version == 1


def test_related_places_in_this_and_in_other_files(editor: Editor) -> None:
    (editor.folder / "made.py").write_text("import torch\n\n\ndef made():\n    return torch.ones(2)\n")
    (editor.folder / "mixed.py").touch()
    uri = editor.open(
        "mixed.py",
        "import torch\nfrom made import made\n\n\ndef f():\n"
        "    other = torch.ones(2, device='cuda')\n    return made() + other\n",
    )
    (found,) = editor.found(uri)
    assert found.code == "TDL004"
    assert found.related_information
    places = {(each.location.uri, each.location.range.start.line) for each in found.related_information}
    assert places == {(uri, 5), ((editor.folder / "made.py").as_uri(), 4)}


def test_what_is_typed_counts_and_not_what_is_saved(editor: Editor) -> None:
    (editor.folder / "typed.py").write_text(LOAD)
    uri = editor.open("typed.py", "import torch\n")
    assert editor.codes(uri) == []
    for version, text in enumerate(("import torch\ns = torch.lo", "import torch\ns = torch.load(", LOAD), start=2):
        editor.change(uri, text, version)
    editor.until(lambda: len(editor.shown[uri]) == 2)
    assert editor.codes(uri) == ["TDL201"], "half-typed texts were not linted"
    assert editor.shown[uri][-1].version == 4


def test_a_text_that_does_not_parse_is_a_finding(editor: Editor) -> None:
    assert editor.codes(editor.open("broken.py", "def f(:\n")) == ["TDL901"]
    assert editor.codes(editor.open("nul.py", "x = 1\0\n")) == ["TDL901"]
    assert editor.codes(editor.open("empty.py", "")) == []


def test_closing_takes_the_findings_away(editor: Editor) -> None:
    uri = editor.open("closed.py", LOAD)
    assert editor.codes(uri) == ["TDL201"]
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    editor.until(lambda: editor.codes(uri) == [])


def test_saving_a_file_lints_those_that_use_it(editor: Editor) -> None:
    helper = editor.folder / "helper.py"
    helper.write_text("import torch\n\n\ndef made():\n    return torch.ones(2, device='cuda')\n")
    user = "import torch\nfrom helper import made\n\n\ndef f():\n    return made() + torch.ones(2)\n"
    (editor.folder / "user.py").touch()
    uri = editor.open("user.py", user)
    assert editor.codes(uri) == ["TDL004"]
    helper.write_text("import torch\n\n\ndef made():\n    return torch.ones(2)\n")
    editor.save((editor.folder / "helper.py").as_uri())
    editor.until(lambda: editor.codes(uri) == [])


def test_positions_count_utf16_units(editor: Editor) -> None:
    uri = editor.open("emoji.py", "import torch\n\nx = '\U0001f525', torch.load('model.pt')\n")
    (found,) = editor.found(uri)
    assert found.range == types.Range(types.Position(2, 10), types.Position(2, 32))


def test_a_form_feed_is_no_new_line(editor: Editor) -> None:
    uri = editor.open("feed.py", "import torch\n\f\nstate = torch.load('\u2028model.pt')\n")
    assert [each.range.start.line for each in editor.found(uri)] == [2]


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 12), ("utf-16", 10), ("utf-32", 9)])
def test_places_in_each_encoding(encoding: str, column: int) -> None:
    places = Places(("a", "x = '\U0001f525', b"), encoding)
    assert places.position(2, 10) == types.Position(1, column)
    assert places.position(3, 7) == places.position(2, 99) == places.position(99, 1)
    assert Places((), encoding).position(1, 1) == types.Position(0, 0)


def test_the_encoding_is_the_first_that_both_sides_know(tmp_path: Path) -> None:
    loop = asyncio.new_event_loop()
    editor = Editor(tmp_path, loop)
    assert editor.start("utf-7", "utf-8", "utf-16").capabilities.position_encoding == "utf-8"
    uri = editor.open("emoji.py", "import torch\n\nx = '\U0001f525', torch.load('model.pt')\n")
    assert [each.range.start.character for each in editor.found(uri)] == [12]
    assert editor.stop() == 0
    loop.close()


def test_the_fix_of_a_finding(editor: Editor) -> None:
    uri = editor.open("amp.py", AMP)
    found = editor.actions(uri, 2)
    (fix,) = [action for title, action in found.items() if title.endswith("(TDL504)")]
    assert (fix.kind, fix.is_preferred) == ("quickfix", True)
    assert fix.diagnostics is not None
    assert [each.code for each in fix.diagnostics] == ["TDL504"]
    assert edited(AMP, fix.edit, uri) == 'import torch\n\nscaler = torch.amp.GradScaler("cuda")\n'
    assert list(editor.actions(uri, 0)) == ["torchdevlint: apply all safe fixes"], "nothing is wrong with the import"


def test_all_safe_fixes_at_once(editor: Editor) -> None:
    text = AMP + "\n# a remark\nother = torch.cuda.amp.GradScaler()  # noqa: TDL201\nlast = '\U0001f525'"
    uri = editor.open("all.py", text)
    (action,) = editor.actions(uri, 0, only=["source.fixAll"]).values()
    assert (action.kind, action.edit) == ("source.fixAll.torchdevlint", None)
    action = editor.do(editor.client.code_action_resolve_async(action))
    fixed = AMP.replace("cuda.amp.GradScaler()", 'amp.GradScaler("cuda")')
    assert edited(text, action.edit, uri) == (
        fixed + "\n# a remark\nother = torch.amp.GradScaler(\"cuda\")\nlast = '\U0001f525'"
    )
    assert editor.actions(editor.open("nothing.py", LOAD), 0, only=["source.fixAll"]) == {}


@pytest.mark.parametrize(
    ("line", "silenced"),
    [
        ("state = torch.load('m')", "state = torch.load('m')  # noqa: TDL201"),
        ("state = torch.load('\U0001f525')  # why", "state = torch.load('\U0001f525')  # why  # noqa: TDL201"),
        ("state = torch.load('m')  # noqa: E501  why", "state = torch.load('m')  # noqa: E501,TDL201  why"),
        ("state = torch.load('''m\nn''')", "state = torch.load('''m\nn''')  # noqa: TDL201"),
    ],
)
def test_a_comment_that_silences_a_finding(editor: Editor, line: str, silenced: str) -> None:
    uri = editor.open(f"silence{time.monotonic_ns()}.py", f"import torch\n{line}\n")
    assert editor.codes(uri) == ["TDL201"]
    action = editor.actions(uri, 1, only=["quickfix"])["Silence TDL201 in this line"]
    after = edited(f"import torch\n{line}\n", action.edit, uri)
    assert after == f"import torch\n{silenced}\n"
    editor.change(uri, after)
    editor.until(lambda: editor.codes(uri) == [])


def test_a_text_that_does_not_parse_is_not_silenced(editor: Editor) -> None:
    assert editor.actions(editor.open("unclosed.py", "x = '''\ny\n"), 0) == {}


def test_an_unused_suppression_is_shown_as_unnecessary(editor: Editor) -> None:
    uri = editor.open("unused.py", "import os  # noqa: TDL201\n")
    (found,) = editor.found(uri)
    assert (found.code, found.tags) == ("TDL900", (types.DiagnosticTag.Unnecessary,))
    (fix,) = editor.actions(uri, 0, only=["quickfix"]).values()
    assert edited("import os  # noqa: TDL201\n", fix.edit, uri) == "import os\n"


def test_the_page_of_a_rule(editor: Editor) -> None:
    uri = editor.open("hover.py", LOAD)
    hover = editor.hover(uri, 2, 12)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert hover.contents.value.startswith("# TDL201 load-without-map-location\n")
    assert hover.range == types.Range(types.Position(2, 8), types.Position(2, 30))
    assert editor.hover(uri, 0, 0) is None


def test_excluded_files_and_other_languages_give_nothing(editor: Editor) -> None:
    assert editor.codes(editor.open("build/made.py", LOAD)) == []
    cell = f"vscode-notebook-cell:{editor.folder.as_posix()}/a.ipynb#1"
    text = (editor.folder / "a.md").as_uri()
    editor.send_open(cell, LOAD)
    editor.send_open(text, LOAD, "markdown")
    assert editor.alive()
    assert not editor.shown[cell]
    assert not editor.shown[text]
    assert editor.hover(text, 2, 12) is None


def test_a_text_without_a_file(editor: Editor) -> None:
    editor.send_open("untitled:Untitled-1", LOAD)
    editor.until(lambda: editor.codes("untitled:Untitled-1") == ["TDL201"])


def test_the_baseline_of_the_configuration_holds(editor: Editor) -> None:
    folder = editor.folder / "old"
    folder.mkdir()
    (folder / "known.py").write_text(LOAD)
    command = ("-m", "torchdevlint", "check", "--no-cache", "--write-baseline", "known.json", "known.py")
    assert python(*command, cwd=folder).returncode == 0
    (folder / "torchdevlint.toml").write_text('baseline = "known.json"\n')
    uri = editor.open("old/known.py", f"{LOAD}new = torch.load('other.pt')\n")
    assert [each.range.start.line for each in editor.found(uri)] == [3]


def test_an_error_in_the_configuration_is_told_once_until_it_changes(editor: Editor) -> None:
    folder = editor.folder / "wrong"
    folder.mkdir()
    config = folder / "torchdevlint.toml"
    config.write_text('selct = ["TDL201"]\n')
    editor.messages.clear()
    uri = editor.open("wrong/a.py", LOAD)
    editor.change(uri, LOAD + "\n")
    editor.until(lambda: len(editor.shown[uri]) == 2)
    (message,) = editor.messages
    assert "did you mean `select`?" in message
    assert editor.codes(uri) == []
    config.write_text('select = ["TDL201"]\n')
    assert {"**/pyproject.toml", "**/torchdevlint.toml", "**/*.py"} <= set(editor.watched)
    event = types.FileEvent(config.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    editor.until(lambda: editor.codes(uri) == ["TDL201"])
    assert len(editor.messages) == 1


def test_a_crash_in_one_document_is_told_and_ends_nothing(editor: Editor) -> None:
    editor.messages.clear()
    uri = (editor.folder / "crash.py").as_uri()
    editor.send_open(uri, LOAD)
    editor.until(lambda: bool(editor.messages))
    assert editor.messages == ["internal error: ZeroDivisionError: seeded"]
    with pytest.raises(Exception, match="seeded"):
        editor.hover(uri, 2, 12)
    assert editor.alive()


def test_deep_code_ends_nothing(editor: Editor) -> None:
    editor.messages.clear()
    uri = editor.open("deep.py", "import torch\nx = " + "-" * 50_000 + "torch.load('m')\n")
    assert editor.codes(uri) == []
    (message,) = editor.messages
    assert "too deeply nested" in message
    assert editor.alive()


def test_nothing_but_the_protocol_is_written_to_standard_output(editor: Editor) -> None:
    assert editor.codes(editor.open("print.py", LOAD)) == ["TDL201"]
    assert editor.alive()


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ImportError\n")
    done = python("-m", "torchdevlint", "server", cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'error: the language server needs pygls 2: pip install "torchdevlint[lsp]"\n'


def test_a_client_that_is_gone_ends_the_server() -> None:
    assert python("-m", "torchdevlint", "server", stdin="").returncode == 0


def test_the_lines_for_editors_name_what_there_is() -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    client, on_save = map(json.loads, re.findall(r"```json\n(.*?)```", text, re.DOTALL))
    assert [client["glspc.server.command"], *client["glspc.server.commandArguments"]] == ["torchdevlint", "server"]
    assert list(on_save["[python]"]["editor.codeActionsOnSave"]) == [FIX_ALL]
    assert "cmd = { 'torchdevlint', 'server' }" in text
    assert "server" in COMMANDS
