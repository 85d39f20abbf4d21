"""What is released: an sdist that a wheel can be built from, and a wheel that lints where nothing else of this is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from tests.conftest import ROOT, python
from torchdevlint import __version__

pytestmark = pytest.mark.xdist_group("release")
BUG = "import torch\n\nstate = torch.load('model.pt')\n"
CLONE_ONLY = {".ci", ".git", ".gitignore"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    done = python("-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from that holds what the wheel holds."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def distribution(site: Path) -> PathDistribution:
    (info,) = site.glob("*.dist-info")
    return PathDistribution(info)


def files(folder: Path, *patterns: str) -> Iterator[str]:
    for pattern in patterns:
        for path in folder.rglob(pattern):
            if "__pycache__" not in path.parts and path.is_file():
                yield path.relative_to(folder).as_posix()


def test_the_wheel_holds_the_package_and_nothing_else(site: Path) -> None:
    package = {f"torchdevlint/{name}" for name in files(ROOT / "torchdevlint", "*.py", "py.typed", "schema.json")}
    assert "torchdevlint/py.typed" in package
    assert {name for name in files(site, "*") if ".dist-info/" not in name} == package
    assert not [name for name in package if Path(name).name.startswith(("test_", "conftest"))]


def test_the_sdist_holds_what_a_clone_holds(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"tests/{name}" for name in files(ROOT / "tests", "*.py", "*.md")} <= held
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    tracked = listed.splitlines()
    assert {name for name in tracked if name.split("/")[0] not in CLONE_ONLY} <= held
    assert not [name for name in held if "__pycache__" in name or name.startswith((".venv", "dist/", "site/"))]


def test_the_metadata_is_complete(distribution: PathDistribution) -> None:
    said = distribution.metadata
    assert (said["Name"], said["Version"], said["Requires-Python"]) == ("torchdevlint", __version__, ">=3.10")
    assert (said["License-Expression"], said["License-File"]) == ("MIT", "LICENSE")
    assert said["Description-Content-Type"] == "text/markdown"
    assert str(said.get_payload()).startswith("# torchdevlint\n")
    assert {"Typing :: Typed", "Framework :: Flake8", "Framework :: Pytest"} <= set(said.get_all("Classifier") or ())
    assert {url.partition(",")[0] for url in said.get_all("Project-URL") or ()} == {"Documentation", "Rules"}
    for requirement in distribution.requires or ():
        bounds, _, marker = requirement.partition(";")
        assert "extra ==" in marker or ("<" in bounds and ">=" in bounds), requirement
    points = {(point.group, point.name, point.value) for point in distribution.entry_points}
    assert points == {
        ("console_scripts", "torchdevlint", "torchdevlint.cli:script"),
        ("flake8.extension", "TDL", "torchdevlint.integrations.flake8:Plugin"),
        ("pytest11", "torchdevlint", "torchdevlint.integrations.pytest"),
    }


def test_the_version_is_written_once() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "torchdevlint").rglob("*.py"))
    text += (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert text.count(__version__) == 1
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


@pytest.mark.slow
def test_what_is_in_the_wheel_lints_and_is_a_flake8_plugin(site: Path, tmp_path: Path) -> None:
    (tmp_path / "bug.py").write_text(BUG)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return python(*arguments, cwd=tmp_path, PYTHONPATH=str(site))

    where = run("-c", "import torchdevlint; print(torchdevlint.__file__)").stdout
    assert where.strip() == str(site / "torchdevlint" / "__init__.py")
    done = run("-m", "torchdevlint", "--isolated", "--no-cache", "--output-format", "concise", "bug.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("bug.py:3:9: TDL201 ")
    assert f"torchdevlint: {__version__}" in " ".join(run("-m", "flake8", "--version").stdout.split())
    assert run("-m", "flake8", "--isolated", "--select", "TDL", "bug.py").stdout.startswith("bug.py:3:9: TDL201 ")


@pytest.mark.network
def test_it_installs_in_an_empty_environment(built: Path, wheel: Path, tmp_path: Path) -> None:
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([sys.executable, "-m", "venv", str(scripts.parent)], check=True)

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        name, *arguments = command
        return subprocess.run(
            [str(scripts / name), *arguments], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    (tmp_path / "bug.py").write_text(BUG)
    assert run("python", "-m", "pip", "install", "--quiet", str(wheel)).returncode == 0
    assert run("torchdevlint", "--version").stdout == f"torchdevlint {__version__}\n"
    done = run("torchdevlint", "bug.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert "TDL201" in done.stdout
    assert run("torchdevlint", "rule", "TDL201").returncode == 0
    assert run("python", "-c", "import torch").returncode == 1
    assert run("python", "-m", "pip", "install", "--quiet", f"{wheel}[flake8]", "twine").returncode == 0
    assert f"torchdevlint: {__version__}" in " ".join(run("flake8", "--version").stdout.split())
    assert run("flake8", "--select", "TDL", "bug.py").stdout.startswith("bug.py:3:9: TDL201 ")
    done = run("twine", "check", "--strict", *map(str, built.iterdir()))
    assert done.returncode == 0, done.stdout
