"""Notebooks in an editor: their cells are one module, and each is a document of its own."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from tests.integrations.lsp.editor import (
    ADVICE,
    AMP,
    FIXED_AMP,
    Editor,
    applied,
    cell_document,
    edits_of,
    notebook_cell,
    running,
)
from tests.test_notebooks import notebook as on_disk
from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes

MADE, USED = "import torch\nx = torch.zeros(3)", "# then\nx.cuda()"


def shows(editor: Editor, book: str, **cells: list[str]) -> None:
    """Wait until the cells, by the ends of their URIs, have these findings."""
    wanted = {f"{book}#{number[1:]}": codes for number, codes in cells.items()}
    editor.until(lambda: all(editor.codes(uri) == codes for uri, codes in wanted.items()))


def test_cells_are_one_module(editor: Editor) -> None:
    book = editor.open_notebook("one.ipynb", "# Title", MADE, USED, kinds="m")
    shows(editor, book, _3=["TDL001"])
    (found,) = editor.found(f"{book}#3")
    assert found.range == types.Range(types.Position(1, 0), types.Position(1, 8))
    assert found.related_information is not None
    (related,) = found.related_information
    assert related.location == types.Location(f"{book}#2", types.Range(types.Position(1, 4), types.Position(1, 18)))
    assert not editor.shown[f"{book}#1"]
    assert not editor.shown[f"{book}#2"]


def test_what_is_found_is_what_check_finds_in_the_file(editor: Editor) -> None:
    """Magics, environment, cells that cannot be parsed, and findings that name lines of other cells."""
    cells = (
        "# Title",
        "%matplotlib inline\nimport torch\n!pip install x\n%env CUDA_VISIBLE_DEVICE=0",
        "%%time\ntorch.zeros(3).cuda() + torch.zeros(3)",
        "def broken(:",
        "%%bash\nx.cuda()",
        "x = torch.ones(2)\r\n'\U0001f525'; x.cuda()",
    )
    book = editor.open_notebook("same.ipynb", *cells, kinds="m")
    shows(editor, book, _6=["TDL001"])
    shown = [
        (number, each.code, each.range.start.line + 1, each.message.split("\n")[0])
        for number in range(1, 7)
        for each in (editor.found(f"{book}#{number}") if editor.shown[f"{book}#{number}"] else [])
    ]
    expected = check_bytes(on_disk(*cells[1:]), "same.ipynb", Settings()).diagnostics
    assert [(each.cell, each.code, each.span.row, f"{each.message}.") for each in expected] == shown
    assert {code for _, code, *_ in shown} == {"TDL001", "TDL004", "TDL302", "TDL901"}


def test_typing_in_a_cell_changes_what_is_found_in_others(editor: Editor) -> None:
    book = editor.open_notebook("typed.ipynb", MADE, USED)
    shows(editor, book, _2=["TDL001"])
    editor.type_in_cell(book, f"{book}#1", 2, (1, 0, 1, 18, "x = torch.nn.Linear(1, 2)"))
    shows(editor, book, _2=[])
    editor.type_in_cell(book, f"{book}#1", 3, (1, 4, 1, 25, "'\U0001f525'"), (1, 8, 1, 8, ", 1; x = torch.zeros(2)"))
    shows(editor, book, _2=["TDL001"])
    assert editor.found(f"{book}#2")[0].related_information[0].location.range.start == types.Position(1, 17)  # type: ignore[index]


def test_cells_come_and_go_and_move(editor: Editor) -> None:
    book = editor.open_notebook("moved.ipynb", MADE)
    editor.rearrange(book, 1, 0, f"{book}#new", opened=[(f"{book}#new", USED)])
    editor.until(lambda: editor.codes(f"{book}#new") == ["TDL001"])
    editor.rearrange(book, 0, 2, f"{book}#new", f"{book}#1")
    editor.until(lambda: editor.codes(f"{book}#new") == [])
    editor.rearrange(book, 0, 2, f"{book}#1", f"{book}#new")
    editor.until(lambda: editor.codes(f"{book}#new") == ["TDL001"])
    editor.rearrange(book, 1, 1, closed=[f"{book}#new"])
    editor.until(lambda: editor.codes(f"{book}#new") == [])
    assert editor.actions(f"{book}#new", 1) == {}, "it is a cell no more"
    assert list(editor.actions(f"{book}#1", 0)) == []


def test_a_cell_in_another_language_is_none(editor: Editor) -> None:
    book = editor.open_notebook("switched.ipynb", MADE, USED, "x <- 3\nx.cuda()", kinds="ccr")
    shows(editor, book, _2=["TDL001"])
    cell = f"{book}#1"
    array = types.NotebookCellArrayChange(0, 1, [notebook_cell(cell)])
    other = cell_document(cell, MADE, "julia")
    structure = types.NotebookDocumentCellChangeStructure(array, [other], [types.TextDocumentIdentifier(cell)])
    editor.change_notebook(book, types.NotebookDocumentCellChanges(structure))
    shows(editor, book, _2=[])
    editor.send_open(cell, MADE)
    shows(editor, book, _2=["TDL001"])
    markup = types.NotebookCell(types.NotebookCellKind.Markup, cell)
    editor.change_notebook(book, types.NotebookDocumentCellChanges(data=[markup]))
    shows(editor, book, _2=[])


def test_what_does_not_parse_is_a_note_where_it_was_never_run(editor: Editor) -> None:
    book = editor.open_notebook("run.ipynb", "import torch", "def broken(:")
    shows(editor, book, _2=["TDL901"])
    ran = types.NotebookCell(types.NotebookCellKind.Code, f"{book}#1", execution_summary=types.ExecutionSummary(1))
    editor.change_notebook(book, types.NotebookDocumentCellChanges(data=[ran]))
    shows(editor, book, _2=[])


def test_a_notebook_that_is_nowhere(editor: Editor) -> None:
    book = editor.open_notebook("untitled:Untitled-1.ipynb?jupyter-notebook", MADE, USED)
    shows(editor, book, _2=["TDL001"])
    assert editor.found(f"{book}#2")[0].related_information[0].location.uri == f"{book}#1"  # type: ignore[index]


def test_closing_takes_the_findings_of_all_cells_away(editor: Editor) -> None:
    book = editor.open_notebook("closed.ipynb", MADE, USED)
    shows(editor, book, _2=["TDL001"])
    cells = [types.TextDocumentIdentifier(f"{book}#{number}") for number in (1, 2)]
    params = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(book), cells)
    editor.client.notebook_document_did_close(params)
    shows(editor, book, _2=[])
    assert editor.hover(f"{book}#2", 1, 1) is None
    editor.client.notebook_document_did_close(params)
    editor.type_in_cell(book, f"{book}#1", 3, (0, 0, 0, 0, "x"))
    assert editor.alive()


def test_saving_a_notebook_lints_what_is_open(tmp_path: Path) -> None:
    """In a folder of its own: what lies beside a notebook decides what is advice in it."""
    (tmp_path / "pyproject.toml").write_text(ADVICE)
    (tmp_path / "saved.ipynb").touch()
    with running(tmp_path) as editor:
        uses = "import torch\nmade_later.made() + torch.ones(2)"
        book = editor.open_notebook("saved.ipynb", "import made_later", uses)
        shows(editor, book)
        helper = "import torch\n\n\ndef made():\n    return torch.ones(2, device='cuda')\n"
        (tmp_path / "made_later.py").write_text(helper)
        params = types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(book))
        editor.client.notebook_document_did_save(params)
        shows(editor, book, _2=["TDL004"])


def test_a_fix_and_a_comment_in_a_cell(editor: Editor) -> None:
    book = editor.open_notebook("fixed.ipynb", "import torch", "# \U0001f525\r\nscaler = torch.cuda.amp.GradScaler()")
    shows(editor, book, _2=["TDL504"])
    found = editor.actions(f"{book}#2", 1)
    (fix,) = [action for title, action in found.items() if title.endswith("(TDL504)")]
    assert edits_of(fix.edit).keys() == {f"{book}#2"}
    after = applied("# \U0001f525\r\nscaler = torch.cuda.amp.GradScaler()", edits_of(fix.edit)[f"{book}#2"])
    assert after == '# \U0001f525\r\nscaler = torch.amp.GradScaler("cuda")'
    comment = found["Silence TDL504 in this line"]
    after = applied("# \U0001f525\r\nscaler = torch.cuda.amp.GradScaler()", edits_of(comment.edit)[f"{book}#2"])
    assert after.endswith("GradScaler()  # noqa: TDL504")
    (related,) = fix.diagnostics or ()
    assert related.code == "TDL504"


def test_all_safe_fixes_of_a_notebook_are_one_action(editor: Editor) -> None:
    cells = (AMP, "%%time\nscaler = torch.cuda.amp.GradScaler()", "x = 1", "scaler = torch.cuda.amp.GradScaler()\r\n")
    book = editor.open_notebook("all.ipynb", *cells)
    shows(editor, book, _1=["TDL504"], _4=["TDL504"])
    assert editor.actions(f"{book}#3", 0, only=["source.fixAll"]) == {}, "it is asked for once a cell"
    (action,) = editor.actions(f"{book}#3", 0, only=["notebook.source.fixAll"]).values()
    action = editor.do(editor.client.code_action_resolve_async(action))
    edits = edits_of(action.edit)
    assert edits.keys() == {f"{book}#1", f"{book}#2", f"{book}#4"}
    fixed = 'scaler = torch.amp.GradScaler("cuda")'
    assert [applied(cells[number - 1], edits[f"{book}#{number}"]) for number in (1, 2, 4)] == [
        FIXED_AMP,
        f"%%time\n{fixed}",
        f"{fixed}\r\n",
    ]


def test_the_page_of_a_rule_in_a_cell(editor: Editor) -> None:
    book = editor.open_notebook("hover.ipynb", MADE, USED)
    hover = editor.hover(f"{book}#2", 1, 3)
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    assert "\n# TDL001 " in hover.contents.value
    assert hover.range is not None
    assert hover.range.start == types.Position(1, 0)
    assert editor.hover(f"{book}#1", 1, 3) is None
