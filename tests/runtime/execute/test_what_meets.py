"""What has to be there for an execution to say something: a device beside another, a tensor that is not there yet."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.runtime.execute.bench import Bench, by_hand, place_of
from torchdevlint.model import Related
from torchdevlint.runtime.verify.verdict import Rung, Verdict

MISSING = "import a_library_that_is_not_there\n"
KERNEL = """\
import torch


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, faces):
        ctx.device = faces.device
        index = torch.cuda.IntTensor(ctx.count, 3).fill_(-1)
        return a_library_that_is_not_there.run(faces, index)
"""
LOST = """\
import torch


def look(vertices: torch.Tensor, up: torch.Tensor):
    device = vertices.device
    up.to(device)
    return vertices + up
"""


def test_a_device_that_a_stand_in_says_is_no_device(bench: Bench) -> None:
    """``ctx`` is an object of ours: that the tensor is on the current accelerator is beside nothing."""
    path = bench.write(MISSING + KERNEL)
    finding = by_hand(path, "TDL012", "torch.cuda.IntTensor(ctx.count, 3)")
    reasons = bench.reasons(finding)
    assert reasons[Rung.SLICE] == "it ran with a stand-in for the object that says the device"


@pytest.mark.parametrize("before", ["", MISSING])
def test_a_lost_move_of_an_argument_is_shown_beside_another_that_is_there(bench: Bench, before: str) -> None:
    path = bench.write(before + LOST)
    shown = bench.judgement(by_hand(path, "TDL001", "up.to(device)"))
    assert shown.verdict is Verdict.CONFIRMED
    assert shown.evidence.observed == {"after the statement": "float32 on cpu", "what it made": "float32 on cuda:0"}
    assert shown.evidence.inputs is not None
    assert shown.evidence.inputs["up"] == "float32 tensor 8x8 on cpu"


def test_a_move_that_is_kept_confirms_nothing(bench: Bench) -> None:
    path = bench.write(LOST.replace("    up.to", "    up = up.to"))
    climbed = bench.climb(by_hand(path, "TDL001", "up.to(device)"))
    assert climbed.judgement is None or climbed.judgement.verdict is not Verdict.CONFIRMED


BOUND_TWICE = """\
import torch
import a_library_that_is_not_there


def averaged(walks):
    weights = torch.arange(walks.size(3)).neg().exp()
    weights = weights.reshape(1, 1, 1, -1, 1)
    return (walks * weights).mean(dim=3)
"""


def test_a_slice_keeps_what_binds_a_name_again(bench: Bench) -> None:
    finding = by_hand(bench.write(BOUND_TWICE), "TDL014", "torch.arange(walks.size(3))", "walks * weights")
    shown = bench.judgement(finding)
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SLICE)


def test_a_slice_does_not_leave_out_what_may_move_a_name_that_is_bound_again(bench: Bench) -> None:
    text = BOUND_TWICE.replace("weights.reshape(1, 1, 1, -1, 1)", "a_library_that_is_not_there.like(weights, walks)")
    finding = by_hand(bench.write(text), "TDL014", "torch.arange(walks.size(3))", "walks * weights")
    climbed = bench.climb(finding)
    assert climbed.judgement is None


CONVERTED = """\
import torch
import a_library_that_is_not_there


def as_array(scale):
    if scale.dtype != torch.float32:
        scale = scale.to(torch.float32)
    return scale.detach().numpy()
"""


@pytest.mark.parametrize(("moved", "confirmed"), [("torch.float32", True), ("a_library_that_is_not_there.HOST", False)])
def test_a_conversion_of_the_type_puts_nothing_right(bench: Bench, moved: str, confirmed: bool) -> None:
    path = bench.write(CONVERTED.replace("scale.to(torch.float32)", f"scale.to({moved})"))
    judgement = bench.climb(by_hand(path, "TDL006", "scale.detach().numpy()")).judgement
    assert (judgement is not None and judgement.verdict is Verdict.CONFIRMED) is confirmed


FURTHER = """\
import torch


def resized(points: torch.Tensor, width: int):
    size = torch.ones(width)
    padding = torch.zeros(width)
    return (points + padding) * size
"""


def test_a_factory_that_the_finding_names_too_is_flagged_as_well(bench: Bench) -> None:
    """The error of the second factory comes first, and is the finding's own."""
    first, *_ = bench.findings(FURTHER)
    path = bench.write(FURTHER)
    padding = place_of(FURTHER, "torch.zeros(width)")
    note = Related("`torch.zeros(width)` is on the default device too", str(path), padding)
    by_first = by_hand(path, first.code, "torch.ones(width)", "(points + padding) * size")
    shown = bench.judgement(replace(by_first, related=(*by_first.related, note)))
    assert shown.verdict is Verdict.CONFIRMED
    assert "line 7" in (shown.evidence.traceback or "")


def test_a_part_of_a_package_that_is_not_built_is_not_looked_for_in_the_index(bench: Bench) -> None:
    bench.write("", "package/__init__.py")
    path = bench.write("import package._kernels\n" + LOST, "package/model.py")
    reasons = bench.climb(by_hand(path, "TDL004", "vertices + up")).reasons
    assert "`package` is here without its part `package._kernels`" in dict(reasons)[Rung.SYNTHESISED]
