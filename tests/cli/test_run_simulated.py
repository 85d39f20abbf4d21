"""`torchdevlint run` on the simulated backend."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import conftest
from tests.conftest import needs_fork
from tests.forked import python

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="programs need torch")


def run(folder: Path, source: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(source)
    return python(
        "-m", "torchdevlint", "run", *flags, "--", sys.executable, "train.py", cwd=folder, OMP_NUM_THREADS="1"
    )


def recorded(folder: Path, source: str, *flags: str, status: int = 1) -> dict[str, Any]:
    done = run(folder, source, *flags, "--output-format", "json", "-o", "report.json")
    assert done.returncode == status, done.stderr
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def row(place: dict[str, Any] | None) -> int | None:
    return None if place is None else place["location"]["row"]


def operands(error: dict[str, Any]) -> list[tuple[str, str, int | None, int | None]]:
    """What the code or else torch calls it, device, and the lines on which each operand was made and moved."""
    return [
        (one["variable"] or one["name"], one["device"], row(one["created"]), row(one["moved"]))
        for one in error["operands"]
    ]


def test_a_training_step_that_runs_leaves_nothing_to_say(tmp_path: Path) -> None:
    code = """
import torch

net = torch.nn.Linear(3, 1).to("cuda")
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(4):
    x = torch.ones(2, 3).to("cuda")
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.0f}" != "", loss.device)
"""
    done = run(tmp_path, code)
    assert (done.returncode, done.stdout) == (0, "True cuda:0\n" * 4), done.stderr
    report = done.stderr
    assert report.startswith("\ntorchdevlint run: 2 accelerators (cuda, simulated), torch ")
    assert "train.py:7: 4 x cpu -> cuda:0, 96 B" in report
    assert "train.py:4: 2 x cpu -> cuda:0, 16 B" in report
    assert "train.py:11: 4 x " in report
    assert report.endswith("No device error.\n")


def test_an_error_shows_no_frame_of_ours(tmp_path: Path) -> None:
    done = run(tmp_path, "import torch\ny = torch.ones(3).cuda()\nz = y + torch.ones(3)\n")
    assert done.returncode == 1
    trace, _, report = done.stderr.partition("torchdevlint run:")
    assert "torchdevlint" not in trace
    assert "found at least two devices, cuda:0 and cpu!" in trace
    assert "operand: `y` is on cuda:0 (3 float32), made by ones at train.py:2, moved there at train.py:2" in report
    assert "rule: TDL004 mixed-device-operands: `torchdevlint check` finds it at train.py:3" in report


def test_threads_have_operands_too(tmp_path: Path) -> None:
    code = """
import threading
import torch


def work():
    a = torch.ones(3, device="cuda:1")
    b = torch.ones(3)
    return a * b


thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    report = recorded(tmp_path, code)
    assert report["program_exit_code"] == 0
    (error,) = report["errors"]
    assert operands(error) == [("a", "cuda:1", 7, None), ("b", "cpu", 8, None)]


def test_a_move_in_vain_is_the_cause(tmp_path: Path) -> None:
    code = """
import torch

net = torch.nn.Linear(3, 3).cuda()
x = torch.ones(2, 3)
x.to("cuda")
net(x)
"""
    (error,) = recorded(tmp_path, code)["errors"]
    assert error["rule"]["code"] == "TDL001"
    assert error["rule"]["location"]["row"] == 6
    assert [(one["device"], row(one["lost"])) for one in error["operands"] if one["lost"]] == [("cpu", 6)]


def test_a_conversion_to_numpy(tmp_path: Path) -> None:
    code = "import torch\n\n\ndef show(t):\n    return t.numpy()\n\n\nshow(torch.ones(2).cuda())\n"
    (error,) = recorded(tmp_path, code)["errors"]
    assert error["exception"] == "TypeError"
    assert error["rule"]["code"] == "TDL006"
    assert error["site"]["location"]["row"] == 5


