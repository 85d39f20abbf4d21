"""Linting runs nothing of what is linted, not even where the folder holds modules of the names that Python imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import python

BUG = "import torch\n\nstate = torch.load('model.pt')\n"
FINDING = "package/loading.py:3:9: TDL201"
SPECIAL = "setup conftest sitecustomize usercustomize noxfile click libcst rich pathspec tomli yaml flake8"
START = """\
import multiprocessing, sys
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv.pop(1))
    from torchdevlint.cli import main
    main()
"""
FLAKE8 = "import sys; from flake8.main.cli import main; sys.exit(main())"


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder with a finding, in which everything that can be imported leaves a trace if it is.

    What Python itself imports for ``python -m`` is not among it: no module can take that back.
    """
    (tmp_path / "first.py").write_text("import sys\nprint(*sys.modules)\n")
    before = set(python("-m", "first", cwd=tmp_path).stdout.split())
    folder = tmp_path / "trap"
    (folder / "package").mkdir(parents=True)
    trace = f"open({str(tmp_path / 'trace')!r}, 'a').write(__file__)\n"
    for name in sorted({*sys.stdlib_module_names, *SPECIAL.split()} - before):
        (folder / f"{name}.py").write_text(trace)
    (folder / "package" / "__init__.py").write_text(f"{trace}from package import loading\n")
    (folder / "package" / "other.py").write_text(f"{trace}import torch\n\n\ndef make(): return torch.zeros(3)\n")
    (folder / "package" / "loading.py").write_text(f"{BUG}{trace}from package.other import make\nfrom click import *\n")
    return folder


def check(trap: Path, done: subprocess.CompletedProcess[str]) -> None:
    assert FINDING in done.stdout, done.stderr
    assert (done.returncode, done.stderr) == (1, "")
    assert not (trap.parent / "trace").exists(), (trap.parent / "trace").read_text()


ARGUMENTS = ("check", "--quiet", "--output-format", "concise", ".")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_as_a_module(trap: Path, jobs: str) -> None:
    check(trap, python("-m", "torchdevlint", *ARGUMENTS, "--jobs", jobs, cwd=trap))


@pytest.mark.parametrize("method", ["spawn"])
def test_as_a_script_with_workers_that_are_started_afresh(trap: Path, method: str) -> None:
    (trap / "torchdevlint.py").write_text((trap / "click.py").read_text())
    script = trap.parent / "bin" / "torchdevlint"
    script.parent.mkdir()
    script.write_text(START)
    check(trap, python(str(script), method, *ARGUMENTS, "--jobs", "2", cwd=trap))


def test_in_flake8(trap: Path) -> None:
    script = trap.parent / "bin" / "flake8"
    script.parent.mkdir()
    script.write_text(FLAKE8)
    check(trap, python(str(script), "--isolated", "--select=TDL", "--jobs=1", "package", cwd=trap))
