"""What an editor shows: findings of what is on the screen, and where they are."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from tests.integrations.lsp.editor import LOAD, Editor, running


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
    assert places == {(uri, 5), (uri, 6), ((editor.folder / "made.py").as_uri(), 4)}


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
    editor.close(uri)
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


def test_a_folder_with_blanks_and_umlauts(editor: Editor) -> None:
    uri = editor.open("R\u00e4ume und mehr/load.py", LOAD)
    assert "R%C3%A4ume%20und%20mehr" in uri
    editor.save(uri)
    editor.until(lambda: len(editor.shown[uri]) == 2)
    assert editor.codes(uri) == ["TDL201"]


def test_changes_of_parts_are_put_together(editor: Editor) -> None:
    uri = editor.open("parts.py", "import torch\r\n\x0c\r\nx = '\U0001f525'\r\n")
    editor.type(uri, 2, (2, 8, 2, 8, "; state = torch.load('m.pt')"), (0, 0, 0, 0, "import os\n"))
    editor.until(lambda: editor.codes(uri) == ["TDL201"])
    assert editor.found(uri)[0].range.start == types.Position(3, 18)


def test_positions_count_utf16_units(editor: Editor) -> None:
    uri = editor.open("emoji.py", "import torch\n\nx = '\U0001f525', torch.load('model.pt')\n")
    (found,) = editor.found(uri)
    assert found.range == types.Range(types.Position(2, 10), types.Position(2, 32))


def test_a_form_feed_is_no_new_line(editor: Editor) -> None:
    uri = editor.open("feed.py", "import torch\n\f\nstate = torch.load('\u2028model.pt')\n")
    assert [each.range.start.line for each in editor.found(uri)] == [2]


def test_the_encoding_is_the_first_that_both_sides_know(tmp_path: Path) -> None:
    with running(tmp_path, encodings=("utf-7", "utf-8", "utf-16")) as editor:
        assert editor.result.capabilities.position_encoding == "utf-8"
        uri = editor.open("emoji.py", "import torch\n\nx = '\U0001f525', torch.load('model.pt')\n")
        assert [each.range.start.character for each in editor.found(uri)] == [12]
        editor.type(uri, 2, (2, 4, 2, 10, "1"))
        editor.until(lambda: len(editor.shown[uri]) == 2)
        assert [each.range.start.character for each in editor.found(uri)] == [7]
        book = editor.open_notebook("a.ipynb", "import torch", "'\U0001f525', torch.load('model.pt')")
        editor.until(lambda: editor.codes(f"{book}#2") == ["TDL201"])
        assert [each.range.start.character for each in editor.found(f"{book}#2")] == [8]


def test_a_text_without_a_file(editor: Editor) -> None:
    editor.send_open("untitled:Untitled-1", LOAD)
    editor.until(lambda: editor.codes("untitled:Untitled-1") == ["TDL201"])
