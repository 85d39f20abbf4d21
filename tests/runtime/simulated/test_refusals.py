"""What an accelerator refuses although no two operands of an aten operator meet."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch

from torchdevlint.runtime.record import recorder as recording
from torchdevlint.runtime.record.recorder import Recorder
from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.errors import NotSimulated


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with simulate(2, recorder=recorder):
        yield recorder


@pytest.fixture(scope="module")
def vision() -> Iterator[None]:
    """The schemas of torchvision, with bodies that look at no device."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
        "int sampling_ratio, bool aligned) -> Tensor"
    )
    library.impl("nms", lambda dets, scores, threshold: scores.argsort(), "CPU")
    library.impl("roi_align", lambda data, rois, *rest: data[: len(rois)].clone(), "CPU")
    yield
    library._destroy()


def test_boxes_and_scores_are_both_on_the_gpu(vision: None, recorder: Recorder) -> None:
    nms = torch.ops.torchvision.nms
    boxes, scores = torch.ones(3, 4), torch.ones(3)
    with pytest.raises(RuntimeError, match="scores must be a CUDA tensor"):
        nms(boxes.cuda(), scores, 0.5)
    with pytest.raises(RuntimeError, match="dets must be a CUDA tensor"):
        nms(boxes, scores.cuda(), 0.5)
    assert str(nms(boxes.cuda(), scores.cuda(), 0.5).device) == "cuda:0"
    assert str(nms(boxes, scores, 0.5).device) == "cpu"
    assert [error["operation"] for error in recorder.errors.values()] == ["nms", "nms"]


def test_regions_are_on_the_gpu_of_the_features(vision: None, recorder: Recorder) -> None:
    align = partial(torch.ops.torchvision.roi_align, spatial_scale=1.0, pooled_height=1, pooled_width=1)
    align = partial(align, sampling_ratio=2, aligned=True)
    features, rois = torch.ones(2, 1, 3, 3).cuda(), torch.ones(2, 5)
    with pytest.raises(RuntimeError, match="rois must be a CUDA tensor"):
        align(features, rois)
    with pytest.raises(RuntimeError, match="device 0 does not equal 1"):
        align(features, rois.to("cuda:1"))
    assert str(align(features, rois.cuda()).device) == "cuda:0"


def test_a_body_for_the_cpu_stands_for_one_that_needs_the_accelerator(recorder: Recorder) -> None:
    def body(a: torch.Tensor) -> torch.Tensor:
        return a + 1

    op = torch.library.custom_op("tdl_refusals::both", body, mutates_args=(), device_types="cpu", schema=SCHEMA)
    with pytest.raises(NotImplementedError, match="from the 'CUDA' backend"):
        op(torch.ones(2).cuda())
    op.register_kernel("cuda", body)
    assert str(op(torch.ones(2).cuda()).device) == "cuda:0"
    only = torch.library.custom_op("tdl_refusals::only", body, mutates_args=(), device_types="cuda", schema=SCHEMA)
    with pytest.raises(NotSimulated):
        only(torch.ones(2).cuda())
    with pytest.raises(NotImplementedError, match="from the 'CPU' backend"):
        only(torch.ones(2))


SCHEMA = "(Tensor a) -> Tensor"


class Keeps:
    """A hook without a name."""

    def __call__(self, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.cpu()


@pytest.mark.parametrize(("hook", "name"), [(Keeps(), "<unknown>"), (lambda g: g.cpu(), "<lambda>")])
def test_a_hook_that_moves_is_named(recorder: Recorder, hook: Callable[..., torch.Tensor], name: str) -> None:
    leaf = torch.ones(2, device="cuda", requires_grad=True)
    leaf.register_hook(hook)
    with pytest.raises(RuntimeError, match=f"^hook '{name}' has changed the type of value"):
        (leaf * 2).sum().backward()
    (story,) = recorder.errors.values()
    assert [operand["device"] for operand in story["operands"]] == ["cuda:0", "cpu"]


def test_a_hook_is_called_and_removed_as_it_was_given(recorder: Recorder) -> None:
    seen = []
    leaf = torch.ones(2, device="cuda", requires_grad=True)
    handle = leaf.register_hook(seen.append)
    (leaf * 2).sum().backward()
    handle.remove()
    (leaf * 2).sum().backward()
    assert [str(gradient.device) for gradient in seen] == ["cuda:0"]


def test_numpy_takes_a_copy_on_the_cpu(recorder: Recorder) -> None:
    np = pytest.importorskip("numpy")
    with pytest.raises(RuntimeError, match="Unsupported device"):
        np.from_dlpack(torch.ones(2, device="cuda"))
    with pytest.raises((BufferError, RuntimeError), match="require gradient"):  # older releases raise the latter
        np.from_dlpack(torch.ones(2, device="cuda", requires_grad=True))
    assert np.from_dlpack(torch.ones(2)).sum() == 2


def test_what_the_program_handles_and_cannot_be_simulated_is_told(recorder: Recorder) -> None:
    recording.start(recorder)
    try:
        with pytest.raises(NotSimulated) as raised:
            torch.cuda.CUDAGraph()
    finally:
        recording.stop(recorder)
    assert list(recorder.limitations) == [str(raised.value)]


def test_errors_reach_a_process_that_has_not_begun_to_simulate(recorder: Recorder) -> None:
    """To load them imports nothing of the simulation: it would begin in the middle of its own import."""
    with pytest.raises(RuntimeError, match="same device") as raised:
        torch.ones(3, device="cuda") + torch.ones(3)
    for error in (raised.value, NotSimulated("this")):
        pickled = pickle.dumps(error.with_traceback(None))  # libraries make pickle take the files of a traceback too
        assert b"torchdevlint.runtime" not in pickled
        assert str(pickle.loads(pickled)) == str(error)