def test_a_program_that_stays_on_the_cpu_is_told_so(tmp_path: Path) -> None:
    done = run(tmp_path, "import torch\ntorch.ones(2).sum()\n")
    assert done.returncode == 0
    assert done.stderr.endswith("No device error was seen, but nothing was ever on an accelerator.\n")


def test_a_machine_without_accelerators_reads_a_gpu_checkpoint(tmp_path: Path) -> None:
    saved = run(tmp_path, "import torch\ntorch.save({'w': torch.ones(2).cuda()}, 'gpu.pt')\n")
    assert saved.returncode == 0, saved.stderr
    code = "import torch\nprint(torch.cuda.is_available(), torch.cuda.device_count())\ntorch.load('gpu.pt')\n"
    done = run(tmp_path, code, "--accelerators", "0")
    assert (done.returncode, done.stdout) == (1, "False 0\n")
    assert "Attempting to deserialize object on a CUDA device" in done.stderr
    assert "device error[TDL201] load-without-map-location" in done.stderr
    assert "torchdevlint run: a machine without accelerators (simulated)" in done.stderr


def test_other_kinds_of_accelerators(tmp_path: Path) -> None:
    code = """
import torch

print(torch.cuda.is_available(), torch.backends.mps.is_available(), torch.ones(1, device="mps").device)
torch.ones(2, dtype=torch.float64).to("mps")
"""
    done = run(tmp_path, code, "--kind", "mps")
    assert (done.returncode, done.stdout) == (1, "False True mps:0\n")
    assert "torchdevlint run: 1 accelerator (mps, simulated), torch " in done.stderr
    assert "TypeError: Cannot convert a MPS Tensor to float64 dtype" in done.stderr
    code = "import torch\nprint(torch.ones(1, device='xpu:1').device)\ntorch.ones(2, device='xpu') + torch.ones(2)\n"
    report = recorded(tmp_path, code, "--kind", "xpu", "--accelerators", "2")
    assert (report["kind"], report["accelerators"], report["errors"][0]["rule"]["code"]) == ("xpu", 2, "TDL004")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--kind", "mps", "--accelerators", "2"), "a machine cannot have 2 accelerators of the kind mps: 0 to 1"),
        (("--kind", "tpu"), "'tpu' is not one of 'cuda', 'xpu', 'mps'"),
        (("--kind", "xpu", "--device", "xpu"), "--kind is for simulated ones, --device uses real ones"),
    ],
)
def test_kinds_that_are_refused(tmp_path: Path, flags: tuple[str, ...], told: str) -> None:
    done = run(tmp_path, "", *flags)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.slow
@needs_fork
def test_ranks_of_torchrun(tmp_path: Path) -> None:
    code = """
import os
import torch

torch.distributed.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
x = torch.ones(2).cuda()
print(x.device, flush=True)
torch.distributed.destroy_process_group()
"""
    (tmp_path / "train.py").write_text(code)
    command = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py")
    flags = ("--output-format", "json", "-o", "report.json")
    done = conftest.python("-m", "torchdevlint", "run", *flags, "--", sys.executable, *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"cuda:\d", done.stdout)) == ["cuda:0", "cuda:1"]  # lines of two ranks may run together
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["processes"] == 3
    assert sorted(one["target"] for one in report["transfers"]) == ["cuda:0", "cuda:1"]


def test_an_error_that_a_test_expects_is_no_reason_for_the_failure_of_another(tmp_path: Path) -> None:
    (tmp_path / "test_both.py").write_text(
        """
import pytest
import torch


def test_expects():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(1, device="cuda") + torch.ones(1)


def test_fails():
    assert False
"""
    )
    flags = ("--output-format", "json", "-o", "report.json")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_both.py")
    done = python("-m", "torchdevlint", "run", *flags, "--", *command, cwd=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert done.returncode == 1
    assert report["errors"] == []
    assert len(report["handled"]) == 1
