"""``torchdevlint reveal`` and ``# torchdevlint: reveal``: the page is what they say, and errors are one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import forked

PAGE = (Path(__file__).parents[2] / "docs" / "reveal.md").read_text(encoding="utf-8")
PROGRAM, OUTPUT = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[0] for kind in ("python", "text"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def test_the_page_shows_what_is_written(program: Path) -> None:
    done = forked.python("-m", "torchdevlint", "reveal", "program.py:6", cwd=program)
    assert (done.stdout, done.returncode) == (OUTPUT, 0)


def test_the_configuration_and_what_it_extends_hold(tmp_path: Path) -> None:
    text = "from mine import Base\n\n\nclass Net(Base):\n    pass\n\n\nnet = Net()\nprint(net)\n"
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "torchdevlint.toml").write_text('extend = "base.toml"\n')
    said = []
    for movers in ("", 'module-bases = ["mine.Base"]\n'):
        (tmp_path / "base.toml").write_text(movers)
        done = forked.python("-m", "torchdevlint", "reveal", "a.py:9:7", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said.append("module" in done.stdout)
    assert said == [False, True]
    (tmp_path / "base.toml").write_text('extend = "torchdevlint.toml"\n')
    done = forked.python("-m", "torchdevlint", "reveal", "a.py:9:7", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`extend` leads in a circle" in done.stderr


def test_json_says_why_it_is_unknown(program: Path) -> None:
    done = forked.python("-m", "torchdevlint", "reveal", "program.py:9:7", "--output-format", "json", cwd=program)
    (belief,) = json.loads(done.stdout)
    assert (belief["text"], belief["kind"], belief["device"]) == ("placed", "tensor", None)
    assert belief["unknown_because"]["message"].replace("\n", " ") in PAGE.replace("\n", " ")


def test_dimensions_are_said_where_their_number_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import torch\n\n\ndef train(loader: torch.utils.data.DataLoader) -> None:\n"
        "    for batch in loader:\n        print(batch)\n\n\nrow = torch.zeros(3)\nrows = torch.zeros(2, 3)\n\n\n"
        "def scaled(scale):\n    many = rows * scale\n    return many\n"
    )
    told = [
        forked.python("-m", "torchdevlint", "reveal", f"a.py:{place}", cwd=tmp_path).stdout.splitlines()[0]
        for place in ("6:15", "9:1", "10:1", "14:5")
    ]
    assert "dimension" not in told[0]
    assert " of 1 dimension on" in told[1]
    assert " of 2 dimensions on" in told[2]
    assert told[3].startswith("`many`: a tensor on")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("program.py", "names no line"),
        ("program.py:0", "count from 1"),
        ("program.py:99", "there is no line 99: program.py has 10"),
        ("program.py:1:99", "there is no column 99 in line 1"),
        ("program.py:3", "the line is blank"),
        ("missing.py:1", "there is no file missing.py"),
        ("broken.py:1", "cannot be read as Python"),
        ("a.ipynb:1", "names no cell"),
        (".:1", "is a folder"),
    ],
)
def test_errors_are_one_line(program: Path, place: str, words: str) -> None:
    (program / "broken.py").write_text("def f(:\n")
    done = forked.python("-m", "torchdevlint", "reveal", place, cwd=program)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_an_answer_fails_no_run_and_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(3)  # torchdevlint: reveal\n")
    for _ in range(2):
        done = forked.python("-m", "torchdevlint", "check", "a.py", "--output-format", "concise", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "a.py:2:1: TDL903 `x` is a tensor of 1 dimension on the CPU (default device)" in done.stdout


def test_what_depends_on_a_condition_is_told_case_by_case(tmp_path: Path) -> None:
    text = "def f(flag):\n    if flag:\n        x = [torch.zeros(2)]\n    else:\n        x = torch.zeros(2).cuda()\n"
    (tmp_path / "a.py").write_text(f"import torch\n\n\n{text}    return x  # torchdevlint: reveal\n")
    done = forked.python("-m", "torchdevlint", "check", "a.py", "--output-format", "concise", cwd=tmp_path)
    listed = "1 item: a tensor of 1 dimension on the CPU (default device)"
    assert f"; `flag` holds: {listed}; `flag` does not hold: a tensor of 1 dimension on cuda\n" in done.stdout
