"""Notebooks, linted: where findings are, what magics mean to the rules, what is broken, and the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.forked import python
from torchdevlint.cache import Cache
from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes, check_paths
from torchdevlint.fix.silence import silenced
from torchdevlint.model import Diagnostic
from torchdevlint.report import lines_of_bytes, lines_of_cell

Place = tuple[str, int | None, int, int]


def notebook(*cells: str | list[str], **more: Any) -> bytes:
    """A cell of text, and one of code for each of `cells`: the first of them is the second cell."""
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    title = {"cell_type": "markdown", "metadata": {}, "source": "# Title"}
    return json.dumps({"cells": [title, *made], "metadata": {}, "nbformat": 4, **more}, indent=1).encode()


def findings(*cells: str | list[str], settings: Settings | None = None) -> tuple[Diagnostic, ...]:
    result = check_bytes(notebook(*cells), "n.ipynb", settings or Settings())
    assert not result.problems
    return result.diagnostics


def places(found: tuple[Diagnostic, ...]) -> list[Place]:
    return [(each.code, each.cell, each.span.row, each.span.column) for each in found]


def test_cells_are_one_module() -> None:
    found = findings(["import torch\n", "x = torch.zeros(3)"], ["# then\n", "if 1: x.cuda()\n"])
    assert places(found) == [("TDL001", 3, 2, 7)]
    (related,) = found[0].related
    assert (related.filename, related.cell, related.span.row, related.span.column) == ("n.ipynb", 2, 2, 5)


def test_environment_magics_are_assignments() -> None:
    early, late = "%env CUDA_VISIBLE_DEVICES=0\nimport torch", "import torch\ntorch.cuda.init()"
    assert places(findings(early, "torch.cuda.init()")) == []
    assert places(findings(late, "%env CUDA_VISIBLE_DEVICES=0")) == [("TDL301", 3, 1, 1)]
    assert places(findings("  %set_env CUDA_VISIBLE_DEVICE 0")) == [("TDL302", 2, 1, 3)]


def test_what_magics_run_is_python() -> None:
    assert places(findings("import torch\nx = torch.ones(1)", "%%time\nx.cuda()", "%time x.cuda()")) == [
        ("TDL001", 3, 2, 1),
        ("TDL001", 4, 1, 1),
    ]
    assert places(findings("import torch\nx = torch.ones(1)", "%%bash\nx.cuda()")) == []


def test_suppressions() -> None:
    cells = ["import torch\nx = torch.ones(1)", "x.cuda()  # noqa: TDL001", "x.cuda()  # noqa: TDL201", "y = '''\n'''"]
    assert places(findings(*cells)) == [("TDL001", 4, 1, 1), ("TDL900", 4, 1, 11)]
    assert [each.noqa_row for each in findings(*cells)] == [1, 1]
    ignoring = "# torchdevlint: file-ignore[TDL001]"
    assert places(findings(ignoring, *cells)) == [("TDL900", 5, 1, 11)]


def test_a_comment_holds_within_its_cell() -> None:
    cells = ["import torch\nx = torch.ones(1)", "# torchdevlint: off\nx.cuda()"]
    cells += ["x.cuda()\n# torchdevlint: ignore[TDL001]"]
    assert places(findings(*cells, "x.cuda()\n# torchdevlint: on")) == [
        ("TDL001", 4, 1, 1),
        ("TDL900", 4, 2, 1),
        ("TDL001", 5, 1, 1),
        ("TDL902", 5, 2, 1),
    ]


def test_cells_that_cannot_be_parsed_leave_the_others() -> None:
    found = findings("import torch\nx = torch.ones(1)", "def f(:", "x.cuda()", "\nif x:\n  1 +\n\n")
    assert places(found) == [("TDL901", 3, 1, 7), ("TDL001", 4, 1, 1), ("TDL901", 5, 3, 6)]
    assert found[0].message.startswith("the cell cannot be parsed: ")


def test_a_broken_cell_of_a_notebook_without_torch_is_left_alone() -> None:
    assert places(findings("import pandas as pd", "pd.read(")) == []
    assert places(findings("import pandas as pd\nimport torch", "pd.read(")) == [("TDL901", 3, 1, 8)]


@pytest.mark.parametrize(("cell", "is_found"), [("pd.", False), ("x = 1\nx.real. ", False), ("x = pd.", True)])
def test_a_name_with_a_dot_behind_it_was_looked_up(cell: str, is_found: bool) -> None:
    found = findings("import pandas as pd\nimport torch", cell)
    assert [each.code for each in found] == (["TDL901"] if is_found else [])


def test_strange_characters() -> None:
    found = findings("import torch\nx = '\0'", "x = '\ud800'", "x = 'é'")
    assert places(found) == [("TDL901", 2, 2, 6), ("TDL901", 3, 1, 6)]


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"cells": 1}', b"\xff", b"\0", b'{"cells": [{"cell_type": "code"}]}'])
def test_what_is_no_notebook_is_a_finding(data: bytes) -> None:
    result = check_bytes(data, "n.ipynb", Settings())
    assert (places(result.diagnostics), result.problems) == ([("TDL901", None, 1, 1)], ())
    assert result.diagnostics[0].message.startswith("the notebook cannot be parsed: ")


def test_too_deep_is_a_problem() -> None:
    for data in (b'{"cells": ' + b"[" * 200_000, notebook("(" * 5_000 + ")" * 5_000)):
        result = check_bytes(data, "n.ipynb", Settings())
        assert [problem.message for problem in result.problems] == ["too deeply nested to be analysed"]


def test_other_languages_have_no_findings() -> None:
    data = notebook("x <- torch_zeros(3", metadata={"kernelspec": {"language": "R"}})
    assert check_bytes(data, "n.ipynb", Settings()).diagnostics == ()


def test_names_from_the_project_are_followed(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text("import torch\n\ndef make():\n    return torch.zeros(3)\n")
    (tmp_path / "n.ipynb").write_bytes(notebook("from made import make", "x = make()", "x.cuda()"))
    run = check_paths([str(tmp_path / "n.ipynb")], Settings())
    assert places(run.diagnostics) == [("TDL001", 4, 1, 1)]


def test_results_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(tmp_path / name) for name in ("bug.ipynb", "clean.ipynb", "broken.ipynb")]
    for name, cells in zip(
        names, (["import torch", "x = torch.ones(1)", "x.cuda()"], ["import torch"], ["import torch", "("]), strict=True
    ):
        Path(name).write_bytes(notebook(*cells))
    with Cache(tmp_path / "cache") as cache:
        cold = check_paths(names, Settings(), cache=cache)
    assert places(cold.diagnostics) == [("TDL901", 3, 1, 1), ("TDL001", 4, 1, 1)]
    monkeypatch.setattr("torchdevlint.engine._analysed", None)
    with Cache(tmp_path / "cache") as cache:
        assert check_paths(names[:2], Settings(), cache=cache).diagnostics == cold.diagnostics[1:]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one notebook, in which the third line of the fourth cell has a finding."""
    cells = ["import torch\n", "x = torch.ones(1)"], "%env A=1", ["!ls\n", "# é\n", "x.cuda()  \n"]
    (tmp_path / "n.ipynb").write_bytes(notebook(*map(list, cells)))  # type: ignore[arg-type]
    return tmp_path


