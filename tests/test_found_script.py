"""``benchmarks/found``: every bug has a script that showed it, and the page is made of what is stored."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "benchmarks" / "found"


def _run(*arguments: str, script: Path = FOUND / "run.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_page_is_made_of_what_is_stored() -> None:
    done = _run("page", "--check", "docs/found.md")
    assert done.returncode == 0, done.stderr


def test_hunts_are_told_as_they_are_stored() -> None:
    done = _run("hunted", "--check", "docs/hunt.md")
    assert done.returncode == 0, done.stderr


def test_a_report_has_to_be_judged_and_stays_so(tmp_path: Path) -> None:
    copy = tmp_path / "benchmarks" / "found"
    shutil.copytree(FOUND, copy)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("ecosystem"))
    (copy / "hunted.jsonl").unlink()
    target = {"module": "torch.package", "qualname": "f"}
    raised = {"filename": "/site/torch/package.py", "line": 3}
    failure = {"target": target, "mode": "call", "raised": raised}
    targets = [{"why": ""}, {"why": "it takes no tensor"}, {"why": "the time was up (--stop-after)"}]
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"torch": "2.13.0", "targets": targets, "bugs": [{"failure": failure}]}))
    add = ("hunted", "--add", "torch", str(report), "--seconds", "7")
    assert _run(*add, script=copy / "run.py").returncode == 0
    unjudged = _run("hunted", script=copy / "run.py")
    assert unjudged.returncode == 2
    assert "torch.package:f (call) has no verdict" in unjudged.stderr
    row = json.loads((copy / "hunted.jsonl").read_text(encoding="utf-8"))
    assert (row["targets"], row["begun"], row["executed"]) == (3, 2, 1)
    row["reports"][0]["verdict"] = "true"
    (copy / "hunted.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert _run(*add, script=copy / "run.py").returncode == 0
    told = _run("hunted", script=copy / "run.py")
    assert "| 3 | 2 | 50 % | 1 | 1 | 0 | 0 | 7 |" in told.stdout


def test_a_bug_that_has_not_shown_itself_is_not_told(tmp_path: Path) -> None:
    copy = tmp_path / "benchmarks" / "found"
    shutil.copytree(FOUND, copy)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("ecosystem"))
    rows = [json.loads(line) for line in (copy / "executed.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[0]["outcome"] = "runs on accelerators too"
    (copy / "executed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = _run("page", script=copy / "run.py")
    assert done.returncode == 2
    assert f"{rows[0]['script']} has not shown its bug" in done.stderr


def test_what_a_gpu_showed_is_told_beside_what_it_could_not(tmp_path: Path) -> None:
    copy = tmp_path / "benchmarks" / "found"
    shutil.copytree(FOUND, copy)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("ecosystem"))
    found = [json.loads(line) for line in (copy / "found.jsonl").read_text(encoding="utf-8").splitlines()]
    first, second = [one["script"] for one in found if one.get("accelerators", 1) == 1][:2]
    told = {"script": first, "version": "1", "torch": "2.11.0", "error": "", "raised": "", "gpu": "A GPU"}
    rows = [{**told, "outcome": "shown"}, {**told, "script": second, "outcome": "runs on accelerators too"}]
    (copy / "real.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = _run("page", script=copy / "run.py")
    assert "**1 of 2 scripts show their bug on a real GPU** (A GPU with torch 2.11.0)." in done.stdout
    assert "`opacus_data_parallel` need several GPUs; `" in done.stdout


@pytest.mark.network
def test_scripts_show_their_bugs_again(tmp_path: Path) -> None:
    """The libraries come from the index, without what they need: these two need torch alone."""
    site = tmp_path / "site"
    wanted = ["pytorch-partial-crf==0.2.1", "torchnorms==1.5.8"]
    subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(site), *wanted], check=True)
    command = [sys.executable, str(FOUND / "run.py"), "execute", "--only", "partial_crf,torchnorms"]
    env = {"PYTHONPATH": str(site), "PATH": ""}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shown: 3," in done.stdout
