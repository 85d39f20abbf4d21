"""What operators ask of their operands' devices, judged without a dispatch mode: claims come from a table."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from torchdevlint.runtime.simulated import operators
from torchdevlint.runtime.simulated.operators import placement, placements, rule_for, tables, texts, waits
from torchdevlint.runtime.simulated.operators.checks import kernel
from torchdevlint.runtime.simulated.operators.special import special_checks

ROOT = Path(__file__).resolve().parents[3]
CPU, GPU, OTHER = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")
aten = torch.ops.aten
NEW = texts.installed() >= texts.NEW_CHECK_TEXT


class Claims:
    """Tensors with claimed devices, told apart by identity."""

    def __init__(self) -> None:
        self.devices: dict[int, tuple[torch.Tensor, torch.device]] = {}

    def make(self, device: torch.device, tensor: torch.Tensor | None = None) -> torch.Tensor:
        tensor = torch.ones(3, 3) if tensor is None else tensor
        self.devices[id(tensor)] = (tensor, device)
        return tensor

    def cpu(self, tensor: torch.Tensor | None = None) -> torch.Tensor:
        return self.make(CPU, tensor)

    def gpu(self, tensor: torch.Tensor | None = None) -> torch.Tensor:
        return self.make(GPU, tensor)

    def other(self, tensor: torch.Tensor | None = None) -> torch.Tensor:
        return self.make(OTHER, tensor)

    def __call__(self, tensor: torch.Tensor) -> torch.device:
        return self.devices[id(tensor)][1]

    def where(self, overload: Any, *args: Any, **kwargs: Any) -> Any:
        return placement(overload, args, kwargs, self)

    def refuses(self, overload: Any, *args: Any, **kwargs: Any) -> str:
        with pytest.raises(RuntimeError) as caught:
            placement(overload, args, kwargs, self)
        assert getattr(caught.value, operators.OPERANDS), "the operands at fault are told"
        return str(caught.value)


@pytest.fixture
def claims() -> Claims:
    return Claims()


def scalar(value: float = 1.0) -> torch.Tensor:
    return torch.tensor(value)


def generated(name: str, device: str, others: str, method: str) -> str:
    if NEW:
        return (
            f"Expected all tensors to be on the same device, but got {name} is on {device}, different from other "
            f"tensors on {others} (when checking argument in method {method})"
        )
    return (
        f"Expected all tensors to be on the same device, but found at least two devices, {others} and {device}! "
        f"(when checking argument for argument {name} in method {method})"
    )


# Overloads that the oldest supported release lacks.
NEWER = {"_fused_adagrad_.tensor_lr", "randint_like.Tensor", "randint_like.Tensor_generator"}

ITERATOR = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def overloads() -> list[Any]:
    found = []
    for full in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full.partition("::")
        base, _, overload = name.partition(".")
        if namespace == "aten" and hasattr(aten, base):
            packet = getattr(aten, base)
            if (overload or "default") in packet.overloads():
                found.append(getattr(packet, overload or "default"))
    return found


def test_every_overload_has_a_rule() -> None:
    rules = [rule_for(overload) for overload in overloads()]
    assert len(rules) > 2000
    assert {rule.kind for rule in rules} == {"checked", "iterator", "out", "foreach", "special", "free"}
    assert rule_for(aten.addmm.default) is rule_for(aten.addmm.default)


def test_tables_hold_what_the_installed_torch_generates() -> None:
    command = [sys.executable, str(ROOT / "scripts/operators.py"), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tables_do_not_overlap() -> None:
    names = [*tables.STRUCTURED, *tables.UNSTRUCTURED, *tables.ITERATOR, *tables.OUT]
    assert len(names) == len(set(names))


def test_special_names_exist_in_the_installed_torch() -> None:
    known = {rule_for(overload).schema.name for overload in overloads()}
    newer = set() if texts.installed() >= (2, 13) else NEWER
    assert set(special_checks(texts.installed())) - known <= newer


def test_methods_and_order_are_those_of_the_generated_kernels() -> None:
    """torchgen writes RegisterCUDA.cpp; each of its checks must be what a `checked` rule would say."""
    import re

    import torchgen
    from torchgen.dest.register_dispatch_key import RegisterDispatchKey
    from torchgen.gen import get_grouped_native_functions, parse_native_yaml
    from torchgen.model import DispatchKey
    from torchgen.selective_build.selector import SelectiveBuilder
    from torchgen.utils import Target

    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    generate = {
        target: RegisterDispatchKey(
            parsed.backend_indices[DispatchKey.CUDA],
            target,
            SelectiveBuilder.get_nop_selector(),
            rocm=False,
            symint=True,
            class_method_name=None,
            skip_dispatcher_op_registration=False,
        )
        for target in (Target.ANONYMOUS_DEFINITION, Target.REGISTRATION)
    }
    checks: dict[str, list[str]] = {}
    methods: dict[str, str] = {}
    for group in get_grouped_native_functions(parsed.native_functions):
        for text in generate[Target.ANONYMOUS_DEFINITION](group):
            for name, method in re.findall(r'common_device\(common_device, \w+, "(\w+)", "(\w+)"\)', text):
                checks.setdefault(name, []).append(method)
        for text in generate[Target.REGISTRATION](group):
            methods.update(re.findall(r'm\.impl\("([^"]+)",\s*TORCH_FN\((\w+)\)', text))
    compared = 0
    for overload in overloads():
        rule = rule_for(overload)
        name = rule.schema.name
        if rule.kind != "checked" or name not in methods:
            continue
        out = any(argument.out for argument in rule.schema.tensors)
        structured = operators.structured(name, texts.installed())
        assert kernel(rule.schema.base, rule.schema.overload, "CUDA", structured, out) == methods[name]
        assert [argument.name for argument in rule.schema.in_order] == checks[methods[name]], name
        compared += 1
    assert compared > 400


def test_other_namespaces_are_free(claims: Claims) -> None:
    library = torch.library.Library("torchdevlint_test_operators", "DEF")
    library.define("mix(Tensor a, Tensor b) -> Tensor")
    mix = torch.ops.torchdevlint_test_operators.mix.default
    assert rule_for(mix).kind == "free"
    assert claims.where(mix, claims.cpu(), claims.other()) == OTHER


def test_generated_check(claims: Claims) -> None:
    gpu, cpu = claims.gpu(), claims.cpu()
    addmm = aten.addmm.default
    assert claims.refuses(addmm, gpu, cpu, gpu) == generated("mat1", "cpu", "cuda:0", "wrapper_CUDA_addmm")
    assert claims.refuses(addmm, cpu, gpu, gpu) == generated("mat1", "cuda:0", "cpu", "wrapper_CUDA_addmm")
    assert claims.refuses(aten.mm.out, gpu, gpu, out=cpu) == generated(
        "self", "cuda:0", "cpu", "wrapper_CUDA_mm_out_out"
    )
    assert claims.where(addmm, gpu, gpu, gpu) == GPU
    assert claims.refuses(aten.index_select.default, gpu, 0, cpu) == generated(
        "index", "cpu", "cuda:0", "wrapper_CUDA__index_select"
    )
    assert claims.refuses(aten.gather.default, gpu, 0, claims.other()) == generated(
        "index", "cuda:1", "cuda:0", "wrapper_CUDA_gather"
    )


def test_one_dimension_is_not_a_scalar_and_a_scalar_is_one_only_for_iterators(claims: Claims) -> None:
    gpu = claims.gpu()
    assert claims.where(aten.mul.Tensor, gpu, claims.cpu(scalar())) == GPU
    assert claims.where(aten.mul.Tensor, claims.cpu(scalar()), gpu) == GPU
    assert claims.refuses(aten.mul.Tensor, gpu, claims.cpu(torch.ones(1))) == ITERATOR
    assert claims.refuses(aten.mul.Tensor, claims.cpu(), gpu) == ITERATOR
    assert "in method wrapper_CUDA_cat" in claims.refuses(aten.stack.default, [gpu, claims.cpu(scalar())])
    assert claims.refuses(aten.mul.Tensor, gpu, claims.other(scalar())).endswith("cuda:0 and cuda:1!")


def test_outputs_are_not_excused(claims: Claims) -> None:
    total = claims.cpu(scalar())
    assert claims.refuses(aten.add_.Tensor, total, claims.gpu(scalar())) == ITERATOR
    assert claims.where(aten.add.Tensor, total, claims.gpu(scalar())) == GPU
    assert claims.refuses(aten.add.out, claims.gpu(), claims.gpu(), out=claims.cpu()) == ITERATOR
    assert claims.refuses(aten.abs.out, claims.gpu(), out=claims.cpu()) == ITERATOR
    wrong = claims.refuses(aten.sum.IntList_out, claims.gpu(), [0], out=claims.cpu())
    assert wrong == "Expected out tensor to have device cuda:0, but got cpu instead"


def test_two_cpu_scalars_are_too_many_for_one_iterator(claims: Claims) -> None:
    end, weight = claims.cpu(scalar(0)), claims.cpu(scalar())
    text = claims.refuses(aten.lerp.Tensor, claims.gpu(), end, weight)
    assert text == "Trying to pass too many CPU scalars to non-CPU kernel!"
    assert claims.where(aten.where.self, claims.gpu(torch.ones(3) > 0), end, weight) == GPU


def assertion(position: int) -> str:
    return f"please report a bug to PyTorch. argument {position}: expected a CUDA device but found cpu"


def test_kernels_that_take_no_cpu_scalar_that_their_iterator_lets_pass(claims: Claims) -> None:
    one = claims.cpu(scalar())
    for overload, *rest in ((aten.lerp.Scalar, 0.5), (aten.smooth_l1_loss.default,), (aten.lerp.Tensor, claims.gpu())):
        assert claims.refuses(overload, one, claims.gpu(), *rest).endswith(assertion(1)), overload
        text = claims.refuses(overload, claims.gpu(), one, *rest)
        assert text.startswith("iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at ")
        assert text.endswith(assertion(2)), overload
        assert claims.where(overload, claims.gpu(), claims.gpu(), *rest) == GPU
    assert claims.where(aten.lerp.Tensor, claims.gpu(), claims.gpu(), one) == GPU
    assert claims.refuses(aten.lerp.Tensor, claims.gpu(), claims.gpu(), claims.cpu(torch.ones(1))) == ITERATOR
    assert claims.refuses(aten.lerp_.Scalar, one, claims.gpu(), 0.5) == ITERATOR
    bounds = (claims.cpu(scalar(0)), claims.gpu())
    assert claims.refuses(aten.clamp.Tensor_out, claims.gpu(), *bounds, out=claims.gpu()) == ITERATOR


def test_losses_that_take_no_cpu_scalar(claims: Claims) -> None:
    one, other = claims.cpu(scalar()), claims.gpu(scalar())
    for overload in (aten.mse_loss.default, aten.binary_cross_entropy.default):
        assert claims.refuses(overload, other, one).endswith(("cuda:0 and cpu!", assertion(2)))
        assert claims.where(overload, other, other) == GPU
    assert claims.where(aten.binary_cross_entropy.default, claims.gpu(), claims.gpu(), one) == GPU
    assert claims.refuses(aten.binary_cross_entropy.default, claims.gpu(), claims.gpu(), claims.cpu()) == ITERATOR


def test_out_of_scans_is_compared_before_the_helper(claims: Claims) -> None:
    text = "expected device cuda:0 but found cpu"
    assert claims.refuses(aten.logcumsumexp.out, claims.gpu(), 0, out=claims.cpu()) == text
    for scan in (aten.cummax.out, aten.cummin.out):
        for values, indices in ((CPU, GPU), (GPU, CPU)):
            outs = {"values": claims.make(values), "indices": claims.make(indices, torch.ones(3, 3).long())}
            assert claims.refuses(scan, claims.gpu(), 0, **outs) == text
        assert claims.where(scan, claims.gpu(), 0, values=claims.gpu(), indices=claims.gpu()) == GPU
    assert claims.refuses(aten.logcumsumexp.out, claims.cpu(), 0, out=claims.gpu()) == (
        "expected device cpu but found cuda:0"
    )


def test_grid_sampler_has_the_check_of_the_kernel_that_it_ends_in(claims: Claims) -> None:
    for spread, align, elsewhere in ((2, True, CPU), (2, False, OTHER), (3, True, OTHER), (2, True, OTHER)):
        overload = aten.grid_sampler_2d.default if spread == 2 else aten.grid_sampler_3d.default
        images = claims.gpu(torch.ones(1, 1, *[3] * spread))
        grid = claims.make(elsewhere, torch.ones(1, *[3] * spread, spread))
        cudnn = (spread, align, elsewhere) == (2, True, OTHER)
        base = "cudnn_grid_sampler" if cudnn else f"grid_sampler_{spread}d"
        expected = generated("grid", str(elsewhere), "cuda:0", f"wrapper_CUDA__{base}")
        assert claims.refuses(overload, images, grid, 0, 0, align) == expected


def test_sparse_addition_names_what_is_not_on_a_gpu(claims: Claims) -> None:
    def sparse(device: torch.device) -> torch.Tensor:
        return claims.make(device, torch.ones(3, 3).to_sparse())

    add = aten.add.Tensor
    assert claims.refuses(add, sparse(GPU), sparse(CPU)) == "add: expected 'other' to be CUDA, but got CPU"
    assert claims.refuses(add, sparse(CPU), sparse(GPU)) == "add: expected 'self' to be CUDA, but got CPU"
    dense = "add: expected 'self' to be a CUDA tensor, but got a CPU tensor"
    assert claims.refuses(add, sparse(GPU), claims.cpu()) == dense
    assert claims.refuses(add, claims.cpu(), sparse(GPU)) == dense
    assert claims.refuses(aten.add_.Tensor, claims.cpu(), sparse(GPU)) == dense
    other = "add: expected 'other' to be a CUDA tensor, but got a CPU tensor"
    assert claims.refuses(add, claims.gpu(), sparse(CPU)) == other
    assert claims.refuses(add, sparse(CPU), claims.gpu()) == other
    assert "check_device({r_, t, src}) to be true" in claims.refuses(add, sparse(GPU), sparse(OTHER))
    assert "check_device({sparse, r_, dense}) to be true" in claims.refuses(add, claims.other(), sparse(GPU))
    assert claims.where(add, sparse(GPU), claims.gpu()) == GPU
    assert claims.where(add, sparse(CPU), claims.cpu()) == CPU


def test_clamp_with_tensors_has_a_generated_check_and_takes_no_cpu_scalar(claims: Claims) -> None:
    """native_functions.yaml: `clamp.Tensor` lacks the NoCheck that `clamp.Tensor_out` has."""
    text = claims.refuses(aten.clamp.Tensor, claims.gpu(), claims.cpu(scalar(0)))
    assert text == generated("min", "cpu", "cuda:0", "wrapper_CUDA_clamp_Tensor")
    assert claims.where(aten.clamp.Tensor_out, claims.gpu(), claims.cpu(scalar(0)), out=claims.gpu()) == GPU


def test_where_moves_scalars_of_any_device(claims: Claims) -> None:
    mask = claims.gpu(torch.ones(3) > 0)
    assert claims.where(aten.where.self, mask, claims.other(scalar()), claims.gpu(torch.ones(3))) == GPU
    assert claims.refuses(aten.where.self, mask, claims.cpu(torch.ones(3)), claims.gpu(torch.ones(3))) == ITERATOR


def test_addcmul_takes_a_cpu_scalar_at_the_end_only_and_addcdiv_none(claims: Claims) -> None:
    gpu, one = claims.gpu(), claims.cpu(scalar())
    for overload in (aten.addcdiv.default, aten.addcdiv_.default):
        assert claims.where(overload, gpu, gpu, gpu) == GPU
        for operands in ((gpu, gpu, one), (gpu, one, gpu)):
            assert claims.refuses(overload, *operands) == ITERATOR
    for overload in (aten.addcmul.default, aten.addcmul_.default):
        assert claims.where(overload, gpu, gpu, one) == GPU
        assert claims.refuses(overload, gpu, one, gpu)
        assert claims.refuses(overload, gpu, gpu, claims.cpu()) == ITERATOR


def test_index(claims: Claims) -> None:
    rows = torch.tensor([0, 1])
    assert claims.where(aten.index.Tensor, claims.gpu(), [claims.cpu(rows.clone())]) == GPU
    assert claims.where(aten.index.Tensor, claims.gpu(), [None, claims.gpu(rows.clone())]) == GPU
    text = "indices should be either on cpu or on the same device as the indexed tensor ({})"
    assert claims.refuses(aten.index.Tensor, claims.cpu(), [claims.gpu(rows.clone())]) == text.format("cpu")
    assert claims.refuses(aten.index.Tensor, claims.gpu(), [claims.other(rows.clone())]) == text.format("cuda:0")


def test_index_put(claims: Claims) -> None:
    put, table = aten.index_put_.default, claims.gpu()
    rows, mask = claims.cpu(torch.tensor([0])), claims.gpu(torch.ones(3, 3) > 0)
    assert claims.where(put, table, [rows], claims.gpu()) == GPU
    assert claims.where(put, table, [rows], claims.cpu(scalar())) == GPU
    assert claims.where(put, table, [mask], claims.cpu(torch.ones(1))) == GPU
    assert claims.refuses(put, table, [rows], claims.cpu(torch.ones(1))) == ITERATOR
    assert claims.refuses(put, table, [mask], claims.cpu(torch.ones(9))) == ITERATOR
    text = claims.refuses(put, table, [rows], claims.cpu(torch.ones(1)), True)
    assert text == "expected device cuda:0 but got device cpu for value tensor"
    assert claims.where(put, claims.cpu(), [claims.gpu(torch.tensor([0]))], claims.cpu()) == CPU


def test_masked_fill(claims: Claims) -> None:
    mask = claims.cpu(torch.ones(3, 3) > 0)
    text = claims.refuses(aten.masked_fill.Scalar, claims.gpu(), mask, 0.0)
    assert text == "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0"
    there = claims.gpu(torch.ones(3, 3) > 0)
    assert claims.where(aten.masked_fill.Tensor, claims.gpu(), there, claims.cpu(scalar())) == GPU
    assert "Expected inputs" in claims.refuses(aten.masked_fill.Tensor, claims.cpu(), mask, claims.gpu(scalar()))


@pytest.mark.parametrize(
    ("overload", "call"),
    [
        (aten.copy_.default, lambda c: (c.gpu(), c.cpu())),
        (aten.fill_.Tensor, lambda c: (c.gpu(), c.cpu(scalar()))),
        (aten.slice_scatter.default, lambda c: (c.gpu(), c.cpu())),
        (aten._ctc_loss.Tensor, lambda c: (c.gpu(), c.cpu(), c.cpu(), c.cpu())),
        (aten.bernoulli_.Tensor, lambda c: (c.gpu(), c.cpu())),
        (aten._foreach_copy_.default, lambda c: ([c.gpu()], [c.cpu()])),
    ],
)
def test_devices_are_crossed(claims: Claims, overload: Any, call: Callable[[Claims], tuple[Any, ...]]) -> None:
    assert claims.where(overload, *call(claims)) == GPU


def test_convolution(claims: Claims) -> None:
    def images(device: torch.device) -> torch.Tensor:
        return claims.make(device, torch.ones(1, 1, 3, 3))

    rest = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    conv = aten.convolution.default
    assert claims.refuses(conv, images(GPU), images(CPU), None, *rest) == (
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same"
    )
    assert claims.refuses(conv, images(GPU), images(GPU), claims.cpu(), *rest).startswith("Input type (torch.cuda")
    assert claims.refuses(conv, images(GPU), images(OTHER), None, *rest) == generated(
        "weight", "cuda:1", "cuda:0", "wrapper_CUDA__cudnn_convolution"
    )
    assert claims.where(conv, images(GPU), images(GPU), claims.gpu(), *rest) == GPU


@pytest.mark.parametrize(
    ("sizes", "kernel_sizes", "options", "method"),
    [
        ((1, 1, 3, 3), (1, 1, 3, 3), {}, "wrapper_CUDA___slow_conv2d_forward"),
        ((1, 1, 3), (1, 1, 3), {}, "wrapper_CUDA___slow_conv2d_forward"),
        ((1, 1, 3, 3), (1, 1, 2, 2), {"transposed": True}, "wrapper_CUDA_slow_conv_transpose2d"),
        ((1, 1, 5, 5, 5), (1, 1, 2, 2, 2), {"transposed": True}, "wrapper_CUDA__slow_conv_transpose3d"),
        ((1, 1, 5, 5), (1, 1, 2, 2), {"dilation": 2}, "wrapper_CUDA__slow_conv_dilated2d"),
        ((1, 1, 5, 5, 5), (1, 1, 2, 2, 2), {"dilation": 2}, "wrapper_CUDA__slow_conv_dilated3d"),
        ((1, 1, 5, 5, 5), (1, 1, 2, 2, 2), {}, ""),
    ],
)
def test_convolution_of_little_on_the_cpu(
    claims: Claims, sizes: tuple[int, ...], kernel_sizes: tuple[int, ...], options: dict[str, Any], method: str
) -> None:
    """It is not for oneDNN, whatever number of threads there is."""
    spread = len(sizes) - 2
    rest = ([1] * spread, [0] * spread, [options.get("dilation", 1)] * spread, options.get("transposed", False))
    text = claims.refuses(
        aten.convolution.default,
        claims.cpu(torch.ones(sizes)), claims.gpu(torch.ones(kernel_sizes)), None, *rest, [0] * spread, 1,
    )  # fmt: skip
    if method:
        assert text == generated("weight", "cuda:0", "cpu", method)
    else:
        assert text.startswith("Could not run 'aten::slow_conv3d_forward' with arguments from the 'CUDA' backend.")


def test_convolution_of_little_on_the_cpu_with_a_bias_elsewhere(claims: Claims) -> None:
    images, weight = claims.cpu(torch.ones(1, 1, 3, 3)), claims.cpu(torch.ones(1, 1, 3, 3))
    bias = claims.gpu(torch.ones(1))
    text = claims.refuses(aten.convolution.default, images, weight, bias, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    assert text == generated("bias", "cuda:0", "cpu", "wrapper_CUDA___slow_conv2d_forward")


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="a build without oneDNN")
@pytest.mark.parametrize(
    ("sizes", "kernel_sizes", "stride", "groups"),
    [
        ((2, 1, 3, 3), (1, 1, 3, 3), 1, 1),
        ((1, 1, 200, 200), (1, 1, 3, 3), 1, 1),
        ((1, 1, 9, 9), (1, 1, 4, 4), 1, 1),
        ((1, 2, 3, 3), (2, 1, 3, 3), 1, 2),
        ((4, 1, 3), (1, 1, 3), 2, 1),
    ],
)
def test_convolution_of_more_on_the_cpu_is_for_onednn(
    claims: Claims, sizes: tuple[int, ...], kernel_sizes: tuple[int, ...], stride: int, groups: int
) -> None:
    spread = len(sizes) - 2
    rest = ([stride] * spread, [0] * spread, [1] * spread, False, [0] * spread, groups)
    images, weight = claims.cpu(torch.ones(sizes)), claims.gpu(torch.ones(kernel_sizes))
    assert claims.refuses(aten.convolution.default, images, weight, None, *rest) == (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should "
        "be a MKLDNN tensor and weight is a dense tensor"
    )
    double = (claims.cpu(torch.ones(sizes).double()), claims.gpu(torch.ones(kernel_sizes).double()))
    assert "wrapper_CUDA___slow_conv2d_forward" in claims.refuses(aten.convolution.default, *double, None, *rest)
    with torch.backends.mkldnn.flags(enabled=False):
        assert "___slow_conv2d_forward" in claims.refuses(aten.convolution.default, images, weight, None, *rest)


def test_convolution_of_one_by_one_is_for_onednn_where_there_are_threads(claims: Claims) -> None:
    images, weight = claims.cpu(torch.ones(2, 1, 3, 3)), claims.gpu(torch.ones(1, 1, 1, 1))
    rest = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(claims.refuses(aten.convolution.default, images, weight, None, *rest))
    finally:
        torch.set_num_threads(before)
    assert ["MKLDNN" in text for text in found] == [False, torch.backends.mkldnn.is_available()]


def test_kernels_of_a_gpu_stand_for_those_of_the_cpu(claims: Claims) -> None:
    gpu, cpu = claims.gpu(torch.ones(1, 2, 3, 4)), claims.cpu(torch.ones(1, 2, 3, 4))
    text = claims.refuses(aten._scaled_dot_product_flash_attention_for_cpu.default, gpu, gpu, cpu)
    assert text.endswith("but got query.device: cuda:0 key.device: cuda:0 and value.device: cpu instead.")
    embedding = claims.refuses(aten.embedding.default, cpu, gpu)
    assert embedding == generated("index", "cuda:0", "cpu", "wrapper_CUDA__index_select")
    weight = claims.cpu(torch.ones(2))
    args = (gpu, weight, weight, None, None, True, 0.1, 1e-5)
    expected = generated("weight", "cpu", "cuda:0", "wrapper_CUDA__cudnn_batch_norm")
    assert claims.refuses(aten.native_batch_norm.default, *args) == expected


def test_packing_wants_lengths_on_the_cpu_even_where_devices_agree(claims: Claims) -> None:
    pack = aten._pack_padded_sequence.default
    rule = rule_for(pack)
    assert rule.always
    assert rule.outputs == ("common", "cpu")
    lengths = torch.tensor([2, 1])
    assert claims.where(pack, claims.gpu(), claims.cpu(lengths.clone()), False) == GPU
    assert claims.refuses(pack, claims.gpu(), claims.gpu(lengths.clone()), False) == (
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"
    )


def test_operators_without_a_cuda_kernel(claims: Claims) -> None:
    assert rule_for(aten.histogram.bin_ct).always
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::histogram.bin_ct' .* 'CUDA' backend"):
        claims.where(aten.histogram.bin_ct, claims.gpu(), 5)
    assert claims.where(aten.histogram.bin_ct, claims.cpu(), 5) == CPU
    assert claims.where(aten.histogram.bin_ct, claims.make(torch.device("mps:0")), 5) == torch.device("mps:0")


def test_foreach_takes_each_index_by_itself(claims: Claims) -> None:
    add = aten._foreach_add.List
    found = placements(add, ([claims.gpu(), claims.cpu()], [claims.gpu(), claims.cpu()]), {}, claims)
    assert found == (GPU, CPU)
    assert rule_for(add).outputs == "each"
    assert claims.refuses(add, [claims.gpu()], [claims.cpu()]) == ITERATOR
    assert claims.where(add, [claims.gpu()], [claims.cpu(scalar())]) == GPU
    assert claims.refuses(aten._foreach_add_.List, [claims.cpu(scalar())], [claims.gpu()]) == ITERATOR
    assert claims.where(aten._foreach_mul_.Tensor, [claims.gpu()], claims.cpu(scalar())) == GPU
    assert claims.refuses(aten._foreach_mul_.Tensor, [claims.gpu()], claims.other(scalar())) == (
        "scalar tensor is expected to be on cuda:0 but is on cuda:1"
    )
    packed = claims.refuses(
        aten._foreach_addcdiv_.Tensor, [claims.gpu()], [claims.gpu()], [claims.gpu()], claims.gpu(torch.ones(1))
    )
    assert packed == "Expected scalars to be on CPU, got cuda:0 instead."


def test_fused_optimizers(claims: Claims) -> None:
    def lists(*devices: torch.device) -> list[list[torch.Tensor]]:
        return [[claims.make(device)] for device in devices]

    settings = {"beta1": 0.9, "beta2": 0.9, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": False}
    params, grads, first, second, steps = lists(GPU, GPU, GPU, GPU, CPU)
    fused = (params, grads, first, second, [], steps)
    expected = generated("state_steps", "cpu", "cuda:0", "wrapper_CUDA___fused_adam_")
    assert claims.refuses(aten._fused_adam_.default, *fused, lr=0.1, **settings) == expected
    assert claims.where(aten._fused_adam_.tensor_lr, *fused, lr=claims.cpu(scalar()), **settings) == GPU
    rate = claims.refuses(aten._fused_adam_.tensor_lr, *fused, lr=claims.other(scalar()), **settings)
    assert rate == "lr must be on the same GPU device as the params"


def test_recurrent_layer_of_the_cpu(claims: Claims) -> None:
    gpu, cpu = claims.gpu(), claims.cpu()
    rest = (False, [], 2, 3, 1, True, False, False, False)
    layer = aten.mkldnn_rnn_layer.default
    text = "Input and {} tensors are not at the same device, found input tensor at cuda:0 and {} tensor at cpu"
    found = claims.refuses(layer, gpu, gpu, gpu, gpu, gpu, gpu, cpu, *rest)
    assert found == text.format("hidden", "hidden")
    assert claims.refuses(layer, gpu, gpu, gpu, cpu, gpu, gpu, gpu, *rest) == text.format("parameter", "parameter")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("tensor_split", lambda c: (c.gpu(), c.cpu()), lambda c: (c.gpu(), c.gpu())),
        ("tensor_split", lambda c: (c.gpu(), 2), lambda c: (c.cpu(), c.gpu())),
        ("meshgrid", lambda c: (c.gpu(), c.gpu()), lambda c: (c.gpu(), c.cpu())),
        ("meshgrid", lambda c: ([c.gpu(), c.gpu()],), lambda c: ([c.gpu(), c.cpu()],)),
        ("quantile", lambda c: (c.gpu(), 0.5), lambda c: (c.gpu(), c.cpu())),
        ("_pad_packed_sequence", lambda c: (c.gpu(), c.cpu(), False, 0.0, 1), lambda c: (c.gpu(), c.gpu())),
    ],
)
def test_composite_functions(
    claims: Claims, name: str, good: Callable[[Claims], tuple[Any, ...]], bad: Callable[[Claims], tuple[Any, ...]]
) -> None:
    check = operators.COMPOSITE[name]
    check(good(claims), {}, claims)
    with pytest.raises(RuntimeError) as caught:
        check(bad(claims), {}, claims)
    assert getattr(caught.value, operators.OPERANDS)


def test_xpu_and_mps(claims: Claims) -> None:
    xpu, mps, cpu = torch.device("xpu:0"), torch.device("mps:0"), claims.cpu()
    text = claims.refuses(aten.mm.default, claims.make(xpu), cpu)
    assert text == generated("mat2", "cpu", "xpu:0", "wrapper_XPU_mm")
    assert claims.refuses(aten.mm.default, claims.make(mps), cpu).startswith("Placeholder storage has not been")
    assert claims.refuses(aten.add.Tensor, claims.make(mps), cpu).endswith("two devices, mps:0 and cpu!")


def test_sparse_kernels_are_named_after_their_key(claims: Claims) -> None:
    sparse = claims.cpu(torch.eye(3).to_sparse())
    expected = generated("mat1", "cpu", "cuda:0", "wrapper_SparseCUDA__addmm")
    assert claims.refuses(aten._sparse_addmm.default, claims.gpu(), sparse, claims.gpu()) == expected
    expected = generated("mask", "cpu", "cuda:0", "wrapper_SparseCUDA__sparse_mask")
    assert claims.refuses(aten.sparse_mask.default, claims.gpu(), sparse) == expected


def test_both_texts_of_the_generated_check(claims: Claims) -> None:
    first = operators.Operand("self", claims.gpu(), GPU)
    other = operators.Operand("mat1", claims.cpu(), CPU)
    assert str(texts.generated(first, other, "m", (2, 7))).endswith(
        "found at least two devices, cuda:0 and cpu! (when checking argument for argument mat1 in method m)"
    )
    assert str(texts.generated(first, other, "m", (2, 8))).endswith(
        "but got mat1 is on cpu, different from other tensors on cuda:0 (when checking argument in method m)"
    )
    assert texts.release_of("2.10.0+cpu") == (2, 10)


def test_outputs() -> None:
    assert rule_for(aten.zeros.default).outputs == "device argument"
    assert rule_for(aten._to_copy.default).outputs == "device argument"
    assert rule_for(aten._sparse_coo_tensor_with_dims_and_tensors.default).outputs == "common"
    assert rule_for(aten.view.default).outputs == "aliases"
    assert rule_for(aten.add_.Tensor).outputs == "aliases"
    assert rule_for(aten.add.Tensor).outputs == "common"


def test_waiting_for_the_accelerator(claims: Claims) -> None:
    mask, rows = claims.gpu(torch.ones(3) > 0), claims.gpu(torch.tensor([0]))

    def asked(overload: Any, *args: Any, **kwargs: Any) -> bool:
        return waits(rule_for(overload), args, kwargs, claims)

    assert asked(aten.nonzero.default, claims.gpu())
    assert not asked(aten.nonzero.default, claims.cpu())
    assert not asked(aten.add.Tensor, claims.gpu(), claims.gpu())
    assert asked(aten.index.Tensor, claims.gpu(), [mask])
    assert not asked(aten.index.Tensor, claims.gpu(), [rows])
    assert asked(aten.repeat_interleave.Tensor, rows)
    assert not asked(aten.repeat_interleave.Tensor, rows, output_size=3)