def test_reports_show_the_lines_of_the_cell(folder: Path) -> None:
    done = python("-m", "torchdevlint", "check", ".", cwd=folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "--> n.ipynb:cell 4:3:1\n" in done.stdout
    assert " 1 | !ls\n 2 | # é\n 3 | x.cuda()\n   | ^^^^^^^^\n" in done.stdout
    assert "::: n.ipynb:cell 2:2:5\n   |\n 2 | x = torch.ones(1)\n   |     ------------- created by" in done.stdout
    text = (folder / "n.ipynb").read_text()
    piped = python("-m", "torchdevlint", "check", "-", "--stdin-filename", "n.ipynb", cwd=folder, stdin=text)
    assert piped.stdout == done.stdout


def test_json_has_the_cells(folder: Path) -> None:
    (found,) = json.loads(python("-m", "torchdevlint", "check", "--output-format=json", "-q", cwd=folder).stdout)
    assert (found["cell"], found["location"]) == (4, {"row": 3, "column": 1})
    assert [(each["cell"], each["location"]["row"]) for each in found["related"]] == [(2, 2)]
    assert [edit["cell"] for edit in (found["fix"] or {"edits": []})["edits"]] in ([], [4])


def test_a_baseline_knows_the_lines_of_cells(folder: Path) -> None:
    assert python("-m", "torchdevlint", "check", "--write-baseline", "b.json", cwd=folder).returncode == 0
    assert json.loads((folder / "b.json").read_text())["findings"] == [
        {"path": "n.ipynb", "code": "TDL001", "text": "x.cuda()", "number": 1}
    ]
    (folder / "n.ipynb").write_bytes(notebook("import torch\nx = torch.ones(1)", "", "y = 1", "x.cuda()"))
    assert python("-m", "torchdevlint", "check", "--baseline", "b.json", cwd=folder).returncode == 0


def test_comments_are_added_in_cells(folder: Path) -> None:
    (folder / "n.ipynb").write_bytes(notebook("import torch\nx = torch.ones(1)", "x.cuda()", "%time x.cuda()"))
    done = python("-m", "torchdevlint", "check", "--add-noqa", "n.ipynb", cwd=folder)
    assert done.returncode == 2
    assert "n.ipynb: no comment can silence TDL001 in line 1 of cell 4" in done.stderr
    assert (folder / "n.ipynb").read_bytes() == notebook(
        "import torch\nx = torch.ones(1)", "x.cuda()  # noqa: TDL001", "%time x.cuda()"
    )


ODD = [
    b"\\ud800", b"\\u0000", b"%%bash\\n", b"\\n%time ", b"\\\\", b'"', b"[", b"}", b"null", b"\xff", b"\\r", b"(",
    b"\\n!", b"'''", b"",
]  # fmt: skip
"""What is put into the bytes of a notebook; nothing stands for a byte that is taken out."""


@given(places=st.lists(st.tuples(st.floats(0, 1), st.sampled_from(ODD)), min_size=1, max_size=4))
def test_changed_bytes_give_findings_within_the_cells(places: list[tuple[float, bytes]]) -> None:
    data = notebook(
        "import torch\n%env A=1\nx = torch.ones(1)", ["for y in x:\n", "    x.cuda()\n"], "%%time\nx.cuda()"
    )
    for place, piece in places:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + (not piece) :]
    result = check_bytes(data, "n.ipynb", Settings())
    assert not result.problems
    for each in result.diagnostics:
        lines = lines_of_bytes(data) if each.cell is None else lines_of_cell(data, each.cell)
        assert each.span.end_column <= len(lines[each.span.end_row - 1]) + 1
    silenced(data, result.diagnostics)


