"""What a finding is about: the file's import name, and the statements and functions of its lines."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tests.runtime.execute.bench import by_hand, target_of
from torchdevlint.runtime.execute.target import (
    Region,
    dotted,
    functions_of,
    import_name,
    method_of,
    read_target,
    rows_of,
    statement_at,
)
from torchdevlint.runtime.verify.ladder import finding_of


@pytest.mark.parametrize(
    ("packages", "file", "folder", "name"),
    [
        ([], "train.py", "", "train"),
        (["pkg"], "pkg/model.py", "", "pkg.model"),
        (["pkg"], "pkg/__init__.py", "", "pkg"),
        (["pkg", "pkg/deep"], "pkg/deep/model.py", "", "pkg.deep.model"),
        (["pkg", "pkg/deep"], "pkg/deep/__init__.py", "", "pkg.deep"),
        (["src/pkg"], "src/pkg/model.py", "src", "pkg.model"),
        ([], "space/model.py", "space", "model"),
        (["space/pkg"], "space/pkg/model.py", "space", "pkg.model"),
        (["project/torch", "project/torch/nn"], "project/torch/nn/layers.py", "", "project.torch.nn.layers"),
        ([], "project/torch.py", "", "project.torch"),
        ([], "project/code.py", "", "project.code"),
        ([], "my-project/code.py", "my-project", "code"),
        (["pkg"], "pkg/code.py", "", "pkg.code"),
    ],
)
def test_a_file_is_imported_by_the_name_of_its_package(
    tmp_path: Path, packages: list[str], file: str, folder: str, name: str
) -> None:
    for each in packages:
        (tmp_path / each).mkdir(parents=True)
        (tmp_path / each / "__init__.py").touch()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    assert import_name(tmp_path / file) == (tmp_path / folder, name)


@pytest.mark.parametrize(
    ("text", "folder", "name"),
    [
        ("from .other import x", "pkg", "deep.model"),
        ("from ..other import x\nfrom . import y", "", "pkg.deep.model"),
        ("import other  # from ..other import x", "pkg/deep", "model"),
    ],
)
def test_relative_imports_say_what_is_a_package(tmp_path: Path, text: str, folder: str, name: str) -> None:
    (tmp_path / "pkg/deep").mkdir(parents=True)
    file = tmp_path / "pkg/deep/model.py"
    file.write_text(text)
    assert import_name(file) == (tmp_path / folder, name)
    (tmp_path / "pkg/__init__.py").touch()
    at_top = "pkg/deep" if name == "model" else ""
    assert import_name(file) == (tmp_path / at_top, "model" if at_top else "pkg.deep.model")


SOURCE = """\
    import torch


    def first(x):
        if x.sum() > 0:
            y = torch.zeros(
                3,
            )
        else:
            y = 1
        return x + y


    class Net:
        size = 3

        def __init__(self):
            self.scale = torch.ones(3)

        @torch.no_grad()
        def forward(self, x):
            for row in x:
                with torch.no_grad():
                    row += 1
            try:
                x.add_(1)
            except ValueError:
                x.mul_(2)
            else:
                x.sub_(1)
            finally:
                x.exp_()
            match x:
                case 1:
                    x.log_()
            def inner():
                return x.cos_()
            return inner() * self.scale


    if torch.__version__:
        def second(x):
            return x.abs()
    else:
        def third(x):
            return x
    """


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_text(textwrap.dedent(SOURCE))
    return file


def kinds(path: Path, marked: str) -> list[str]:
    """The kinds of the statements around a text, from the outside to the inside."""
    target = target_of(path, marked)
    return [type(each).__name__ for each in statement_at(target.tree.body, target.at)]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("import torch", ["Import"]),
        ("torch.zeros(", ["FunctionDef", "If", "Assign"]),
        ("3,", ["FunctionDef", "If", "Assign"]),
        ("y = 1", ["FunctionDef", "If", "Assign"]),
        ("x.sum() > 0", ["FunctionDef", "If"]),
        ("size = 3", ["ClassDef", "Assign"]),
        ("@torch.no_grad()", ["ClassDef", "FunctionDef"]),
        ("row += 1", ["ClassDef", "FunctionDef", "For", "With", "AugAssign"]),
        ("for row in x", ["ClassDef", "FunctionDef", "For"]),
        ("x.add_(1)", ["ClassDef", "FunctionDef", "Try", "Expr"]),
        ("x.mul_(2)", ["ClassDef", "FunctionDef", "Try", "Expr"]),
        ("x.sub_(1)", ["ClassDef", "FunctionDef", "Try", "Expr"]),
        ("x.exp_()", ["ClassDef", "FunctionDef", "Try", "Expr"]),
        ("x.log_()", ["ClassDef", "FunctionDef", "Match", "Expr"]),
        ("return x.cos_()", ["ClassDef", "FunctionDef", "FunctionDef", "Return"]),
        ("return x.abs()", ["If", "FunctionDef", "Return"]),
    ],
)
def test_the_statements_around_a_region(path: Path, marked: str, expected: list[str]) -> None:
    assert kinds(path, marked) == expected


def test_a_row_between_statements_is_in_none(path: Path) -> None:
    assert statement_at(ast.parse(path.read_text()).body, Region(2, 1, 2)) == []


@pytest.mark.parametrize(
    ("marked", "rows"),
    [
        ("torch.zeros(", {6, 7, 8}),
        ("3,", {6, 7, 8}),
        ("x.sum() > 0", {5}),
        ("for row in x", {22}),
        ("with torch.no_grad()", {23}),
        ("row += 1", {24}),
        ("size = 3", {15}),
        ("def inner()", None),
        ("@torch.no_grad()", None),
        ("class Net", None),
    ],
)
def test_the_rows_that_have_to_run_are_a_statements_or_the_head_of_a_compound_one(
    path: Path, marked: str, rows: set[int] | None
) -> None:
    target = target_of(path, marked)
    assert rows_of(target.tree.body, target.at) == ([] if rows is None else [frozenset(rows)])


def test_a_head_of_several_lines_is_all_of_it() -> None:
    tree = ast.parse("if (\n    a\n    and b\n):\n    c()\n")
    assert rows_of(tree.body, Region(3, 5, 3)) == [frozenset({1, 2, 3, 4})]


def test_the_outermost_functions_hold_the_regions_init_last(path: Path) -> None:
    target = target_of(path, "self.scale = torch.ones(3)", "x.add_(1)", "return x.cos_()", "row += 1")
    assert [place.qualname for place in target.places] == ["Net.forward", "Net.__init__"]
    assert [len(place.regions) for place in target.places] == [3, 1]
    assert target.places[0].owner is target.places[1].owner is not None
    assert [place.qualname for place in target_of(path, "y = 1", "return x.abs()").places] == ["first", "second"]
    assert target_of(path, "import torch").places == ()


def test_what_has_to_run_leaves_out_the_module_and_repeats_nothing(path: Path) -> None:
    target = target_of(path, "3,", "torch.zeros(", "import torch", "size = 3", "return x + y")
    assert target.spans == (frozenset({6, 7, 8}), frozenset({11}))
    first, net = target.tree.body[1], target.tree.body[2]
    assert isinstance(first, ast.FunctionDef)
    assert isinstance(net, ast.ClassDef)
    assert target.spans_in(first) == target.spans
    forward = method_of(target.tree, net, "forward")
    assert forward is not None
    assert target.spans_in(forward) == ()
    assert target.rows == frozenset({1, 6, 7, 11, 15})


def test_functions_that_code_outside_can_name(path: Path) -> None:
    tree = ast.parse(path.read_text())
    named = [(owner.name if owner else None, function.name) for owner, function in functions_of(tree)]
    assert named == [(None, "first"), ("Net", "__init__"), ("Net", "forward"), (None, "second"), (None, "third")]


def test_a_method_that_the_class_does_not_define_is_none(path: Path) -> None:
    tree = ast.parse(path.read_text())
    net = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    assert method_of(tree, net, "backward") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "x"),
        ("self.layers.weight", "self.layers.weight"),
        ("a.b().c", None),
        ("a[0].b", None),
        ("1", None),
    ],
)
def test_dotted_paths(text: str, expected: str | None) -> None:
    assert dotted(ast.parse(text, mode="eval").body) == expected


def test_a_target_is_what_the_parent_has_sent(path: Path) -> None:
    diagnostic = by_hand(path, "TDL003", "torch.zeros(\n            3,\n        )", "return x + y")
    target = read_target(finding_of(diagnostic))
    assert (target.path, target.code, target.silent) == (path, "TDL003", False)
    assert (target.at, target.notes) == (Region(6, 13, 8, 10), (Region(11, 5, 11, 17),))
    site = {"line": 6, "column": 12, "end_line": 8, "end_column": 9}
    assert target.at.has(site)
    assert not target.at.has({**site, "end_column": 14})
    assert target.at.has({"line": 7, "column": 0, "end_line": 0, "end_column": 0}), "columns are not always known"
    assert not target.at.has({"line": 9, "column": 0, "end_line": 0, "end_column": 0})
    quiet = by_hand(path, "TDL003", "y = 1", symptom="nothing raises: it is on the CPU")
    assert read_target(finding_of(quiet)).silent


def test_a_file_is_read_in_its_own_encoding(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nname = 'Größe'\n".encode("latin-1"))
    finding = {"path": str(path), "code": "TDL003", "at": [2, 1, 2], "notes": [], "silent": False}
    assert "Größe" in read_target(finding).source


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"def (\n", SyntaxError), (b"# coding: nonsense\n", SyntaxError), (b"\n\n\nx = '\xff'\n", UnicodeDecodeError)],
)
def test_a_file_that_cannot_be_read_raises(tmp_path: Path, content: bytes, error: type[Exception]) -> None:
    path = tmp_path / "broken.py"
    path.write_bytes(content)
    finding = {"path": str(path), "code": "TDL003", "at": [1, 1, 1], "notes": [], "silent": False}
    with pytest.raises(error):
        _ = read_target(finding).tree
    with pytest.raises(OSError, match="nosuch"):
        read_target({**finding, "path": str(tmp_path / "nosuch.py")})
