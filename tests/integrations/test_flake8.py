"""flake8, run as a process, against the command line on the same files."""

from __future__ import annotations

import ast
import gc
import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.casefile import Case, read_cases
from tests.conftest import ROOT
from tests.forked import python
from torchdevlint.cache import FOLDER
from torchdevlint.cache.database import DATABASE
from torchdevlint.garbage import THRESHOLDS
from torchdevlint.model import FileResult
from torchdevlint.rules import all_rules

FORMAT = "--format=%(path)s|%(row)d|%(col)d|%(code)s|%(text)s"
LONE = ROOT / "benchmarks" / "linting" / "lone_flake8.py"
"""flake8 without whatever else is installed beside it."""
CLI_ONLY = ("TDL900", "TDL901", "TDL902", "TDL903")

Place = tuple[str, int, int, str, str]
"""Path, row, column, code, message."""


def flake8(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return python(str(LONE), "flake8,torchdevlint", FORMAT, *arguments, cwd=cwd, stdin=stdin)


def flake8_places(done: subprocess.CompletedProcess[str]) -> set[Place]:
    assert done.stderr == ""
    rows = [line.split("|", 4) for line in done.stdout.splitlines()]
    return {
        (path.removeprefix("./"), int(row), int(column), code, text)
        for path, row, column, code, text in rows
        if code.startswith("TDL")
    }


def cli_places(*arguments: str, cwd: Path, stdin: str | None = None) -> set[Place]:
    done = python(
        "-m", "torchdevlint", "check", "--no-cache", "--output-format", "json", *arguments, cwd=cwd, stdin=stdin
    )
    assert done.returncode in {0, 1}, done.stderr
    return {
        (one["filename"], one["location"]["row"], one["location"]["column"], one["code"], one["message"])
        for one in json.loads(done.stdout)
        if one["code"] not in CLI_ONLY
    }


def chosen() -> list[Case]:
    """Of each case file two cases with findings and one without, and every one in which a comment silences."""
    files: dict[str, list[Case]] = {}
    for case in read_cases():
        files.setdefault(case.file, []).append(case)
    some: list[Case] = []
    for cases in files.values():
        some += [case for case in cases if case.want][:2] + [case for case in cases if not case.want][:1]
    silenced = [case for case in read_cases() if "noqa" in case.code or "torchdevlint:" in case.code]
    return [*some, *(case for case in silenced if case not in some)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, cases of every rule, and the encodings and newlines that files come in."""
    folder = tmp_path_factory.mktemp("project")
    for path in (ROOT / "examples").glob("*.py"):
        shutil.copy(path, folder)
    for case in chosen():
        (folder / f"{case.slug}.py").write_text(case.code, encoding="utf-8")
    load = "import torch\n\nname = 'é𝔘'; state = torch.load('a.pt')\n"
    (folder / "bom.py").write_bytes(b"\xef\xbb\xbf" + load.encode())
    (folder / "crlf.py").write_bytes(load.replace("\n", "\r\n").encode())
    (folder / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n" + load.replace("𝔘", "").encode("latin-1"))
    (folder / "form_feed.py").write_text("import torch\n\f\nstate = torch.load('a.pt')\n")
    (folder / "silent.py").write_text(
        "# torchdevlint: file-ignore[TDL201]\nimport torch\n\nstate = torch.load('a.pt')\n"
    )
    (folder / "ignored.py").write_text(
        "import torch\n\na = torch.load('a.pt')  # noqa: TDL201\nb = torch.load('b.pt')  # noqa\n"
        "c = torch.load('c.pt')  # torchdevlint: ignore[TDL201]\nd = torch.load('d.pt')  # noqa: E501\n"
        "e = torch.load('''\ne.pt''')  # noqa: TDL2\n"
    )
    (folder / "flake8_noqa.py").write_text("# flake8: noqa\nimport torch\n\nstate = torch.load('a.pt')\n")
    return folder


def test_defaults_against_defaults(project: Path) -> None:
    found = flake8_places(flake8("--isolated", ".", cwd=project))
    assert found == cli_places("--isolated", ".", cwd=project)
    assert "char_rnn.py" in {place[0] for place in found}
    loads = ("--isolated", "--extend-select", "TDL201", ".")  # advice beside files that save and choose a device
    asked = flake8_places(flake8(*loads, cwd=project))
    assert asked == cli_places(*loads, cwd=project)
    assert {place[0] for place in asked} >= {"bom.py", "crlf.py", "latin.py", "form_feed.py", "char_rnn.py"}


@pytest.mark.slow
def test_everything_selected(project: Path) -> None:
    found = flake8_places(flake8("--isolated", "--select=TDL", ".", cwd=project))
    assert found == cli_places("--isolated", "--select", "TDL", ".", cwd=project)


def test_one_code_selected(project: Path) -> None:
    files = ["checkpoint_tool.py", "multi_gpu.py", "ignored.py"]
    found = flake8_places(flake8("--isolated", "--select=TDL201", *files, cwd=project))
    assert found == cli_places("--isolated", "--select", "TDL201", *files, cwd=project)
    assert {place[3] for place in found} == {"TDL201"}


def test_only_what_neither_comment_covers_is_left(project: Path) -> None:
    found = flake8_places(
        flake8("--isolated", "--select=TDL", "ignored.py", "silent.py", "flake8_noqa.py", cwd=project)
    )
    assert {(path, row) for path, row, *_ in found} == {("ignored.py", 6)}


def test_flake8_can_see_through_its_own_comments_only(project: Path) -> None:
    found = flake8_places(flake8("--isolated", "--disable-noqa", "--select=TDL", "ignored.py", cwd=project))
    assert [place[1] for place in sorted(found)] == [3, 4, 6, 7]


def test_standard_input(project: Path) -> None:
    text = (project / "char_rnn.py").read_text()
    piped = flake8_places(flake8("--isolated", "--stdin-display-name=piped.py", "-", cwd=project, stdin=text))
    assert piped == cli_places("--isolated", "--stdin-filename", "piped.py", "-", cwd=project, stdin=text)
    assert piped


MOVES = """
import torch
from house import Batch


def step(device):
    labels = torch.zeros(2)
    labels.to(device)
    return labels
"""


def test_the_projects_settings_are_the_command_lines(tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "moves.py").write_text(MOVES)
    assert flake8_places(flake8("--isolated", "src", cwd=tmp_path))
    (source / "torchdevlint.toml").write_text("selekt = ['TDL001']\n")
    done = flake8("src", cwd=tmp_path)
    assert done.returncode == 1
    assert "unknown key `selekt`; did you mean `select`?" in done.stdout + done.stderr


def test_flake8_names_the_plugin_and_its_version() -> None:
    from torchdevlint import __version__

    shown = " ".join(python("-m", "flake8", "--version").stdout.split())
    assert f"torchdevlint: {__version__}" in shown


ADVICE = """
import torch

state = torch.load("model.pt")
if state["trained"]:
    model = torch.nn.Linear(4, 2).cuda()
    mask = torch.zeros(3).to("cuda:1")
"""


def test_advice_is_the_same_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "advice.py").write_text(ADVICE)
    found = []
    for selection in (
        (),
        ("--select", "TDL"),
        ("--extend-select", "TDL5"),
        ("--select", "TDL", "--extend-ignore", "TDL6"),
    ):
        ours = [each.replace("--extend-ignore", "--ignore") for each in selection]
        found.append(flake8_places(flake8("--isolated", *selection, ".", cwd=tmp_path)))
        assert found[-1] == cli_places("--isolated", *ours, ".", cwd=tmp_path)
    assert [sorted(place[3] for place in places) for places in found] == [
        ["TDL201"],
        ["TDL201", "TDL501", "TDL502", "TDL601"],
        ["TDL201", "TDL501", "TDL502"],
        ["TDL201", "TDL501", "TDL502"],
    ]


def test_advice_is_off_until_it_is_asked_for() -> None:
    from torchdevlint.integrations.flake8 import Plugin

    class Manager:
        ignored: tuple[str, ...] = ()
        selected: tuple[str, ...] = ()

        def extend_default_ignore(self, codes: list[str]) -> None:
            self.ignored = tuple(codes)

        def extend_default_select(self, prefixes: tuple[str, ...]) -> None:
            self.selected = prefixes

    manager = Manager()
    Plugin.add_options(manager)  # type: ignore[arg-type]
    assert manager.ignored == tuple(rule.code for rule in all_rules() if rule.severity.value == "advice")
    assert manager.selected == ("TDL",)


def test_results_are_kept_for_both(tmp_path: Path) -> None:
    """flake8 finds what the command line kept, and what it kept itself; what it is given on stdin is another text."""
    bug, fine = "import torch\n\nstate = torch.load('a.pt')\n", "import torch\n\nstate = torch.save('a.pt')\n"
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a.py").write_text(bug)
    (tmp_path / "b.py").write_text(bug)
    cache = tmp_path / FOLDER / DATABASE
    python("-m", "torchdevlint", "check", "a.py", cwd=tmp_path)
    for _ in range(2):
        assert {place[:2] for place in flake8_places(flake8(".", cwd=tmp_path))} == {("a.py", 3), ("b.py", 3)}
    with sqlite3.connect(cache) as database:
        assert database.execute("SELECT COUNT(*) FROM results").fetchone() == (2,)
        database.execute("UPDATE results SET reports = '[]'")
    assert not flake8_places(flake8(".", cwd=tmp_path)), "what is kept is believed"
    given = flake8("--stdin-display-name", "a.py", "-", cwd=tmp_path, stdin=bug + "\n")
    assert {place[3] for place in flake8_places(given)} == {"TDL201"}
    (tmp_path / "a.py").write_text(fine)
    assert not flake8_places(flake8("a.py", cwd=tmp_path))


def test_rules_that_flake8_would_not_show_do_not_run(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a.py").write_text("import torch\n\nstate = torch.load('a.pt')\n")
    flake8("--extend-select", "TDL5", "--extend-ignore", "TDL00", "a.py", cwd=tmp_path)
    with sqlite3.connect(tmp_path / FOLDER / DATABASE) as database:
        (ran,) = database.execute("SELECT codes FROM results").fetchone()
    assert "TDL501" in ran.split()
    assert "TDL201" in ran.split()
    assert not {"TDL001", "TDL601"} & set(ran.split())


def test_garbage_is_rarely_looked_for_while_a_file_is_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trees and values are reachable all the time; what flake8 itself does goes on as before."""
    from torchdevlint.integrations.flake8 import Plugin

    seen = []

    def analysed(*given: object) -> FileResult:
        seen.append(gc.get_threshold())
        return FileResult("a.py")

    before = gc.get_threshold()
    monkeypatch.setattr("torchdevlint.integrations.flake8.check_tree", analysed)
    assert not list(Plugin(ast.parse(""), "a.py", []).run())
    assert seen == [THRESHOLDS]
    assert gc.get_threshold() == before


def test_all_objects_are_looked_through_less_often_from_the_start_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held of a project is not garbage; what flake8 makes on the way is looked through as before."""
    from torchdevlint import garbage

    seen: list[tuple[int, ...]] = []
    at_the_end: list[object] = []
    monkeypatch.setattr("atexit.register", at_the_end.append)
    monkeypatch.setattr(gc, "get_threshold", lambda: (700, 10, 10))
    monkeypatch.setattr(gc, "set_threshold", lambda *given: seen.append(given))
    garbage.few_full_collections()
    monkeypatch.setattr(gc, "get_threshold", lambda: (0, 10, 0))
    garbage.few_full_collections()
    assert seen == [(700, 10, 100), (0, 10, 0)], "who looks for none at all goes on to do so"
    assert at_the_end == [gc.freeze, gc.freeze]
