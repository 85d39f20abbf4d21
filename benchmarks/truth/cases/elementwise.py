"""Pointwise operators by the placement of their operands, and the rules for 0-dim tensors."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, Expectation, case, ok, raises, rows
from benchmarks.truth.sources import ITERATOR, ZERO_DIM, mixed, on

BINARY = {
    "add": "a + b",
    "sub": "torch.sub(a, b, alpha=2)",
    "mul": "a * b",
    "div": "a / b",
    "pow": "a ** b",
    "maximum": "torch.maximum(a, b)",
    "lt": "a < b",
    "eq": "a == b",
    "logical-and": "torch.logical_and(a, b)",
    "atan2": "torch.atan2(a, b)",
    "lerp": "torch.lerp(a, b, 0.5)",
    "fmod": "torch.fmod(a, b)",
    "clamp-min": "torch.clamp(a, min=b)",
}
# name: (a, b, devices, where the result is, None for an error)
PLACEMENTS: dict[str, tuple[str, str, int, str | None]] = {
    "cuda-cuda": ("torch.ones(2, 3, device=first)", "torch.ones(3, device=first)", 1, "cuda:0"),
    "cuda-cpu": ("torch.ones(2, 3, device=first)", "torch.ones(2, 3)", 1, None),
    "cpu-cuda": ("torch.ones(2, 3)", "torch.ones(2, 3, device=first)", 1, None),
    "cuda-cpu0dim": ("torch.ones(2, 3, device=first)", "torch.tensor(2.0)", 1, "cuda:0"),
    "cpu0dim-cuda": ("torch.tensor(2.0)", "torch.ones(2, 3, device=first)", 1, "cuda:0"),
    "cpu-cuda0dim": ("torch.ones(2, 3)", "torch.tensor(2.0, device=first)", 1, None),
    "first-second": ("torch.ones(2, device=first)", "torch.ones(2, device=second)", 2, None),
}
MANY = ("cuda-cuda", "cuda-cpu", "cpu-cuda", "cuda-cpu0dim", "cpu-cuda0dim")

# native_functions.yaml gives clamp.Tensor a device check and its out= form none; and of lerp nothing is stated either.
UNSTATED = {("lerp", "cuda-cpu0dim"), ("lerp", "cpu0dim-cuda"), ("clamp-min", "cuda-cpu0dim"), ("clamp-min", "cpu0dim-cuda")}


def _binary() -> tuple[Case, ...]:
    cases = []
    for name, expression in BINARY.items():
        placements = PLACEMENTS if name in {"add", "mul", "lt", "lerp", "clamp-min"} else MANY
        for placement in placements:
            a, b, devices, where = PLACEMENTS[placement]
            expects: Expectation | None = on(where, ZERO_DIM) if where else mixed(ITERATOR)
            if (name, placement) in UNSTATED:
                expects = None
            program = f"a = {a};;b = {b};;seen['r'] = {expression}"
            cases.append(case(f"elementwise/{name}/{placement}", program, expects, devices=devices))
    return tuple(cases)


UNARY = rows(
    "elementwise",
    (
        ("unary/chain", "seen['r'] = x.exp().log().relu().sigmoid().abs()"),
        ("unary/python-number", "seen['r'] = 2 * x + 1.0 - x / 3"),
        ("unary/numpy-number", "seen['r'] = x * np.float32(2)"),
        ("unary/softmax", "seen['r'] = F.softmax(x, dim=1)"),
        ("unary/gelu", "seen['r'] = F.gelu(x)"),
        ("unary/dropout", "seen['r'] = F.dropout(x, 0.5, training=True)"),
        ("unary/cumsum", "seen['r'] = x.cumsum(0)"),
        ("unary/sort", "v, i = x.sort();;seen['r'] = v;;seen['i'] = i"),
        ("unary/topk", "v, i = x.topk(2);;seen['r'] = v;;seen['i'] = i"),
        ("unary/unique", "seen['r'] = x.unique()"),
        ("unary/nonzero", "seen['r'] = x.nonzero()"),
    ),
    setup="x = torch.ones(2, 3, device=first)",
)
UNARY = tuple(
    Case(row.id, row.program, row.devices, row.alone, on("cuda:0", "docs: torch.Tensor.device (results stay)"))
    for row in UNARY
)

_LOOPS = raises("RuntimeError", "expected a CUDA device but found cpu", source="aten/src/ATen/native/cuda/Loops.cuh, gpu_kernel; seen on an H200")

TERNARY = rows(
    "elementwise",
    (
        ("addcmul/value-cpu", "seen['r'] = torch.addcmul(x, x, y)", mixed(ITERATOR)),
        ("addcmul/same", "seen['r'] = torch.addcmul(x, x, x)", on("cuda:0", ITERATOR)),
        ("addcmul/cpu0dim", "seen['r'] = torch.addcmul(x, x, zero)"),
        ("lerp/weight-cpu0dim", "seen['r'] = torch.lerp(x, x, zero)", on("cuda:0", "aten/src/ATen/native/cuda/Lerp.cu, lerp_tensor_kernel")),
        ("lerp/end-cpu0dim-weight-tensor", "torch.lerp(x, zero, x)", _LOOPS),
        ("lerp/two-cpu0dim", "torch.lerp(x, zero, zero)", raises("RuntimeError", "Trying to pass too many CPU scalars", source=ITERATOR)),
        ("addcdiv/value-cpu", "seen['r'] = torch.addcdiv(x, y, x)", mixed(ITERATOR)),
        ("clamp/min-max-cpu0dim", "seen['r'] = torch.clamp(x, zero, zero + 1)"),
        ("clamp/max-cpu", "seen['r'] = torch.clamp(x, max=y)", mixed(ITERATOR)),
        ("masked-fill/mask-cpu", "seen['r'] = x.masked_fill(y > 0, 0.0)"),
        ("masked-fill/value-cpu0dim", "seen['r'] = x.masked_fill(x > 0, zero)"),
        ("masked-fill/value-cuda0dim", "seen['r'] = x.masked_fill(x > 0, zero.to(first))", on("cuda:0", ITERATOR)),
        ("masked-fill/cpu-with-cuda-value", "seen['r'] = y.masked_fill(y > 0, zero.to(first))"),
        ("prelu/weight-cpu", "seen['r'] = F.prelu(x, torch.ones(1))"),
        ("isclose/cuda-cpu", "seen['r'] = torch.isclose(x, y)", mixed(ITERATOR)),
        ("allclose/cuda-cpu", "seen['r'] = torch.allclose(x, y)", mixed(ITERATOR)),
        ("equal/cuda-cpu", "seen['r'] = torch.equal(x, y)"),
        ("bucketize/boundaries-cpu", "seen['r'] = torch.bucketize(x, torch.arange(3.0))"),
        ("foreach-add/same", "seen['r'] = torch._foreach_add([x, x], [x, x])", ok(ITERATOR, r=["cuda:0 float32 [2, 3]"] * 2)),
        ("foreach-add/cuda-cpu", "seen['r'] = torch._foreach_add([x, x], [y, y])"),
        ("einsum-mul/cuda-cpu", "seen['r'] = torch.einsum('ij,ij->ij', x, y)", mixed(ITERATOR)),
    ),
    setup="x = torch.ones(2, 3, device=first);;y = torch.ones(2, 3);;zero = torch.tensor(0.0)",
)

ZERO = rows(
    "zero-dim",
    (
        ("both/cpu-cuda", "seen['r'] = torch.tensor(1.0) + torch.tensor(1.0, device=first)", on("cuda:0", ZERO_DIM)),
        ("both/cuda-cpu", "seen['r'] = torch.tensor(1.0, device=first) + torch.tensor(1.0)", on("cuda:0", ZERO_DIM)),
        ("one-element-vector", "seen['r'] = x + torch.ones(1)", mixed(ZERO_DIM)),
        ("cuda0dim-and-cpu-one-element", "seen['r'] = torch.tensor(1.0, device=first) + torch.ones(1)", mixed(ZERO_DIM)),
        ("accumulate/rebinding", "acc = torch.tensor(0.0);;acc = acc + x.sum();;seen['r'] = acc", on("cuda:0", ZERO_DIM)),
        ("accumulate/in-place", "acc = torch.tensor(0.0);;acc += x.sum()", mixed(ITERATOR)),
        ("accumulate/number", "acc = 0.0;;acc += x.sum();;seen['r'] = acc", on("cuda:0", ZERO_DIM)),
        ("in-place-on-cuda", "x += torch.tensor(1.0);;seen['r'] = x", on("cuda:0", ZERO_DIM)),
        ("dtype/int-cuda-float-cpu0dim", "seen['r'] = torch.ones(2, dtype=torch.int64, device=first) + torch.tensor(1.5)"),
        ("dtype/float32-cuda-float64-cpu0dim", "seen['r'] = x * torch.tensor(1.5, dtype=torch.float64)"),
        ("where/value-cpu0dim", "seen['r'] = torch.where(x > 0, x, torch.tensor(0.0))", on("cuda:0", ITERATOR)),
        ("where/both-cpu0dim", "seen['r'] = torch.where(x > 0, torch.tensor(1.0), torch.tensor(0.0))"),
        ("where/condition-cpu0dim", "seen['r'] = torch.where(torch.tensor(True), x, x)"),
        ("stack/cpu0dim", "seen['r'] = torch.stack([x.sum(), torch.tensor(0.0)])", mixed()),
        ("cat/cpu-one-element", "seen['r'] = torch.cat([x, torch.ones(1)])", mixed()),
        ("dot/cpu-one-element", "seen['r'] = torch.dot(x, torch.ones(2))"),
        ("loss/target-cpu0dim", "seen['r'] = F.mse_loss(x.sum(), torch.tensor(1.0))"),
        ("loss/target-cpu0dim/smooth-l1", "F.smooth_l1_loss(x.sum(), torch.tensor(1.0))", _LOOPS),
        ("loss/target-cpu0dim/l1", "seen['r'] = F.l1_loss(x.sum(), torch.tensor(1.0))", on("cuda:0", "aten/src/ATen/native/Loss.cpp, l1_loss (a difference)")),
        ("loss/target-cpu0dim/bce", "F.binary_cross_entropy(x.mean(), torch.tensor(1.0))", mixed("aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_cuda")),
        ("comparison/python-bool", "seen['r'] = bool(x.sum() > torch.tensor(1.0))", ok(ZERO_DIM, r=True)),
        ("second-gpu0dim", "seen['r'] = x + torch.tensor(1.0, device=second)", mixed(ITERATOR)),
        ("sum-of-list", "seen['r'] = sum([x.sum(), x.mean()])", on("cuda:0", ZERO_DIM)),
        ("tensor-of-cuda-scalars", "seen['r'] = torch.tensor([x.sum(), x.mean()])", on("cpu", NEW := "torch/csrc/utils/tensor_new.cpp, internal_new_from_data")),
        ("tensor-of-cuda-scalar", "seen['r'] = torch.tensor(x.sum())", on("cuda:0", NEW)),
        ("tensor-of-list-of-one-element-vectors", "seen['r'] = torch.tensor([x[:1], x[1:]])"),
        ("math-function", "import math;;seen['r'] = math.sqrt(x.sum())", ok("docs: Tensor.item", r=1.4142)),
        ("as-python-range", "seen['r'] = len(range(x.sum().int()))", ok("docs: Tensor.item", r=2)),
    ),
    setup="x = torch.ones(2, device=first)",
)
ZERO = tuple(
    Case(row.id, row.program, 2 if "second" in row.program else 1, row.alone, row.expects) for row in ZERO
)

CASES = (*_binary(), *UNARY, *TERNARY, *ZERO)
