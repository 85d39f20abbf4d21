"""`include`, `cache-dir` and `required-version`: what a walk takes, where results are, which version may read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import python
from torchdevlint import __version__
from torchdevlint.cache import Cache
from torchdevlint.config import ConfigError, Configuration, load
from torchdevlint.discover import discover
from torchdevlint.engine import check_paths
from torchdevlint.keys import is_allowed
from torchdevlint.select import check

LOAD = "import torch\n\nstate = torch.load('model.pt')\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, text: str = LOAD) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def lint(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "torchdevlint", *arguments, cwd=Path.cwd())


class TestInclude:
    @pytest.fixture(autouse=True)
    def files(self, folder: Path) -> None:
        for name in ("a.py", "a.pyw", "a.ipynb", "src/b.py", "src/b.pyi", "src/gen/c.py", "scripts/d", "scripts/d.py"):
            write(folder, name)

    @pytest.mark.parametrize(
        ("include", "taken"),
        [
            ('["*.pyw"]', ["a.pyw"]),
            ('["src/**/*.py"]', ["src/b.py"]),
            ('["scripts/", "*.ipynb"]', ["a.ipynb", "scripts/d", "scripts/d.py"]),
            ('["*.py", "!src/**"]', ["a.py", "scripts/d.py"]),
            ("[]", []),
            ('["*.py", "*.pyi", "*.ipynb"]', ["a.ipynb", "a.py", "scripts/d.py", "src/b.py", "src/b.pyi"]),
        ],
    )
    def test_says_what_a_walk_takes(self, folder: Path, include: str, taken: list[str]) -> None:
        write(folder, "torchdevlint.toml", f'include = {include}\nextend-exclude = ["gen"]\n')
        assert list(discover(["."], Configuration()).files) == taken
        below = [file for file in taken if file.startswith("src/")]
        assert list(discover(["src"], Configuration()).files) == below, "patterns are relative to the configuration"

    def test_what_is_named_is_taken_anyway(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'include = ["*.pyi"]\n')
        assert discover(["a.py", "src/gen/c.py"], Configuration()).files == ("a.py", "src/gen/c.py")
        done = lint("check", "--show-files", "--force-exclude", "a.py")
        assert done.stdout == "a.py\n"

    def test_each_folder_has_its_own(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'include = ["a.*"]\n')
        write(folder, "src/torchdevlint.toml", "")
        assert discover(["."], Configuration()).files == (
            "a.ipynb",
            "a.py",
            "a.pyw",
            "src/b.py",
            "src/b.pyi",
            "src/gen/c.py",
        )

    def test_of_an_extended_file_is_relative_to_that(self, folder: Path) -> None:
        write(folder, "base.toml", 'include = ["src/*.py"]\n')
        write(folder, "src/torchdevlint.toml", 'extend = "../base.toml"\n')
        assert discover(["src"], Configuration(paths=["src"])).files == ("src/b.py",)

    def test_what_is_no_pattern_is_refused(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'include = ["*a*b*c*d*e*f"]\n')
        with pytest.raises(
            ConfigError, match=r"torchdevlint\.toml: `\*a\*b\*c\*d\*e\*f` in `include` is not a pattern"
        ):
            check(load(folder))


class TestCacheDir:
    def test_is_relative_to_its_file_and_clean_knows_it(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'cache-dir = "var/kept"\n')
        write(folder, "src/a.py")
        assert lint("check", "src").returncode == 1
        assert (folder / "var" / "kept" / "results.sqlite").is_file()
        assert not (folder / ".torchdevlint_cache").exists()
        assert lint("clean").stderr == f"removed {folder / 'var' / 'kept'}\n"

    def test_of_an_extended_file_and_of_the_home_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.setenv("USERPROFILE", str(folder / "home"))
        write(folder, "shared/base.toml", 'cache-dir = "kept"\n')
        write(folder, "torchdevlint.toml", 'extend = "shared/base.toml"\n')
        assert lint("clean").stderr.endswith(f"there is no {folder / 'shared' / 'kept'}\n")
        write(folder, "shared/base.toml", 'cache-dir = "~/kept"\n')
        assert lint("clean").stderr.endswith(f"there is no {folder / 'home' / 'kept'}\n")
        assert lint("clean", "--cache-dir", "mine").stderr.endswith(f"there is no {folder / 'mine'}\n")

    def test_a_folder_of_something_else_stays_as_it_is(self, folder: Path) -> None:
        other = write(folder, "theirs/results.sqlite", "measurements")
        write(folder, "torchdevlint.toml", 'cache-dir = "theirs"\n')
        write(folder, "a.py")
        assert lint("check", "a.py").returncode == 1
        assert [file.name for file in other.parent.iterdir()] == ["results.sqlite"]
        assert other.read_text() == "measurements"
        with Cache(other.parent) as cache:
            assert len(check_paths(["a.py"], Configuration(), cache=cache).diagnostics) == 1


class TestRequiredVersion:
    @pytest.mark.parametrize(
        ("required", "version", "allowed"),
        [
            (">=0.1,<2", "1.9", True),
            (">=0.1,<2", "2.0", False),
            ("~=1.2", "1.9.1", True),
            ("==1.*", "1.4", True),
            ("1.4", "1.4.0", True),
            ("1.4", "1.4.1", False),
            (">=1.0", "1.1.dev3", True),
            ("", "1.0", True),
        ],
    )
    def test_is_read_as_that_of_a_package(self, required: str, version: str, allowed: bool) -> None:
        assert is_allowed(required, version) is allowed

    def test_of_another_version_is_one_line_before_keys_that_are_unknown(self, folder: Path) -> None:
        write(folder, "torchdevlint.toml", 'required-version = ">=99"\nof-the-future = 1\n')
        done = lint(".")
        message = f'`required-version` is ">=99", and this is torchdevlint {__version__}'
        assert (done.returncode, done.stderr) == (2, f"error: {folder / 'torchdevlint.toml'}: {message}\n")
        write(folder, "torchdevlint.toml", f'required-version = "=={__version__}"\n')
        assert lint(".").returncode == 0

    def test_of_an_extended_file_counts_as_well(self, folder: Path) -> None:
        write(folder, "base.toml", 'required-version = "<0"\n')
        write(folder, "torchdevlint.toml", f'extend = "base.toml"\nrequired-version = "{__version__}"\n')
        with pytest.raises(ConfigError, match=r"base\.toml: `required-version`"):
            load(folder)

    def test_what_is_no_requirement_is_refused(self, folder: Path) -> None:
        for said in ('"new"', "1", '">="'):
            write(folder, "torchdevlint.toml", f"required-version = {said}\n")
            with pytest.raises(ConfigError, match='must be a requirement such as ">=0'):
                load(folder)

    def test_what_reads_it_is_loaded_where_it_is_set_only(self, folder: Path) -> None:
        program = (
            "import sys; from pathlib import Path; from torchdevlint.config import load; "
            "load(Path()); print('packaging' in sys.modules)"
        )
        write(folder, "torchdevlint.toml", "preview = true\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == "False\n"
