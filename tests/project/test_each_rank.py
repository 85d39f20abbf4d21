"""Loads of programs with one process a GPU: an error where each of them reads the file to the first GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_writers import lint
from torchdevlint.model import Severity
from torchdevlint.project import tree

SPAWNING = """import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def net_of(args):
    return torch.nn.Linear(args.width, 3)

def check(args):
    print("nothing to check")

def worker(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    net = restored(net_of(args), args, rank)
    net.to("cuda" if args.gpus else "cpu")

def restored(net, args, rank):
    if args.resumes:
        net.load_state_dict(torch.load(args.path))
    return net

def main(args):
    check(args)
    mp.spawn(worker, args=(args,), nprocs=args.gpus)
"""
LOAD = "        net.load_state_dict(torch.load(args.path))\n"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tree.forget()


def severities(root: Path, text: str) -> list[Severity]:
    (root / "main.py").write_text(text)
    return [each.severity for each in lint(root).diagnostics if each.code == "TDL201"]


def test_what_each_process_reads(tmp_path: Path) -> None:
    assert severities(tmp_path, SPAWNING) == [Severity.ERROR]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("if args.resumes", "if rank == 0 and args.resumes", id="the first process alone"),
        pytest.param("if args.resumes", "if dist.get_rank() == 0", id="the first one by a call"),
        pytest.param("if args.resumes", "if not rank", id="no number but 0"),
        pytest.param("if args.resumes", "if is_main_process()", id="the main process"),
        pytest.param("world_size=args.gpus", "world_size=1", id="a group of one"),
    ],
)
def test_what_one_process_reads(tmp_path: Path, old: str, new: str) -> None:
    assert old in SPAWNING
    assert severities(tmp_path, SPAWNING.replace(old, new)) == [Severity.WARNING]


def test_what_is_read_before_there_are_processes(tmp_path: Path) -> None:
    before = SPAWNING.replace(LOAD, "        pass\n").replace(
        '    print("nothing to check")\n', "    return torch.load(args.path)\n"
    )
    assert severities(tmp_path, before) == [Severity.WARNING]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("if args.resumes", "if rank == 1", id="another process"),
        pytest.param("if args.resumes", "if rank == 0 or args.resumes", id="others too"),
        pytest.param("mp.spawn(worker", "mp.spawn(args.worker", id="what is started is not known"),
    ],
)
def test_what_several_processes_read(tmp_path: Path, old: str, new: str) -> None:
    assert old in SPAWNING
    assert severities(tmp_path, SPAWNING.replace(old, new)) == [Severity.ERROR]


GROUPED = """import torch
import torch.distributed as dist

def main(args):
    model = torch.nn.Linear(3, 3)
    if args.distributed:
        dist.init_process_group("nccl", init_method=args.url, world_size=args.gpus)
        model = torch.nn.parallel.DistributedDataParallel(model.cuda())
    model.load_state_dict(torch.load(args.path)["model"])
"""


def test_what_processes_read_that_are_given_no_gpu(tmp_path: Path) -> None:
    """All that such a process sends to CUDA goes to the first GPU that it sees, as what it reads does."""
    assert severities(tmp_path, GROUPED) == [Severity.WARNING]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("model.cuda())", "model.cuda(), device_ids=[args.gpu])", id="device_ids"),
        pytest.param("    if args", "    torch.cuda.set_device(args.gpu)\n    if args", id="set_device"),
    ],
)
def test_what_processes_read_that_have_a_gpu_each(tmp_path: Path, old: str, new: str) -> None:
    assert old in GROUPED
    assert severities(tmp_path, GROUPED.replace(old, new)) == [Severity.ERROR]


RANKS = """import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main(args):
    assert torch.cuda.is_available()
    torch.cuda.set_device(args.gpu)
    dist.init_process_group("nccl")
    net = DistributedDataParallel(torch.nn.Linear(args.width, 3).cuda())
    state = torch.load(args.path)["net"]
    net.load_state_dict(state)
    print(net)

if __name__ == "__main__":
    main(__import__("options").args)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ("", "", False),
        ("    print(net)", "    args.best = state\n    print(net)", True),
        ('["net"]\n', "\n    args.optimizer.load_state_dict(state)\n", True),
        (RANKS[RANKS.index("    assert") : RANKS.index("    net =")], "", True),
    ],
    ids=["copied at once", "kept", "with an optimizer", "without CUDA"],
)
def test_weights_that_each_process_copies_at_once(tmp_path: Path, old: str, new: str, is_found: bool) -> None:
    """A program that needs CUDA has the GPU on which they were saved, and none of them stays there."""
    text = RANKS.replace(old, new)
    if "nccl" not in text:
        text = text.replace(".cuda()", ".to(args.where)")
    (tmp_path / "options.py").write_text("args = None\n")
    (tmp_path / ".gitignore").write_text("")
    for number in range(4):
        (tmp_path / f"part_{number}.py").write_text("")
    assert (Severity.ADVICE not in severities(tmp_path, text)) == is_found
