"""Which files are found: suffixes, excludes, `.gitignore` (held against git itself), odd names, what cannot be read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchdevlint.config import Settings
from torchdevlint.discover import Patterns, discover, excluded, reported
from torchdevlint.model import Problem

posix_only = pytest.mark.skipif(os.name == "nt", reason="names and links that Windows does not have")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def touch(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("", encoding="utf-8")


def files(*paths: str, **settings: object) -> list[str]:
    found = discover(paths or (".",), Settings(**settings))  # type: ignore[arg-type]
    assert not found.problems
    return list(found.files)


def test_python_files_and_stubs_of_a_folder(project: Path) -> None:
    touch("b.py", "a.pyi", "c.txt", "d.pyc", "no_suffix", "sub/deep/e.py", "py", ".hidden/f.py", "x.py/g.py")
    assert files() == [".hidden/f.py", "a.pyi", "b.py", "sub/deep/e.py", "x.py/g.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", "src/model.py"),
        ("./", "src/model.py"),
        ("src", "src/model.py"),
        ("src/", "src/model.py"),
        ("./src//", "src/model.py"),
        ("src/model.py", "src/model.py"),
        ("./src/model.py", "src/model.py"),
        ("../project", "../project/src/model.py"),
    ],
)
def test_paths_are_reported_as_given(project: Path, path: str, expected: str) -> None:
    touch("src/model.py")
    assert files(path) == [expected]


def test_an_absolute_path_stays_absolute(project: Path) -> None:
    touch("src/model.py")
    assert files(str(project / "src")) == [f"{project.as_posix()}/src/model.py"]
    assert reported("/") == "/"


def test_no_file_twice_and_all_sorted(project: Path) -> None:
    touch("b/x.py", "a/x.py", "a.py")
    assert files("b", "a", ".", "./b/x.py", str(project / "a.py")) == sorted(["b/x.py", "a/x.py", "a.py"])
    assert files("b", "a") == files("a", "b") == ["a/x.py", "b/x.py"]


def test_a_named_file_is_linted_whatever_it_is_called(project: Path) -> None:
    touch("script", "build/made.py")
    assert files("script", "build/made.py") == ["build/made.py", "script"]
    assert files("build") == ["build/made.py"]
    assert files() == []


def test_a_missing_path_is_a_problem_and_the_rest_is_found(project: Path) -> None:
    touch("a.py")
    found = discover(["nosuch/", "a.py", "nosuch"], Settings())
    assert found.files == ("a.py",)
    assert found.problems == (Problem("nosuch", "no such file or folder"),)


def test_a_path_through_a_file_is_a_problem(project: Path) -> None:
    touch("a.py")
    (problem,) = discover(["a.py/b.py"], Settings()).problems
    assert problem.filename == "a.py/b.py"
    assert "cannot be read" in problem.message or "no such file" in problem.message


def test_a_folder_without_permission_is_a_problem(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch("a.py", "locked/b.py", "open/c.py")
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("locked/"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("os.scandir", scandir)
    found = discover(["."], Settings())
    assert found.files == ("a.py", "open/c.py")
    assert found.problems == (Problem("locked", "the folder cannot be read: Permission denied"),)


def test_notebooks_are_files_too(project: Path) -> None:
    touch("a.ipynb", "sub/b.ipynb", ".ipynb_checkpoints/a.ipynb", "c.py")
    assert discover(["."], Settings()).files == ("a.ipynb", "c.py", "sub/b.ipynb")
    assert discover(["a.ipynb", "./a.ipynb"], Settings()).files == ("a.ipynb",)


@pytest.mark.parametrize(
    ("extend", "left"),
    [
        ([], ["a.py", "gen/b.py", "src/gen/c.py", "src/gen_d.py"]),
        (["gen"], ["a.py", "src/gen_d.py"]),
        (["gen/"], ["a.py", "src/gen_d.py"]),
        (["/gen"], ["a.py", "src/gen/c.py", "src/gen_d.py"]),
        (["src/gen"], ["a.py", "gen/b.py", "src/gen_d.py"]),
        (["gen/*.py"], ["a.py", "src/gen/c.py", "src/gen_d.py"]),
        (["**/gen/*.py"], ["a.py", "src/gen_d.py"]),
        (["gen*"], ["a.py"]),
        (["a.py", "gen_?.py"], ["gen/b.py", "src/gen/c.py"]),
        (["*.py", "!a.py"], ["a.py"]),
        (["src", "!src/gen"], ["a.py", "gen/b.py"]),
    ],
)
def test_excludes_are_read_like_gitignore(project: Path, extend: list[str], left: list[str]) -> None:
    touch("a.py", "gen/b.py", "src/gen/c.py", "src/gen_d.py", "venv/lib/e.py", "src/__pycache__/f.py")
    assert files(extend_exclude=tuple(extend)) == left
    assert files(str(project), extend_exclude=tuple(extend)) == [f"{project.as_posix()}/{name}" for name in left]


def test_exclude_replaces_the_default(project: Path) -> None:
    touch("venv/a.py", "old/b.py")
    assert files(exclude=("old",)) == ["venv/a.py"]


def test_a_pattern_is_relative_to_the_configuration(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch("sub/gen/a.py", "sub/b.py")
    monkeypatch.chdir(project / "sub")
    assert files(root=project, extend_exclude=("sub/gen",)) == ["b.py"]
    assert files(root=project, extend_exclude=("gen/*",)) == ["b.py", "gen/a.py"]


def test_an_excluded_folder_that_is_named_is_walked_and_other_excludes_hold_in_it(project: Path) -> None:
    touch("venv/lib/a.py", "venv/lib/node_modules/b.py")
    assert files("venv/lib") == ["venv/lib/a.py"]
    assert files("venv/lib", extend_exclude=("venv/*", "*_pb2.py")) == ["venv/lib/a.py"]


def test_a_folder_outside_of_the_root_is_walked_whatever_the_folders_above_it_are_called(project: Path) -> None:
    touch("../build/lib/a.py", "../build/lib/dist/b.py")
    assert files("../build/lib", extend_exclude=("*_pb2.py",)) == ["../build/lib/a.py"]


def test_force_exclude_holds_for_what_is_named(project: Path) -> None:
    touch("venv/lib/a.py", "gen/b.py", "c.py")
    named = ["venv/lib/a.py", "gen/b.py", "c.py", "venv"]
    assert files(*named, force_exclude=True, extend_exclude=("gen/*.py",)) == ["c.py"]
    assert excluded("venv/lib/a.py", Settings())
    assert not excluded("c.py", Settings())


def test_a_pattern_that_is_none_is_refused(project: Path) -> None:
    (problem,) = discover(["."], Settings(extend_exclude=("!",))).problems
    assert "is not a pattern" in problem.message


GITIGNORE = {
    ".gitignore": "# a comment\n*.log.py\n/top.py\nout/\n!out/kept.py\ndata/**/raw\n\\#odd.py\n\\!odd.py\ntrail.py   \n"
    "x[0-9].py\n",
    "sub/.gitignore": "!a.log.py\nlocal.py\n/anchored.py\n*.pyi\n!deep/*.pyi\n",
    "sub/deep/.gitignore": "\ufeffbom.py\n",
    ".git/info/exclude": "private.py\n",
}
TREE = [
    "a.log.py", "top.py", "sub/top.py", "out/kept.py", "out/x.py", "sub/out/y.py", "data/raw/a.py", "data/x/y/raw/b.py",
    "data/ok.py", "#odd.py", "!odd.py", "trail.py", "x1.py", "xy.py", "sub/a.log.py", "sub/b.log.py", "sub/local.py",
    "sub/anchored.py", "sub/deep/anchored.py", "sub/deep/local.py", "sub/s.pyi", "sub/deep/s.pyi", "sub/deep/bom.py",
    "bom.py", "private.py", "sub/private.py", "local.py",
]  # fmt: skip


@pytest.fixture
def repository(project: Path) -> Path:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", "."], check=True)
    touch(*TREE)
    for name, text in GITIGNORE.items():
        Path(name).write_text(text, encoding="utf-8")
    return project


def git_leaves() -> list[str]:
    listed = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "ls-files", "-z", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return sorted(name for name in listed.split("\0") if name.endswith((".py", ".pyi")))


def test_gitignore_is_read_as_git_reads_it(repository: Path) -> None:
    left = git_leaves()
    assert 5 < len(left) < 10
    assert files() == left


def test_gitignore_files_above_the_folder_hold_in_it(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = git_leaves()
    assert files("sub/deep") == [name for name in left if name.startswith("sub/deep/")]
    monkeypatch.chdir(repository / "sub")
    assert files() == [name.removeprefix("sub/") for name in left if name.startswith("sub/")]
    assert files(respect_gitignore=False) == sorted(n.removeprefix("sub/") for n in TREE if n.startswith("sub/"))


def test_gitignore_files_above_the_repository_do_not(repository: Path) -> None:
    Path("../.gitignore").write_text("xy.py\n", encoding="utf-8")
    assert "xy.py" in files()


def test_an_ignored_folder_or_file_that_is_named_is_linted(repository: Path) -> None:
    assert files("out") == ["out/kept.py", "out/x.py"]
    assert files("top.py") == ["top.py"]


def test_gitignore_counts_without_a_repository(project: Path) -> None:
    touch("a.py", "b.py", "sub/b.py")
    Path(".gitignore").write_text("b.py\n", encoding="utf-8")
    assert files() == ["a.py"]


def test_a_line_of_gitignore_that_is_no_pattern_is_skipped_as_git_does(project: Path) -> None:
    touch("a.py", "b.py")
    Path(".gitignore").write_text("!\n/\nb.py\n", encoding="utf-8")
    assert files() == ["a.py"]


def test_a_folder_called_gitignore_is_no_ignore_file(project: Path) -> None:
    touch("a.py", ".gitignore/b.py")
    assert files() == [".gitignore/b.py", "a.py"]


def test_a_gitignore_that_cannot_be_read_is_a_problem(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch("a.py", "sub/b.py", "sub/.gitignore")

    def refuse(_: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("torchdevlint.discover.content", refuse)
    found = discover(["."], Settings())
    assert found.files == ("a.py", "sub/b.py")
    assert found.problems == (Problem("sub/.gitignore", "cannot be read: Permission denied"),)


@posix_only
def test_links(project: Path) -> None:
    touch("real/a.py")
    Path("real/loop").symlink_to(project)
    Path("real/self.py").symlink_to("self.py")
    Path("real/nowhere.py").symlink_to("gone.py")
    Path("real/file.py").symlink_to("a.py")
    Path("folder").symlink_to("real")
    assert files() == ["real/a.py", "real/file.py"]
    assert files("folder") == ["folder/a.py", "folder/file.py"]


@posix_only
@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems refuse such names")
def test_names_that_are_no_text(project: Path) -> None:
    names = ["new\nline.py", "q'\"uote.py", os.fsdecode(b"latin\xe9.py"), "ü→.py", " .py", "-.py"]
    touch(*names)
    folder = os.fsdecode(b"f\xff")
    touch(f"{folder}/x.py")
    Path(".gitignore").write_text("*.log\n", encoding="utf-8")
    assert files(extend_exclude=("gen/*",)) == sorted([*names, f"{folder}/x.py"])
    assert files(folder) == [f"{folder}/x.py"]


@posix_only
def test_a_pipe_in_a_folder_is_no_file(project: Path) -> None:
    os.mkfifo("pipe.py")
    assert files() == []


def test_plain_names_do_without_pathspec(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pathspec", None)
    touch("a.py", "venv/b.py", "old code/c.py")
    assert files(extend_exclude=("old code",)) == ["a.py"]


def test_patterns_say_which_way_they_decide() -> None:
    patterns = Patterns(("*.py", "!a.py"))
    assert [patterns.verdict(name) for name in ("b.py", "a.py", "c")] == [True, False, None]
    assert Patterns(()).verdict("a") is None
    assert Patterns(("gen", "*_pb2.py")).without("gen/x/").lines == ("*_pb2.py",)


def test_patterns_that_would_be_tried_for_ever_are_none(project: Path) -> None:
    long = "a" * 200 + ".py"
    touch(long, "a/" * 30 + "b.py")
    endless = ("*a" * 30 + "b.py", "/".join(["**", "a"] * 30) + "/c")
    Path(".gitignore").write_text("\n".join((*endless, "a/*/a/*/a/*/")), encoding="utf-8")
    assert files() == [long]
    for pattern in endless:
        (problem,) = discover(["."], Settings(extend_exclude=(pattern,))).problems
        assert "is not a pattern" in problem.message
