"""`extend`: what a configuration that stands on another one comes to, and who notices when that changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forked import python
from torchdevlint.cache import Cache
from torchdevlint.cli.watch import _configurations
from torchdevlint.config import DEFAULT_EXCLUDE, ConfigError, Configuration, Settings, Verify, load
from torchdevlint.discover import discover
from torchdevlint.engine import check_paths
from torchdevlint.select import check, ignored_for

LOAD = "import torch\n\nstate = torch.load('model.pt')\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_each_key_goes_its_way(folder: Path) -> None:
    write(
        folder,
        "shared/base.toml",
        """
        select = ["TDL0", "TDL2"]
        extend-select = ["TDL5"]
        ignore = ["TDL001"]
        unfixable = ["TDL201"]
        extend-exclude = ["old"]
        per-file-ignores = { "tests" = ["TDL2"] }
        severity = { TDL201 = "error" }
        preview = true
        target-torch = "2.4"
        verify = { timeout = 5, with-command = "pytest" }
        """,
    )
    own = write(
        folder,
        "torchdevlint.toml",
        """
        extend = "shared/base.toml"
        extend-select = ["TDL6"]
        ignore = ["TDL002"]
        unfixable = ["TDL202"]
        extend-exclude = ["new"]
        per-file-ignores = { "docs" = ["TDL0"] }
        severity = { TDL202 = "advice" }
        preview = false
        verify.timeout = 7
        """,
    )
    assert load(folder) == Settings(
        root=folder,
        config_file=own,
        extend="shared/base.toml",
        select=("TDL0", "TDL2"),
        extend_select=("TDL5", "TDL6"),
        ignore=("TDL001", "TDL002"),
        unfixable=("TDL201", "TDL202"),
        exclude=DEFAULT_EXCLUDE,
        extend_exclude=("old", "new"),
        per_file_ignores=(("docs", ("TDL0",)),),
        severity=(("TDL202", "advice"),),
        target_torch="2.4",
        verify=Verify(timeout=7.0, with_command="pytest"),
    )


def test_select_and_fixable_begin_anew(folder: Path) -> None:
    write(folder, "base.toml", 'extend-select = ["TDL5"]\nignore = ["TDL2"]\nunfixable = ["TDL201"]\n')
    write(folder, "torchdevlint.toml", 'extend = "base.toml"\nselect = ["TDL2"]\nfixable = ["ALL"]\n')
    settings = load(folder)
    assert (settings.select, settings.extend_select, settings.ignore) == (("TDL2",), (), ())
    assert (settings.fixable, settings.unfixable) == (("ALL",), ())


def test_a_chain_from_the_home_folder_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("USERPROFILE", str(folder / "home"))
    write(folder, "home/mine.toml", 'ignore = ["TDL001"]\npreview = true\n')
    write(folder, "pyproject.toml", '[tool.torchdevlint]\nextend = "~/mine.toml"\nignore = ["TDL002"]\n')
    write(folder, "a/b/torchdevlint.toml", 'extend = "../../pyproject.toml"\nignore = ["TDL003"]\n')
    settings = load(folder / "a" / "b" / "x.py")
    assert settings.ignore == ("TDL001", "TDL002", "TDL003")
    assert (settings.preview, settings.root) == (True, folder / "a" / "b")


class TestPatterns:
    """Those with a folder in them are relative to the folder of the file that has them."""

    @pytest.mark.parametrize(
        ("base", "own"), [("conf/base.toml", "torchdevlint.toml"), ("base.toml", "sub/torchdevlint.toml")]
    )
    def test_stay_relative_to_their_file(self, folder: Path, base: str, own: str) -> None:
        here, there = folder / Path(base).parent, folder / Path(own).parent
        upwards = "../" * (len(Path(own).parts) - 1)
        write(folder, base, 'extend-exclude = ["gen/*.py"]\nper-file-ignores = { "x/*.py" = ["TDL2"] }\n')
        write(folder, own, f'extend = "{upwards}{base}"\nextend-exclude = ["made/*.py"]\n')
        for name in ("gen/a.py", "made/b.py", "x/c.py"):
            write(here, name, LOAD)
            write(there, name, LOAD)
        settings = load(there)
        found = {folder / file for file in discover([str(folder)], settings).files}
        wanted = {here / "made/b.py", there / "gen/a.py", here / "x/c.py", there / "x/c.py"}
        assert found == wanted
        assert list(ignored_for(settings, str(here / "x/c.py"))) == ["TDL2"]
        assert not list(ignored_for(settings, str(there / "x/c.py")))

    def test_plain_names_mean_folders_of_the_project_only(self, folder: Path) -> None:
        """The folder that both files are in is called as what is excluded is."""
        write(folder, "build/shared/base.toml", 'extend-exclude = ["old"]\n')
        write(
            folder, "build/project/torchdevlint.toml", 'extend = "../shared/base.toml"\nexclude = ["build", "gen/*"]\n'
        )
        for name in ("a.py", "build/b.py", "gen/c.py", "old/d.py"):
            write(folder, f"build/project/{name}", LOAD)
        assert discover(["build/project"], Configuration()).files == ("build/project/a.py",)


def test_a_baseline_stays_where_its_file_is(folder: Path) -> None:
    write(folder, "shared/base.toml", 'baseline = "known.json"\n')
    write(folder, "project/torchdevlint.toml", 'extend = "../shared/base.toml"\n')
    assert load(folder / "project").baseline == str(folder / "shared" / "known.json")
    write(folder, "shared/base.toml", 'baseline = "../known.json"\n')
    with pytest.raises(ConfigError, match=r"shared/base\.toml: `baseline` leads out"):
        load(folder / "project")


class TestRefusals:
    def refused(self, folder: Path) -> str:
        done = python("-m", "torchdevlint", ".", cwd=folder)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        return done.stderr.replace(str(folder), "F")

    def test_a_circle_names_its_files(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'extend = "a.toml"\n')
        write(folder, "a.toml", 'extend = "sub/b.toml"\n')
        write(folder, "sub/b.toml", 'extend = "../a.toml"\n')
        said = "error: `extend` leads in a circle: F/a.toml -> F/sub/b.toml -> F/a.toml\n"
        assert self.refused(folder) == said
        write(folder, "torchdevlint.toml", 'extend = "./torchdevlint.toml"\n')
        said = "error: `extend` leads in a circle: F/torchdevlint.toml -> F/torchdevlint.toml\n"
        assert self.refused(folder) == said

    def test_a_missing_file_and_one_without_our_table(self, folder: Path) -> None:
        own = write(folder, "torchdevlint.toml", 'extend = "none.toml"\n')
        where = "(`extend` in F/torchdevlint.toml)\n"
        assert self.refused(folder) == f"error: F/none.toml: cannot be read: No such file or directory {where}"
        write(folder, "other/pyproject.toml", "[tool.ruff]\n")
        own.write_text('extend = "other/pyproject.toml"\n')
        assert self.refused(folder).startswith("error: F/other/pyproject.toml: there is no [tool.torchdevlint] table")
        own.write_text("extend = 1\n")
        assert self.refused(folder) == "error: F/torchdevlint.toml: `extend` must be a string, not 1\n"

    def test_what_is_wrong_there_is_said_of_there(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'extend = "base.toml"\n')
        write(folder, "base.toml", "selekt = 1\n")
        assert self.refused(folder).startswith("error: F/base.toml: unknown key `selekt`")
        write(folder, "base.toml", 'select = ["TDL4711"]\n')
        with pytest.raises(ConfigError, match=r"torchdevlint\.toml or what it extends: unknown code `TDL4711`"):
            check(load(folder))


class TestChanges:
    """Of the file that is extended, while the one that extends it stays as it is."""

    def test_are_seen_by_a_run_with_kept_results(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'extend = "base.toml"\n')
        text = "import torch\nfrom mine import Base\n\n\nclass Net(Base):\n    def __init__(self):\n"
        text += "        super().__init__()\n        self.w = torch.zeros(2)\n\n    def forward(self, x):\n"
        write(folder, "a.py", f"{text}        return x + self.w\n")
        seen = []
        for said in ("", 'module-bases = ["mine.Base"]\n', 'module-bases = ["mine.Base"]\nignore = ["TDL"]\n', ""):
            write(folder, "base.toml", said)
            with Cache(folder / "kept") as cache:
                seen.append(len(check_paths(["a.py"], Configuration(), cache=cache).diagnostics))
        assert seen == [0, 1, 0, 0]

    def test_are_watched_for(self, folder: Path) -> None:
        flags = {"config": (), "isolated": False}
        write(folder, "torchdevlint.toml", 'extend = "base.toml"\n')
        base = write(folder, "base.toml", 'extend = "none.toml"\n')
        watched = {str(base), str(folder / "none.toml")}
        assert watched < set(_configurations(flags)), "although it cannot be used"
        write(folder, "none.toml", "")
        assert watched <= set(Configuration().sources())
        assert watched <= set(Configuration(file=Path("torchdevlint.toml")).sources())

    def test_of_one_that_is_missing_in_a_folder_below(self, folder: Path) -> None:
        write(folder, "sub/torchdevlint.toml", 'extend = "none.toml"\n')
        configuration = Configuration()
        with pytest.raises(ConfigError, match=r"none\.toml"):
            configuration.of("sub/a.py")
        assert str(folder / "sub" / "none.toml") in configuration.sources()
