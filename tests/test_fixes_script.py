"""`scripts/fixes.py`: safe fixes of a sample are what they are held to, and it would see one that is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.casefile import read_cases
from tests.conftest import a_part

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from fixes import executed  # noqa: E402
from fixes.proof import prove, undefined  # noqa: E402

CASES = [case for case in read_cases() if case.want]
PACKAGE = """import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * torch.arange(3)
"""


@pytest.mark.parametrize("part", a_part(range(8), of=8))
def test_safe_fixes_of_the_cases_lose_no_name_and_leave_nothing_open(part: int) -> None:
    proofs = [prove(case.code.encode(), "case.py") for case in CASES[part::8]]
    fixed = [proof for proof in proofs if proof is not None]
    lost = [fault for proof in fixed for fault in proof.faults if not fault.startswith("found only")]
    assert fixed
    assert lost == []


def test_a_name_that_is_lost_is_seen() -> None:
    assert undefined(b"def f(x):\n    return x\n\n\ny = x.device\n") == ["x"]
    assert undefined(b"def f(") != []


@pytest.mark.usefixtures("in_forks")
def test_a_function_is_run_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "scale.py"
    path.write_text(PACKAGE, encoding="utf-8")
    told = {"notes": [], "silent": False, "claims": [], "on_cpu": False}
    finding = {"path": str(path), "code": "TDL014", "at": [5, 16, 5, 31], **told}
    right = PACKAGE.replace("arange(3)", "arange(3, device=x.device)")
    assert executed.compare(path, right, finding).same
    assert executed.compare(path, PACKAGE.replace("arange(3)", "arange(3) + 1"), finding).same is False
    assert executed.compare(path, PACKAGE.replace("arange(3)", "arange(3, device=y.device)"), finding).same is False
    assert path.read_text(encoding="utf-8") == PACKAGE


def test_the_command_tells_what_it_did(tmp_path: Path) -> None:
    tmp_path.joinpath("scale.py").write_text(PACKAGE, encoding="utf-8")
    command = [sys.executable, str(ROOT / "scripts" / "fixes.py"), "prove", "--diff", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "+    return x * torch.arange(3, device=x.device)" in done.stdout
    assert "TDL014 1" in done.stdout
