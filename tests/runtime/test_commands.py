"""`torchdevlint verify` and `torchdevlint devices` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import conftest
from tests.forked import python
from torchdevlint.cli.devices import render
from torchdevlint.runtime.backends import CPU, SIMULATED, Backend, Device, Machine, from_json, to_json

CHECKPOINT = "import torch\n\nstate = torch.load('model.pt')\n"
VISIBLE = "import os\n\nos.environ['CUDA_VISIBLE_DEVICE'] = '1'\n"
SLOW = "import os\nimport time\n\nos.environ['CUDA_VISIBLE_DEVICE'] = str(time.sleep(1))\n"
LATE = "import os\n\nimport torch\n\ntorch.cuda.is_available()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
FIELDS = [
    "code", "name", "message", "severity", "filename", "cell", "location", "end_location", "noqa_row", "url", "symptom",
    "related", "fix", "verdict", "rung", "backend", "torch", "claim", "evidence", "reason", "reasons", "counted_apart",
    "inconclusive",
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "load.py").write_text(CHECKPOINT)
    (tmp_path / "visible.py").write_text(VISIBLE)
    return tmp_path


def rows(project: Path, *arguments: str) -> list[dict[str, Any]]:
    done = python("-m", "torchdevlint", "verify", "--output-format", "json", *arguments, cwd=project)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_what_is_confirmed_is_told_with_its_evidence_and_exits_1(project: Path) -> None:
    done = python("-m", "torchdevlint", "verify", cwd=project)
    assert done.returncode == 1, done.stderr
    heading = r"load.py:3:9 TDL201 load-without-map-location: confirmed \(slice on simulated, torch \S+\)"
    assert re.search(heading, done.stdout)
    assert "raised:   RuntimeError: Attempting to deserialize object on a CUDA device" in done.stdout
    assert "observed: with an accelerator: loads to cuda:0, without one: raises" in done.stdout
    assert "\n1 finding: 1 confirmed.\n1 load (TDL201), counted apart: 1 confirmed; " in done.stdout
    assert not done.stderr


def test_json_is_that_of_check_and_the_verdict(project: Path) -> None:
    verified = rows(project)
    checked = python("-m", "torchdevlint", "check", "--output-format", "json", cwd=project)
    assert [list(row) for row in verified] == [FIELDS, FIELDS]
    plain = [{key: value for key, value in row.items() if key in FIELDS[:13]} for row in verified]
    assert plain == json.loads(checked.stdout)
    assert {row["verdict"] for row in verified} == {"confirmed"}


def test_what_cannot_be_executed_is_no_pass_and_exits_0(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    done = python("-m", "torchdevlint", "verify", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "TDL301 late-cuda-visible-devices: inconclusive (probe on cpu" in done.stdout
    assert "the probe needs a CUDA device, and --device cpu leaves none" in done.stdout


def test_a_missing_import_is_named_and_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import torch\nimport nosuchlibrary\n\n\nclass Net(nosuchlibrary.Base, torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor):\n        return self.mix(x, torch.ones(len(x), 1))\n\n"
        "    def mix(self, x, y):\n        return nosuchlibrary.mix(x) + y * x\n"
    )
    (row,) = rows(tmp_path)
    assert (row["verdict"], row["rung"]) == ("inconclusive", "probe")
    assert "importing `model` needs `nosuchlibrary`, which is not installed here" in row["reason"]
    assert [each["rung"] for each in row["reasons"]] == ["synthesised", "slice", "probe"]
    missing = {"group": "the module needs `nosuchlibrary`, which is not installed here"}
    assert row["inconclusive"] == {**missing, "advice": "pip install nosuchlibrary"}


def test_rules_are_selected_as_in_check(project: Path) -> None:
    assert [row["code"] for row in rows(project, "--select", "TDL3")] == ["TDL302"]


def test_nothing_to_verify_exits_0(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    done = python("-m", "torchdevlint", "verify", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Nothing to verify: `check` finds nothing here.\n")


def test_the_time_limit_is_the_configured_one_unless_a_flag_says_otherwise(project: Path) -> None:
    (project / "visible.py").write_text(SLOW)
    (project / "pyproject.toml").write_text("[tool.torchdevlint.verify]\ntimeout = 0.001\n")
    (row,) = rows(project, "visible.py")
    assert row["verdict"] == "inconclusive"
    assert "timed out: no end after 0.001 s" in row["reason"]
    (row,) = rows(project, "visible.py", "--timeout", "300")
    assert row["verdict"] == "confirmed"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--device", "gpu", "visible.py"], "no device 'gpu' here"),
        (["--timeout", "0", "visible.py"], "--timeout"),
        (["--select", "NOPE9", "visible.py"], "NOPE9"),
        (["--output-format", "full", "visible.py"], "--output-format"),
        (["nosuch.py"], "nosuch.py"),
    ],
)
def test_what_keeps_it_from_its_job_exits_2(project: Path, arguments: list[str], complaint: str) -> None:
    done = python("-m", "torchdevlint", "verify", *arguments, cwd=project)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["verify", "load.py"], ["devices"]])
def test_without_torch_one_line_says_what_to_install(project: Path, command: list[str]) -> None:
    code = f"import sys; sys.modules['torch'] = None\nfrom torchdevlint.cli import main\nmain({command!r})"
    done = python("-c", code, cwd=project)
    assert done.returncode == 2
    assert done.stderr == 'error: torch is not installed here: pip install "torchdevlint[verify]"\n'


def test_a_torch_that_does_not_work_is_told(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    broken = tmp_path_factory.mktemp("broken")
    (broken / "torch.py").write_text("raise OSError('libcudart.so: cannot open shared object file')\n")
    code = f"import sys; sys.path.insert(0, {str(broken)!r})\nfrom torchdevlint.cli import main\nmain(['devices'])"
    done = conftest.python("-c", code, cwd=project)
    assert done.returncode == 2
    assert "torch does not work here: OSError: libcudart.so: cannot open shared object file" in done.stderr


@pytest.mark.parametrize("command", [["verify", "load.py"], ["devices"]])
def test_torch_is_loaded_in_children_only(project: Path, command: list[str]) -> None:
    code = (
        "import sys\nfrom torchdevlint.cli import main\n"
        f"try:\n    main({command!r})\nexcept SystemExit:\n    print('loaded', 'torch' in sys.modules)\n"
    )
    assert python("-c", code, cwd=project).stdout.endswith("loaded False\n")


def test_check_executes_nothing_and_verify_in_a_folder_of_its_own(project: Path) -> None:
    (project / "bomb.py").write_text(
        "import torch\n\nopen('executed', 'w').close()\n\n\ndef total(x: torch.Tensor):\n    return x + torch.ones(3)\n"
    )
    checked = python("-m", "torchdevlint", "check", "bomb.py", cwd=project)
    assert checked.returncode == 1
    assert not (project / "executed").exists()
    assert [row["verdict"] for row in rows(project, "bomb.py")] == ["confirmed"]
    assert not (project / "executed").exists()


def test_devices_name_torch_and_every_backend() -> None:
    done = python("-m", "torchdevlint", "devices")
    assert done.returncode == 0
    assert re.match(r"torch \S+, Python 3\.\d+\.\d+, \w+", done.stdout)
    machine = json.loads(python("-m", "torchdevlint", "devices", "--output-format", "json").stdout)
    assert list(machine) == ["torch", "python", "platform", "backends", "trouble"]
    kinds = {backend["name"]: backend["kind"] for backend in machine["backends"]}
    assert kinds.items() >= {"simulated": "simulated", "cpu": "cpu", "meta": "valueless"}.items()
    assert list(kinds)[-3:] == ["simulated", "cpu", "meta"], "hardware first, then what stands in for it"
    for backend in machine["backends"]:
        assert list(backend) == ["name", "kind", "devices", "version"]
        assert f"\n{backend['name']}" in done.stdout


def test_simulated_accelerators_are_not_hardware() -> None:
    """`verify` takes none of them for an accelerator of this machine."""
    simulated = Backend(SIMULATED, "simulated", (Device("as many as are asked for"),))
    machine = Machine("2.13.0", "3.11.0", "Linux", (simulated, Backend(CPU, "cpu", ())))
    assert machine.accelerators == ()
    assert from_json(to_json(machine)) == machine
    assert "No accelerator was found: `run` simulates them" in render(machine, color=False)
