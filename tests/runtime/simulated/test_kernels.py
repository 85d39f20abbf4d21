"""What CUDA's kernels refuse although every operand is on the accelerator: types of numbers, and determinism."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from torchdevlint.runtime.record.recorder import Recorder
from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.errors import NotSimulated
from torchdevlint.runtime.simulated.operators import determinism, kernels, schema_of

ROOT = Path(__file__).resolve().parents[3]
Calls = dict[str, Callable[[torch.Tensor], object]]

WITH_ITS_TYPE: Calls = {
    "addmm_cuda": lambda x: torch.addmm(x, x, x),
    "addmm_cuda ": lambda x: x.clone().addmm_(x, x),
    "addmm_cuda  ": lambda x: torch.mm(x, x, out=torch.empty_like(x)),
    "baddbmm_cuda": lambda x: torch.bmm(x[None], x[None]),
    "addmv_impl_cuda": lambda x: x.mv(x[0]),
    "dot": lambda x: torch.vdot(x[0], x[0]),
    "max_pool3d_with_indices_out_frame": lambda x: F.max_pool3d(x[None, None], 1),
}
ONLY_ON_CUDA: Calls = {
    "abs": lambda x: x.bool().abs(),
    "histc": torch.histc,
    "trace": lambda x: torch.trace(x.bool()),
    "nansum": lambda x: torch.nansum(x.to(torch.complex64)),
}
NOT_DETERMINISTIC: Calls = {
    "_histc_cuda": torch.histc,
    "_bincount_cuda": lambda x: x.long().view(-1).bincount(weights=x.view(-1)),
    "embedding_bag_backward_cuda_max": lambda x: (
        F.embedding_bag(torch.zeros(1, 2, dtype=torch.long, device="cuda"), x.requires_grad_(), mode="max")
        .sum()
        .backward()
    ),
    "put_": lambda x: x.put_(torch.zeros(1, dtype=torch.long, device="cuda"), x[0, :1].clone(), accumulate=True),
    "reflection_pad1d_backward_out_cuda": lambda x: F.pad(x.requires_grad_(), (1, 1), "reflect").sum().backward(),
    "scatter_reduce_cuda_prod_": lambda x: x.scatter_reduce(0, x.long(), x, "prod"),
    "ctc_loss_backward_gpu": lambda x: F.ctc_loss(
        x[:, None].requires_grad_(), torch.ones(1, 1, dtype=torch.long, device="cuda"), [3], [1]
    ).backward(),
}
DETERMINISTIC: Calls = {
    "histc of integers": lambda x: x.long().view(-1).bincount(),
    "put": lambda x: x.index_put_((torch.zeros(1, dtype=torch.long, device="cuda"),), x[0].clone(), accumulate=True),
    "scatter_reduce": lambda x: x.scatter_reduce(0, x.long(), x, "sum"),
    "embedding_bag": lambda x: (
        F.embedding_bag(torch.zeros(1, 2, dtype=torch.long, device="cuda"), x.requires_grad_(), mode="sum")
        .sum()
        .backward()
    ),
}


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with simulate(2, recorder=recorder):
        yield recorder


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("kernel", WITH_ITS_TYPE)
def test_a_type_that_the_kernel_lacks(kernel: str, recorder: Recorder) -> None:
    x = torch.ones(3, 3, dtype=torch.int32, device="cuda")
    with pytest.raises((NotImplementedError, RuntimeError), match=f"^\"{kernel.strip()}\" not implemented for 'Int'$"):
        WITH_ITS_TYPE[kernel](x)
    (told,) = recorder.errors.values()
    assert {(one["device"], one["dtype"]) for one in told["operands"]} == {("cuda:0", "int32")}


@pytest.mark.parametrize("kernel", WITH_ITS_TYPE)
def test_it_is_there_for_floats_and_on_the_cpu_and_on_other_kinds(kernel: str) -> None:
    with simulate(1):
        WITH_ITS_TYPE[kernel](torch.ones(3, 3, device="cuda"))
        WITH_ITS_TYPE[kernel](torch.ones(3, 3, dtype=torch.int32))
    with simulate(1, kind="mps"):
        WITH_ITS_TYPE[kernel](torch.ones(3, 3, dtype=torch.int32, device="mps"))
    with simulate(1, flat=True):
        WITH_ITS_TYPE[kernel](torch.ones(3, 3, dtype=torch.int32, device="cuda"))


def test_errors_of_shapes_and_empty_operands_come_first(recorder: Recorder) -> None:
    x = torch.ones(3, 3, dtype=torch.int64, device="cuda")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        x @ x[:2]
    assert (x[:0] @ x).shape == (0, 3)
    assert (x[:, :0] @ x[:0]).tolist() == [[0] * 3] * 3


def test_convolutions_of_integers_end_in_cudnn_unless_it_is_off_or_not_used(recorder: Recorder) -> None:
    x = torch.ones(1, 2, 3, 3, dtype=torch.int64, device="cuda")
    with pytest.raises(RuntimeError, match=r"^getCudnnDataTypeFromScalarType\(\) not supported for Long$"):
        F.conv2d(x, x)
    F.conv2d(x, x[:, :1].expand(2, 1, 3, 3).contiguous(), groups=2)
    with torch.backends.cudnn.flags(enabled=False):
        F.conv2d(x, x)


@pytest.mark.parametrize("name", ONLY_ON_CUDA)
def test_a_type_that_only_cuda_has_is_not_simulated(name: str, recorder: Recorder) -> None:
    with pytest.raises(NotSimulated, match=name):
        ONLY_ON_CUDA[name](torch.ones(3, 3, dtype=torch.int64, device="cuda"))


def test_every_kernel_is_in_the_table() -> None:
    named = {kernels._base(schema_of(getattr(torch.ops.aten, name).default)) for name in kernels._KERNELS}
    assert named <= set(kernels.LACKED_BY_CUDA)


@pytest.mark.parametrize("name", NOT_DETERMINISTIC)
def test_what_is_not_deterministic(name: str, deterministic: None, recorder: Recorder) -> None:
    with pytest.raises(RuntimeError, match=f"^{name}[ a-z]* does not have a deterministic implementation"):
        NOT_DETERMINISTIC[name](torch.zeros(3, 3, device="cuda"))
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match=f"^{name}[ a-z]* does not have .* warn_only=True") as warned:
        NOT_DETERMINISTIC[name](torch.zeros(3, 3, device="cuda"))
    assert warned[0].filename
    torch.use_deterministic_algorithms(False)
    NOT_DETERMINISTIC[name](torch.zeros(3, 3, device="cuda"))


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_what_is(name: str, deterministic: None, recorder: Recorder) -> None:
    DETERMINISTIC[name](torch.zeros(3, 3, device="cuda"))
    assert not recorder.errors


def test_the_text_is_that_of_the_installed_torch(deterministic: None, recorder: Recorder) -> None:
    """Without `accumulate`, `put_` is refused on the CPU as well, by torch itself."""
    told = []
    for warn_only in (False, True):
        torch.use_deterministic_algorithms(True, warn_only=warn_only)
        for accumulate, device in ((False, "cpu"), (True, "cuda")):
            zero = torch.zeros(1, device=device)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    zero.put_(zero.long(), zero.clone(), accumulate=accumulate)
                except RuntimeError as error:
                    told.append(str(error))
            told += [str(one.message).partition(" (Triggered")[0] for one in warned]
    assert len(told) == 4
    assert told[0] == told[1]
    assert told[2] == told[3]


def test_older_releases_want_cublas_to_be_configured(
    deterministic: None, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.ones(2, 2, device="cuda")
    monkeypatch.setattr(determinism, "header_says", lambda *words: True)
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with pytest.raises(RuntimeError, match="CUBLAS_WORKSPACE_CONFIG=:4096:8 or CUBLAS_WORKSPACE_CONFIG=:16:8"):
        x @ x
    x.cpu() @ x.cpu()
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    x @ x
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    monkeypatch.setattr(determinism, "header_says", lambda *words: False)
    x @ x


@pytest.mark.network
def test_the_table_is_that_of_the_installed_torch() -> None:
    """Not for the network, but for its length: some minutes."""
    command = [sys.executable, str(ROOT / "scripts/kernel_types.py"), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
