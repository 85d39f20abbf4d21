"""`torchdevlint clean` removes what `check` has made, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_main import leave

FOLDER = ".torchdevlint_cache"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("import torch\n")
    (tmp_path / "pyproject.toml").write_text("[tool.torchdevlint]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def clean(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert leave("clean", *arguments) == 0
    output, errors = capsys.readouterr()
    assert output == ""
    return errors


def test_the_folder_beside_the_configuration(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert leave("check", "src") == 0
    assert (project / FOLDER).is_dir()
    assert clean(capsys, "src") == f"removed {project / FOLDER}\n"
    assert not (project / FOLDER).exists()
    assert clean(capsys) == f"nothing to remove: there is no {project / FOLDER}\n"


def test_a_folder_that_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert leave("check", "--cache-dir", "kept", "src") == 0
    assert leave("check", "src") == 0
    assert clean(capsys, "--cache-dir", "kept") == f"removed {project / 'kept'}\n"
    assert (project / FOLDER).is_dir()


@pytest.mark.parametrize("name", ["src", "empty", "linked"])
def test_what_is_no_cache_stays(project: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (project / "empty").mkdir()
    assert leave("check", "--cache-dir", "other", "src") == 0
    (project / FOLDER).symlink_to("other")
    folder = project / (FOLDER if name == "linked" else name)
    said = clean(capsys, *([] if name == "linked" else ["--cache-dir", name]))
    assert said == f"not removed: {folder} is no cache of torchdevlint, or holds something else\n"
    assert (project / "src" / "a.py").exists()
    assert (project / "other" / "results.sqlite").exists()
    assert (project / "empty").exists()


def test_what_else_is_in_the_folder_stays(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert leave("check", "src") == 0
    (project / FOLDER / "mine.txt").write_text("x")
    assert clean(capsys).startswith("not removed: ")
    assert [path.name for path in (project / FOLDER).iterdir()] == ["mine.txt"]


def test_a_place_that_is_not_there_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert leave("check", "src") == 0
    assert leave("clean", "scr") == 2
    assert capsys.readouterr().err == "error: scr: no such file or folder\n"
    assert (project / FOLDER).is_dir()
