"""``torchdevlint explain`` as it is called: what it says, where it finds the files, and input that holds nothing."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.conftest import ROOT, a_part
from torchdevlint.explain.pasted import SHORT, read

MODEL = '''\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        mask = torch.zeros(4)
        y = self.fc(x)
        return y * mask


def train(loader, device):
    model = Net().to(device)
    for x in loader:
        print(model(x.to(device)))
'''
MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def traceback(
    path: str = "/job/42/proj/net.py", row: int = 13, code: str = "return y * mask", text: str = MIXED
) -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "{path}", line 19, in train\n    print(model(x.to(device)))\n'
        '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1750, in _call_impl\n'
        "    return forward_call(*args, **kwargs)\n"
        f'  File "{path}", line {row}, in forward\n    {code}\n'
        f"RuntimeError: {text}\n"
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(MODEL)
    return tmp_path


def explain(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return forked.python("-m", "torchdevlint", "explain", "--isolated", *arguments, cwd=folder, stdin=stdin)


def as_json(folder: Path, text: str, *arguments: str) -> dict[str, Any]:
    done = explain(folder, "--output-format", "json", *arguments, stdin=text)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_line_the_operands_and_the_finding(project: Path) -> None:
    done = explain(project, stdin=traceback())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"RuntimeError: {MIXED}\n  --> net.py:13:9 in forward\n")
    assert "13 |         return y * mask\n   |         ^^^^^^^^^^^^^^^\n" in done.stdout
    assert "= meaning: The operands of one operation are on different devices. One operand is on cpu" in done.stdout
    assert "= operand: `y` is a tensor on the model's device: given by a `torch.nn.Linear`" in done.stdout
    assert "= operand: `mask` is a tensor of 1 dimension on the CPU (default device): created by `to" in done.stdout
    assert "error[TDL003] factory-in-forward: " in done.stdout
    assert "= help: make it where the model is: `torch.zeros(4, device=x.device)`" in done.stdout
    assert "= page: https://torchdevlint.readthedocs.io/en/latest/errors/#different-devices" in done.stdout
    assert "likely" not in done.stdout, "the cause is found"


def test_json_has_the_same(project: Path) -> None:
    found = as_json(project, traceback())
    assert found["error"] == {"exception": "RuntimeError", "text": MIXED, "row": 8}
    assert found["symptom"] == "different-devices"
    assert found["said"] == {"argument": "", "device": "cpu", "other": "cuda:0", "operation": ""}
    assert [(one["row"], one["user"]) for one in found["frames"]] == [(19, True), (1750, False), (13, True)]
    assert found["place"]["filename"] == "net.py"
    assert found["place"]["location"] == {"row": 13, "column": 9, "end_column": 24}
    assert [(one["text"], one["device"]) for one in found["operands"]] == [
        ("y", "the model's device"), ("mask", "the CPU (default device)"),
    ]  # fmt: skip
    assert [(one["code"], one["location"]["row"]) for one in found["findings"]] == [("TDL003", 11)]
    assert found["rules"][0]["code"] == "TDL003"
    assert found["others"] == []


def test_only_what_python_underlined_is_looked_at(project: Path) -> None:
    text = traceback().replace("    return y * mask\n", "    return y * mask\n               ~~~~\n")
    assert [one["text"] for one in as_json(project, text)["operands"]] == ["mask"]


def test_a_finding_at_the_calling_line_counts(project: Path) -> None:
    (project / "net.py").write_text(MODEL.replace("torch.zeros(4)", "unknown()").replace("x.to(device)", "x"))
    text = traceback().replace("print(model(x.to(device)))", "print(model(x))")
    found = as_json(project, text)
    assert [(one["code"], one["location"]["row"]) for one in found["findings"]] == [("TDL005", 19)]
    assert found["place"]["row"] == 13


def test_a_lost_move_of_an_operand_is_the_cause() -> None:
    """The linter cannot know that the loss takes it badly, but the move above was meant for it."""
    text = (
        "Traceback (most recent call last):\n"
        '  File "/job/train_classifier.py", line 37, in train_epoch\n'
        "    loss = nn.functional.cross_entropy(model(images), labels)\n"
        f"RuntimeError: {MIXED}\n"
    )
    found = as_json(ROOT / "examples", text)
    assert [(one["code"], one["location"]["row"]) for one in found["findings"]] == [("TDL001", 35)]
    assert [(one["code"], one["row"]) for one in found["nearby"]] == [("TDL002", 54)]


def test_a_comment_that_silences_the_finding_does_not_hide_the_cause(project: Path) -> None:
    (project / "net.py").write_text(MODEL.replace("torch.zeros(4)", "torch.zeros(4)  # noqa: TDL003"))
    assert [one["code"] for one in as_json(project, traceback())["findings"]] == ["TDL003"]


def test_without_a_finding_the_likely_rules_are_named(project: Path) -> None:
    text = (
        "Expected all tensors to be on the same device, but got weight is on cpu, different from other tensors on "
        "cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)"
    )
    done = explain(project, stdin=traceback("/job/other.py", text=text))
    assert "= likely: TDL010 loss-not-moved (a loss got its `weight` on the CPU): " in done.stdout
    assert "= or else: " in done.stdout
    assert "`weight` is on cpu, where cuda:0 is wanted in `nll_loss_forward`." in done.stdout
    assert "= note: /job/other.py is not here; `--root` says where the sources are\n" in done.stdout


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/workspace/proj/src/pkg/net.py", "src/pkg/net.py"),
        ("C:\\Users\\ada\\proj\\src\\pkg\\net.py", "src/pkg/net.py"),
        ("pkg/net.py", "src/pkg/net.py"),
        ("~/somewhere/net.py", None),
    ],
)
def test_a_file_is_found_by_the_longest_end_of_its_path(path: str, place: str | None, tmp_path: Path) -> None:
    for folder in ("src/pkg", "other", "node_modules/pkg"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "net.py").write_text(MODEL)
    found = as_json(tmp_path, traceback(path))
    assert found["place"]["filename"] == place, "of files that fit equally well none is taken"


def test_a_root_elsewhere(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert as_json(elsewhere, traceback())["place"]["filename"] is None
    found = as_json(elsewhere, traceback(), "--root", str(project))
    assert found["place"]["filename"] == (project / "net.py").as_posix()
    assert [one["code"] for one in found["findings"]] == ["TDL003"]


@pytest.mark.parametrize(
    ("text", "row", "remark"),
    [
        ("\n\n" + MODEL, 15, "the file has changed since, and this code is in line 15 now"),
        ("x = 1\n", None, "the file has changed since: it has 1 line, and this code is not in it any more"),
        (MODEL.replace("y * mask", "y"), None, "the file has changed since, and this code is not in it any more"),
    ],
)
def test_a_file_that_has_changed_since(text: str, row: int | None, remark: str, project: Path) -> None:
    (project / "net.py").write_text(text)
    place = as_json(project, traceback())["place"]
    assert (place["location"] and place["location"]["row"], place["remark"]) == (row, remark)
    shown = explain(project, stdin=traceback()).stdout
    assert f"= note: {remark}\n" in shown
    assert "     return y * mask\n" in shown, "the code of the traceback stands in for the file's"


def test_a_file_that_is_no_python(project: Path) -> None:
    (project / "net.py").write_bytes(b"\x00\xff(\n" * 20)
    found = as_json(project, traceback(code=""))
    assert (found["findings"], found["operands"]) == ([], [])


def test_a_notebook_shows_its_own_code(tmp_path: Path) -> None:
    text = (
        "RuntimeError                              Traceback (most recent call last)\n"
        "Cell In[5], line 3\n      2 y = model(x)\n----> 3 \x1b[31mloss\x1b[0m = y - target\n\n"
        f"RuntimeError: {MIXED}\n"
    )
    done = explain(tmp_path, stdin=text)
    assert "--> cell 5, line 3\n" in done.stdout
    assert "|     loss = y - target\n" in done.stdout
    assert "is not here" not in done.stdout


def test_the_last_device_error_is_explained_and_the_others_are_named(project: Path) -> None:
    text = (
        "ValueError: no such column\n"
        + traceback(text="indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + traceback()
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + traceback(text="x").replace("RuntimeError: x", "KeyError: 'lr'")
    )
    found = as_json(project, text)
    assert found["symptom"] == "different-devices"
    assert [one["exception"] for one in found["others"]] == ["ValueError", "RuntimeError", "KeyError"]
    shown = explain(project, stdin=text).stdout
    assert "= also there: ValueError: no such column (line 1 of the text)\n" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "no error was found in this text: neither a traceback nor a text of PyTorch's\n"),
        ("KeyError: 'x'\n", "no device error: torchdevlint knows nothing of `KeyError: 'x'`\n"),
        (traceback(text="CUDA out of memory. Tried to allocate 2 GiB"), "This is about memory, not about where "),
        (traceback(text="mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"), "This is about shapes, not about "),
        (traceback(text="expected scalar type Long but found Float"), "This is about types of numbers, not about "),
        ("\x00\x01\x02\xff" * 100, "no error was found"),
    ],
)
def test_what_is_no_device_error(text: str, said: str, tmp_path: Path) -> None:
    done = explain(tmp_path, stdin=text)
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout
    assert done.stdout.count("\n") == 1
    assert json.loads(explain(tmp_path, "--output-format", "json", stdin=text).stdout)["rules"] == []


def test_nothing_to_read(tmp_path: Path) -> None:
    done = explain(tmp_path, stdin=" \n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: there is nothing to explain: the input is empty\n"
    missing = explain(tmp_path, "no.log")
    assert (missing.returncode, missing.stderr) == (2, "error: no.log: cannot be read: No such file or directory\n")
    folder = explain(tmp_path, ".")
    assert folder.returncode == 2
    assert folder.stderr.count("\n") == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_in_any_encoding(encoding: str, project: Path) -> None:
    (project / "job.log").write_bytes(traceback().encode(encoding))
    done = explain(project, "job.log")
    assert done.returncode == 0
    assert "error[TDL003]" in done.stdout


def test_what_a_terminal_must_not_be_given_is_escaped(project: Path) -> None:
    text = traceback("/job/\x07\u202enet.py", code="y\x07", text=f"{MIXED} \x9b31m")
    done = explain(project, stdin=text)
    assert done.returncode == 0
    assert set(done.stdout) & {"\x07", "\x9b", "\u202e", "\x1b"} == set()


def test_colours_and_width_do_not_change_what_is_said(project: Path) -> None:
    plain = explain(project, "--color", "never", stdin=traceback()).stdout
    colored = explain(project, "--color", "always", stdin=traceback()).stdout
    assert colored != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


@pytest.mark.parametrize("megabytes", a_part([5, 50]))
def test_a_long_log_with_one_traceback_in_it(megabytes: int) -> None:
    """Nothing else in it is an error, and every line could be taken for one at a glance."""
    line = "2024-01-01 12:00:00,123 - INFO - step 1234: loss 0.1234, cuda:0, no Warning, no Errors on this device\n"
    around = line * (megabytes * 500_000 // len(line))
    error, others = read(around + traceback() + around)
    assert error is not None
    assert error.user is not None
    assert (error.user.place, others) == ("/job/42/proj/net.py:13", [])


def test_a_long_log_of_nothing_but_errors() -> None:
    lines = "".join(f"ValueError: step {step} is on the device\n" for step in range(50_000))
    error, others = read(lines + traceback())
    assert error is not None
    assert error.is_of_devices
    assert others


def test_in_a_long_text_a_line_without_an_exception_is_no_error() -> None:
    bare = "indices should be either on cpu or on the same device as the indexed tensor (cpu)\n"
    assert read(bare)[0] is not None
    assert read(bare + "a line\n" * SHORT)[0] is None
