"""The dependencies have bounds, and both ends of them do."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
REQUIREMENT = re.compile(r'"([A-Za-z][\w-]*)((?:[<>=]=?[\d.]+,?)+)[^"]*"')
NEEDED = {
    "click",
    "libcst",
    "msgspec",
    "pathspec",
    "rich",
    "flake8",
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "expecttest",
    "jsonschema",
} | ({"tomli"} if sys.version_info < (3, 11) else set())
TESTED = """
test_discover.py test_config.py test_hierarchy.py test_cache.py test_suppress.py test_cases.py test_baseline.py
test_files.py report syntax source cli/test_main.py cli/test_clean.py integrations/test_flake8.py
""".split()
"""Tests that need no torch."""


def requirements() -> dict[str, str]:
    """The bounds of each requirement of the project and its extras."""
    return dict(REQUIREMENT.findall(PYPROJECT))


def test_every_requirement_has_both_bounds() -> None:
    """But torch, which users choose, and of which `verify` needs a lower bound only."""
    found = requirements()
    assert {"click", "libcst", "msgspec", "pathspec", "rich", "tomli", "flake8", "pytest"} <= found.keys()
    unbounded = {name for name, bounds in found.items() if not re.fullmatch(r"(>=|==)[\d.]+,<[\d.]+", bounds)}
    assert unbounded == {"torch"}


@pytest.mark.network
@pytest.mark.parametrize("end", ["lowest", "highest"])
def test_both_ends(tmp_path: Path, end: str) -> None:
    """Tests that need no torch, with each requirement at one of its bounds."""
    needed = {name: bounds for name, bounds in requirements().items() if name in NEEDED}
    lowest = [f"{name}=={bounds.partition(',')[0].removeprefix('>=')}\n" for name, bounds in needed.items()]
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("".join(lowest) if end == "lowest" else "")
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", str(constraints), str(ROOT)]
    subprocess.run([*install, *(f"{name}{bounds}" for name, bounds in needed.items())], check=True)
    paths = [f"tests/{name}" for name in TESTED]
    done = subprocess.run([python, "-m", "pytest", "-q", "-n", "2", "-m", "not network", *paths], cwd=ROOT, check=False)
    assert done.returncode == 0
