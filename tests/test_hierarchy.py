"""Which configuration holds for which file, in every part of the tool that asks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.forked import python
from torchdevlint.cache import Cache
from torchdevlint.config import OF_RUN, ConfigError, Configuration, Settings, overlay
from torchdevlint.discover import discover
from torchdevlint.engine import check_paths

LOAD = "import torch\n\nstate = torch.load('model.pt')\n"
OF_OUR_BASE = """\
import torch
from mine import Base


class Net(Base):
    def __init__(self):
        super().__init__()
        self.w = torch.zeros(2)

    def forward(self, x):
        return x + self.w
"""
"""A finding where the settings say that ``mine.Base`` is a module."""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose folder ``sub`` has a configuration of its own, which says the opposite."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "torchdevlint.toml", 'ignore = ["TDL201"]\noutput-format = "concise"\nfail-on = "error"\n')
    write(tmp_path, "sub/pyproject.toml", '[tool.torchdevlint]\nselect = ["TDL201"]\noutput-format = "json"\n')
    for name in ("a.py", "src/b.py", "sub/c.py", "sub/deep/d.py"):
        write(tmp_path, name, LOAD)
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def lint(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    options = {} if stdin is None else {"stdin": stdin}
    done = python("-m", "torchdevlint", *arguments, cwd=Path.cwd(), **options)
    assert "Traceback" not in done.stderr
    return done


def flagged(*paths: str, cache: Cache | None = None, jobs: int = 1) -> list[str]:
    """The files with findings under the configurations that there are now."""
    configuration = Configuration(paths=paths)
    found = discover(paths, configuration)
    assert not found.problems
    run = check_paths(found.files, configuration, jobs, cache=cache)
    assert not run.problems
    return [each.filename for each in run.results if each.diagnostics]


class TestSettingsOfAFile:
    def test_are_those_of_the_nearest_configuration(self, tree: Path) -> None:
        configuration = Configuration()
        assert configuration.of("a.py").config_file == tree / "torchdevlint.toml"
        assert configuration.of("src/b.py") is configuration.of("a.py")
        assert configuration.of("sub/c.py").root == tree / "sub"
        assert configuration.of(str(tree / "sub/deep/d.py")) is configuration.of("sub/c.py")
        assert configuration.of("sub/") is configuration.of("./sub/deep/gone.py")
        assert configuration.of("sub").config_file == tree / "torchdevlint.toml", "a file of that name"

    def test_say_the_same_of_the_run(self, tree: Path) -> None:
        configuration = Configuration()
        for name in OF_RUN:
            assert getattr(configuration.of("sub/c.py"), name) == getattr(configuration.run, name)
        assert configuration.of("sub/c.py").output_format == "concise"
        assert configuration.of("sub/c.py").select == ("TDL201",)

    def test_of_the_run_come_from_the_current_folder(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for paths in (("sub", "a.py"), ("a.py", "sub"), ("sub",), ("../elsewhere",)):
            assert Configuration(paths=paths).run.output_format == "concise"
        monkeypatch.chdir(tree / "sub" / "deep")
        assert Configuration(paths=["../.."]).run.output_format == "json"
        assert Configuration(start="../../x.py").run.output_format == "concise", "the name of what stdin stands for"

    def test_of_the_run_come_from_where_all_paths_are_if_not(
        self, tree: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        sub, deep, first = str(tree / "sub"), str(tree / "sub/deep/d.py"), str(tree / "a.py")
        assert Configuration(paths=[sub]).run.output_format == "json"
        assert Configuration(paths=[deep, sub]).run.output_format == "json"
        assert Configuration(paths=[deep, first]).run == Configuration(paths=[first, sub]).run
        assert Configuration(paths=[deep, first]).run.output_format == "concise"
        assert Configuration().run == Settings()

    def test_are_read_once(self, tree: Path) -> None:
        configuration = Configuration()
        before = configuration.of("sub/c.py")
        (tree / "sub" / "pyproject.toml").write_text("[tool.torchdevlint]\n")
        assert configuration.of("sub/deep/d.py") is before

    def test_are_the_defaults_or_one_file_where_that_is_asked_for(self, tree: Path) -> None:
        isolated = Configuration(isolated=True)
        assert isolated.of("sub/c.py") is isolated.of("a.py") is isolated.run
        assert isolated.run == Settings()
        one = Configuration(file=tree / "torchdevlint.toml")
        assert one.of("sub/c.py").ignore == ("TDL201",)

    def test_that_cannot_be_used_are_refused_for_each_file(self, tree: Path) -> None:
        write(tree, "sub/pyproject.toml", "[tool.torchdevlint]\nselekt = []\n")
        configuration = Configuration()
        assert configuration.of("a.py").ignore == ("TDL201",)
        for name in ("sub/c.py", "sub/deep/d.py"):
            with pytest.raises(ConfigError, match=r"sub/pyproject\.toml: unknown key `selekt`"):
                configuration.of(name)
        result = check_paths(["a.py", "sub/c.py"], configuration)
        assert [each.filename for each in result.problems] == ["sub/c.py"]

    def test_have_the_flags_laid_over_them(self, tree: Path) -> None:
        configuration = Configuration(
            finished=lambda settings: overlay(settings, preview=True, extend_select=("TDL5",))
        )
        assert all(configuration.of(name).preview for name in ("a.py", "sub/c.py"))
        assert configuration.of("sub/c.py").extend_select == ("TDL5",)

    def test_in_a_folder_as_deep_as_there_can_be(self, tree: Path) -> None:
        assert Configuration().of("a/" * 1500 + "b.py").root == tree


class TestChecking:
    def test_does_not_depend_on_the_order_of_paths_or_on_processes(self, tree: Path) -> None:
        expected = ["sub/c.py", "sub/deep/d.py"]
        assert flagged("src", "sub", "a.py") == expected
        assert flagged("sub", "a.py", "src", jobs=2) == expected
        assert flagged(".") == expected
        assert flagged("sub/deep/d.py", "a.py") == ["sub/deep/d.py"]

    def test_on_the_command_line(self, tree: Path) -> None:
        outputs = {lint(*paths).stdout for paths in (["src", "sub"], ["sub", "src"], ["check", "sub", "src", "-j2"])}
        (output,) = outputs
        assert [line.split(":")[0] for line in output.splitlines()[:2]] == ["sub/c.py", "sub/deep/d.py"]
        assert lint("src", "sub").returncode == 0, "`fail-on` of the current folder"
        assert lint("sub", "--isolated").returncode == 1
        assert "a.py" in lint("--config", "sub/pyproject.toml", "--output-format", "concise").stdout

    def test_flags_hold_for_every_configuration(self, tree: Path) -> None:
        assert lint("--select", "TDL5", ".").stdout == "No findings.\n"
        assert "a.py" in lint("--select", "TDL201", ".").stdout
        done = lint("--select", "TDL4711", ".")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "unknown code `TDL4711`" in done.stderr

    def test_of_stdin_goes_by_its_name(self, tree: Path) -> None:
        assert lint("check", "--stdin-filename", "sub/x.py", "-", stdin=LOAD).stdout.startswith("[")
        assert lint("check", "--stdin-filename", "x.py", "-", stdin=LOAD).stdout == "No findings.\n"

    def test_goes_on_where_one_configuration_is_broken(self, tree: Path) -> None:
        write(tree, "sub/pyproject.toml", '[tool.torchdevlint]\nselect = ["TDL4711"]\n')
        write(tree, "other/torchdevlint.toml", "")
        write(tree, "other/e.py", LOAD)
        for paths in (["."], ["sub/c.py", "sub/deep", "other"]):
            done = lint(*paths)
            assert done.returncode == 2
            assert done.stdout.startswith("other/e.py:3:9: TDL201")
            refusal = "unknown code `TDL4711` in `select`; did you mean `TDL401`?"
            assert done.stderr == f"error: {tree / 'sub' / 'pyproject.toml'}: {refusal}\n"

    def test_what_the_settings_say_of_code_does_not_reach_other_files(self, tree: Path) -> None:
        """Both import the same class, and are analysed by one process; for one of them it is a module."""
        net = "from mine import Base\n\n\nclass Net(Base):\n    pass\n"
        use = OF_OUR_BASE.replace("(Base)", "(Mine)").replace("mine import Base", "{}nets import Net as Mine")
        write(tree, "torchdevlint.toml", "")
        write(tree, "pkg/__init__.py", "")
        write(tree, "pkg/nets.py", net)
        write(tree, "pkg/a.py", use.format("."))
        write(tree, "pkg/z.py", use.format("."))
        write(tree, "pkg/sub/__init__.py", "")
        write(tree, "pkg/sub/torchdevlint.toml", 'module-bases = ["mine.Base"]\n')
        write(tree, "pkg/sub/c.py", use.format(".."))
        assert flagged("pkg") == ["pkg/sub/c.py"]
        assert flagged("pkg/sub", "pkg/a.py") == ["pkg/sub/c.py"]


class TestKeptResults:
    def test_are_right_when_configurations_come_differ_and_go(self, tree: Path, tmp_path: Path) -> None:
        for name in ("a.py", "sub/c.py"):
            write(tree, name, OF_OUR_BASE)
        (tree / "torchdevlint.toml").write_text("")
        says = {"in": 'module-bases = ["mine.Base"]\n', "out": ""}

        def kept_and_fresh() -> tuple[list[str], list[str]]:
            with Cache(tmp_path / "kept") as cache:
                kept = flagged("a.py", "sub/c.py", cache=cache)
            return kept, flagged("a.py", "sub/c.py")

        seen = []
        for own in ("in", "out", None, "in"):
            file = tree / "sub" / "pyproject.toml"
            file.unlink(missing_ok=True)
            if own is not None:
                file.write_text(f"[tool.torchdevlint]\n{says[own]}")
            kept, fresh = kept_and_fresh()
            assert kept == fresh, own
            seen.append(fresh)
        assert seen == [["sub/c.py"], [], [], ["sub/c.py"]]

    def test_are_beside_the_configuration_of_the_run(self, tree: Path) -> None:
        lint("sub", "src")
        assert (tree / ".torchdevlint_cache").is_dir()
        assert not (tree / "sub" / ".torchdevlint_cache").exists()
        assert f"removed {tree / '.torchdevlint_cache'}" in lint("clean", "sub").stderr


class TestWalking:
    @pytest.fixture
    def walk(self, tree: Path) -> Path:
        write(tree, "torchdevlint.toml", 'extend-exclude = ["gen", "sub/deep"]\n')
        write(tree, "sub/torchdevlint.toml", 'exclude = ["c.py"]\n')
        for name in ("gen/e.py", "sub/gen/f.py", "venv/g.py", "sub/venv/h.py"):
            write(tree, name, "")
        return tree

    def test_each_folder_is_filtered_by_its_own_configuration(self, walk: Path) -> None:
        expected = ("a.py", "src/b.py", "sub/deep/d.py", "sub/gen/f.py", "sub/venv/h.py")
        for paths in ((".",), ("sub", ".", "src"), ("src", "sub", "a.py")):
            assert discover(paths, Configuration()).files == expected, paths

    def test_whether_a_folder_is_entered_says_the_one_above(self, walk: Path) -> None:
        write(walk, "torchdevlint.toml", 'exclude = ["sub"]\n')
        assert "sub/deep/d.py" not in discover(["."], Configuration()).files
        assert "sub/deep/d.py" in discover(["sub"], Configuration()).files

    def test_ignore_files_are_asked_where_the_own_configuration_says_so(self, walk: Path) -> None:
        (walk / ".git").mkdir()
        write(walk, ".gitignore", "a.py\nd.py\n")
        write(walk, "sub/torchdevlint.toml", "respect-gitignore = false\n")
        assert {"a.py", "sub/deep/d.py"} & set(discover(["."], Configuration()).files) == {"sub/deep/d.py"}
        write(walk, "torchdevlint.toml", "respect-gitignore = false\n")
        write(walk, "sub/torchdevlint.toml", "")
        assert {"a.py", "sub/deep/d.py"} & set(discover(["."], Configuration()).files) == {"a.py"}

    def test_what_is_named_goes_by_its_own_configuration(self, walk: Path) -> None:
        done = lint("--show-files", "--force-exclude", "sub/c.py", "sub/gen/f.py", "gen/e.py", "sub/deep")
        assert done.stdout.splitlines() == ["sub/deep/d.py", "sub/gen/f.py"]

    @pytest.mark.parametrize("pattern", ["sub/gen", "./sub/gen/*.py", "*/gen", "**/gen", "sub/**/f.py", "gen"])
    def test_patterns_of_flags_are_relative_to_the_current_folder(self, walk: Path, pattern: str) -> None:
        shown = lint("--show-files", "--extend-exclude", pattern, "sub", "src").stdout.splitlines()
        assert shown == ["src/b.py", "sub/deep/d.py", "sub/venv/h.py"]

    @pytest.mark.parametrize(
        ("pattern", "left"),
        [
            ("sub/c.py", ["src/b.py", "sub/deep/d.py"]),
            ("*/c.py", ["src/b.py", "sub/deep/d.py"]),
            ("!src/*", ["src/b.py"]),
            ("!sub/**", ["sub/c.py", "sub/deep/d.py"]),
            ("d.py", ["src/b.py", "sub/c.py"]),
        ],
    )
    def test_so_are_those_of_per_file_ignores(self, walk: Path, pattern: str, left: list[str]) -> None:
        (walk / "sub" / "torchdevlint.toml").write_text("")
        flags = ["--select", "TDL201", "--output-format", "pylint", "--per-file-ignores", f"{pattern}:TDL201"]
        assert [line.split(":")[0] for line in lint(*flags, "sub", "src").stdout.splitlines()] == left


def test_fixes_go_by_the_nearest_configuration(tree: Path) -> None:
    write(tree, "torchdevlint.toml", 'unfixable = ["TDL201"]\nunsafe-fixes = true\n')
    write(tree, "sub/pyproject.toml", "[tool.torchdevlint]\n")
    lint("check", "--fix", "a.py", "sub")
    assert (tree / "a.py").read_text() == LOAD
    assert "map_location" in (tree / "sub" / "c.py").read_text(), "with `unsafe-fixes` of the current folder"


def test_comments_are_added_by_the_nearest_configuration(tree: Path) -> None:
    lint("check", "--add-noqa", ".")
    assert (tree / "a.py").read_text() == LOAD
    assert "# noqa: TDL201" in (tree / "sub" / "c.py").read_text()


def test_each_configuration_has_its_baseline(tree: Path) -> None:
    write(tree, "torchdevlint.toml", "")
    write(tree, "sub/pyproject.toml", "[tool.torchdevlint]\n")
    assert lint("--write-baseline", "known.json", "a.py").returncode == 0
    assert lint("--write-baseline", "sub/known.json", "sub/c.py").returncode == 0
    write(tree, "torchdevlint.toml", 'baseline = "known.json"\noutput-format = "concise"\n')
    write(tree, "sub/pyproject.toml", '[tool.torchdevlint]\nbaseline = "known.json"\n')
    done = lint("check", "-v", ".")
    assert [line.split(":")[0] for line in done.stdout.splitlines() if "TDL201" in line] == [
        "src/b.py",
        "sub/deep/d.py",
    ]
    assert done.stderr == ("note: 1 finding of known.json not shown\nnote: 1 finding of sub/known.json not shown\n")
    assert "known.json" not in lint("check", "-v", "--baseline", "sub/known.json", "src").stderr.replace(
        "sub/known.json", ""
    )
    (tree / "sub" / "known.json").unlink()
    done = lint("check", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sub/known.json: there is no such baseline" in done.stderr


def test_show_settings_says_of_what(tree: Path) -> None:
    lines = lint("check", "--show-settings", "sub/c.py", "a.py").stdout.splitlines()
    sub = tree / "sub"
    assert lines[:3] == [
        "# what holds for sub/c.py",
        f"# {sub / 'pyproject.toml'}",
        f"# patterns are relative to {sub}",
    ]
    assert 'select = ["TDL201"]' in lines
    assert 'output-format = "concise"' in lines
    assert lint("check", "--show-settings", "sub").stdout.splitlines()[0] == "# what holds for sub"
    assert lint("check", "--show-settings", "sub").stdout.splitlines()[1:] == lines[1:]


def test_flake8_goes_by_the_nearest_configuration_too(tree: Path) -> None:
    write(tree, "torchdevlint.toml", "")
    write(tree, "sub/pyproject.toml", '[tool.torchdevlint]\nmodule-bases = ["mine.Base"]\n')
    for name in ("a.py", "sub/c.py"):
        write(tree, name, OF_OUR_BASE)
    for paths in (["a.py", "sub/c.py"], ["sub/c.py", "a.py"]):
        done = python("-m", "flake8", "--select", "TDL1", *paths, cwd=tree)
        assert {line.split(":")[0] for line in done.stdout.splitlines()} == {"sub/c.py"}
    write(tree, "sub/pyproject.toml", "[tool.torchdevlint]\nselekt = 1\n")
    done = python("-m", "flake8", "--select", "TDL", "a.py", "sub/c.py", cwd=tree)
    assert done.returncode == 1
    assert "unknown key `selekt`" in done.stderr