def test_a_notebook_that_knows_no_accelerator_is_a_program(tmp_path: Path) -> None:
    define = "import torch\ndef ramp(x: torch.Tensor):\n    return x * torch.arange(x.shape[-1])"
    path = tmp_path / "n.ipynb"
    for last, expected in (("y = ramp(x)", []), ("y = x", []), ("y = ramp(x.cuda())", ["TDL014"])):
        path.write_bytes(notebook(define, "from data import x", last))
        assert [one.code for one in check_paths([str(path)], Settings()).diagnostics] == expected, last


def test_an_empty_file_is_a_notebook_without_cells() -> None:
    assert check_bytes(b"\n", "n.ipynb", Settings()).diagnostics == ()


def test_what_git_lfs_has_not_fetched_is_no_broken_notebook() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:07dd1adc7c55e8000d39\nsize 101271593\n"
    assert check_bytes(pointer, "n.ipynb", Settings()).diagnostics == ()
    found = check_bytes(pointer[8:], "n.ipynb", Settings()).diagnostics
    assert [each.code for each in found] == ["TDL901"]


@pytest.mark.parametrize(
    ("counts", "reported"),
    [((3, None), []), ((None, None), [3]), ((3, 4), [3]), ((None, 4), [3])],
    ids=["left", "cleared", "run", "run alone"],
)
def test_a_cell_that_was_never_run_may_be_no_python(counts: tuple[int | None, ...], reported: list[int]) -> None:
    document = json.loads(notebook("import torch", "what this shows: (see above"))
    for cell, count in zip(document["cells"][1:], counts, strict=True):
        cell["execution_count"] = count
    result = check_bytes(json.dumps(document).encode(), "n.ipynb", Settings())
    assert not result.problems
    assert [(each.code, each.cell) for each in result.diagnostics] == [("TDL901", cell) for cell in reported]


@pytest.mark.parametrize(
    ("outputs", "reported"),
    [
        ([{"output_type": "error", "ename": "SyntaxError", "evalue": "invalid syntax", "traceback": []}], []),
        ([{"output_type": "stream", "text": "a"}, {"output_type": "error", "ename": "IndentationError"}], []),
        ([{"output_type": "error", "ename": "NameError"}], [3]),
        ([{"output_type": "stream", "text": "SyntaxError"}], [3]),
        (["SyntaxError"], [3]),
        ({"ename": "SyntaxError"}, [3]),
        (None, [3]),
    ],
    ids=["seen", "seen below more", "edited since", "text", "no object", "no list", "none"],
)
def test_a_cell_that_shows_its_syntax_error_is_known_to_its_author(outputs: object, reported: list[int]) -> None:
    document = json.loads(notebook("import torch", "what this shows: (see above"))
    document["cells"][2].update(execution_count=4, outputs=outputs)
    result = check_bytes(json.dumps(document).encode(), "n.ipynb", Settings())
    assert not result.problems
    assert [(each.code, each.cell) for each in result.diagnostics] == [("TDL901", cell) for cell in reported]


def test_what_stands_around_a_cell_that_was_never_run_is_looked_at() -> None:
    document = json.loads(notebook("import torch\nx = torch.ones(1)", "x =", "x.cuda()"))
    for cell, count in zip(document["cells"][1:], (1, None, 2), strict=True):
        cell["execution_count"] = count
    result = check_bytes(json.dumps(document).encode(), "n.ipynb", Settings())
    assert [(each.code, each.cell) for each in result.diagnostics] == [("TDL001", 4)]


@pytest.mark.parametrize(
    ("cells", "is_found"),
    [
        pytest.param(["import torch\nsize = None", "size = 4\nprint(4 size)", ""], False, id="at the end"),
        pytest.param(["import torch\nsize = None", "print(4 size)", "size = 5"], True, id="before another one"),
        pytest.param(["import torch\nsize = None", "sizes = [x for x in ]\nprint(sizes)"], True, id="not printed"),
    ],
)
def test_what_was_to_be_printed_in_the_last_cell(tmp_path: Path, cells: list[str], is_found: bool) -> None:
    """Nothing follows it that would be missing."""
    path = tmp_path / "sizes.ipynb"
    path.write_bytes(notebook(*cells))
    assert bool(check_paths([str(path)], Settings()).diagnostics) is is_found
