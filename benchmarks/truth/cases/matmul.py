"""Products, reductions, joins and in-place or out= forms by placement."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, case, ok, raises, rows
from benchmarks.truth.sources import COPY, ITERATOR, WRAPPER, mixed, on

PRODUCTS = {
    "mm": ("torch.mm(a, b)", "2, 3", "3, 2"),
    "matmul-batched": ("a @ b", "4, 2, 3", "3, 2"),
    "bmm": ("torch.bmm(a, b)", "4, 2, 3", "4, 3, 2"),
    "mv": ("torch.mv(a, b)", "2, 3", "3"),
    "dot": ("torch.dot(a, b)", "3", "3"),
    "outer": ("torch.outer(a, b)", "3", "2"),
    "einsum": ("torch.einsum('ij,jk->ik', a, b)", "2, 3", "3, 2"),
    "tensordot": ("torch.tensordot(a, b, dims=1)", "2, 3", "3, 2"),
    "cdist": ("torch.cdist(a, b)", "2, 3", "4, 3"),
    "linear": ("F.linear(a, b)", "2, 3", "4, 3"),
    "cross": ("torch.linalg.cross(a, b)", "2, 3", "2, 3"),
    "kron": ("torch.kron(a, b)", "2", "3"),
    "solve": ("torch.linalg.solve(torch.eye(3, device=a.device), b)", "1", "3, 2"),
}
PLACES = {"cuda-cuda": ("first", "first"), "cuda-cpu": ("first", "'cpu'"), "cpu-cuda": ("'cpu'", "first")}
# Their kernels speak for themselves, with other texts or by way of another operator.
OWN_TEXT = {"dot", "tensordot", "einsum", "cdist", "solve", "outer", "kron", "cross", "matmul-batched", "linear"}


def _products() -> tuple[Case, ...]:
    cases = []
    for name, (expression, a, b) in PRODUCTS.items():
        for place, (left, right) in PLACES.items():
            program = f"a = torch.ones({a}, device={left});;b = torch.ones({b}, device={right});;seen['r'] = {expression}"
            expects = on("cuda:0", WRAPPER) if place == "cuda-cuda" else None if name in OWN_TEXT else mixed()
            cases.append(case(f"matmul/{name}/{place}", program, expects))
    program = "seen['r'] = torch.ones(2, 3, device=first) @ torch.ones(3, device=second)"
    cases.append(case("matmul/mv/first-second", program, mixed(), devices=2))
    return tuple(cases)


_CONVOLUTION = "aten/src/ATen/native/Convolution.cpp, ConvParams::use_mkldnn and _convolution_nogroup_backend"

LINEAR = rows(
    "matmul",
    (
        ("linear/bias-cpu", "seen['r'] = F.linear(x, x, torch.ones(2))", mixed()),
        ("linear/weight-cpu-bias-cpu", "seen['r'] = F.linear(x, y, torch.ones(2))", mixed()),
        ("linear/input-cpu", "seen['r'] = F.linear(y, x, torch.ones(2, device=first))", mixed()),
        ("addmm/input-cpu", "seen['r'] = torch.addmm(torch.ones(2), x, x.t())", mixed()),
        ("addmm/input-cpu0dim", "seen['r'] = torch.addmm(torch.tensor(1.0), x, x.t())", mixed()),
        ("baddbmm/batch-cpu", "seen['r'] = torch.baddbmm(x[None], y[None, :, :2], x[None])", mixed()),
        ("matmul/cpu0dim-refused", "seen['r'] = x @ torch.tensor(1.0)"),
        ("matmul/python-sum", "seen['r'] = (x @ x.t()).sum()", on("cuda:0", WRAPPER)),
        ("conv2d/weight-cpu", "seen['r'] = F.conv2d(x[None, None], torch.ones(1, 1, 2, 2))"),
        ("conv2d/input-cpu", "seen['r'] = F.conv2d(y[None, None], torch.ones(1, 1, 2, 2, device=first))"),
        ("conv2d/input-cpu/more", "F.conv2d(torch.ones(2, 1, 3, 3), torch.ones(1, 1, 2, 2, device=first))", raises("RuntimeError", "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or input should be a MKLDNN tensor", source=_CONVOLUTION)),
        ("conv2d/input-cpu/dilated", "F.conv2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 2, 2, device=first), dilation=2)", mixed(_CONVOLUTION)),
        ("conv3d/input-cpu", "F.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(1, 1, 2, 2, 2, device=first))", raises("NotImplementedError", "Could not run 'aten::slow_conv3d_forward' with arguments from the 'CUDA' backend", source=_CONVOLUTION)),
        ("conv2d/bias-cpu", "seen['r'] = F.conv2d(x[None, None], torch.ones(1, 1, 2, 2, device=first), torch.ones(1))"),
        ("conv1d/same", "seen['r'] = F.conv1d(x[None], torch.ones(1, 2, 2, device=first))", on("cuda:0", WRAPPER)),
        ("bilinear/weight-cpu", "seen['r'] = F.bilinear(x, x, torch.ones(1, 3, 3))"),
        ("sdpa/mask-cpu", "q = torch.ones(1, 1, 2, 4, device=first);;seen['r'] = F.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(2, 2))"),
        ("sdpa/key-cpu", "q = torch.ones(1, 1, 2, 4, device=first);;seen['r'] = F.scaled_dot_product_attention(q, q.cpu(), q)"),
        ("sdpa/same", "q = torch.ones(1, 1, 2, 4, device=first);;seen['r'] = F.scaled_dot_product_attention(q, q, q)", on("cuda:0", WRAPPER)),
    ),
    setup="x = torch.ones(2, 3, device=first);;y = torch.ones(2, 3)",
)

REDUCTIONS = rows(
    "reductions",
    (
        ("sum", "seen['r'] = x.sum()", on("cuda:0", ITERATOR)),
        ("mean-dim", "seen['r'] = x.mean(1)", on("cuda:0", ITERATOR)),
        ("max-dim", "v, i = x.max(1);;seen['r'] = v;;seen['i'] = i", ok(ITERATOR, r="cuda:0", i="cuda:0")),
        ("argmax", "seen['r'] = x.argmax()", on("cuda:0", ITERATOR)),
        ("item", "seen['r'] = x.sum().item()", ok("docs: Tensor.item", r=6.0)),
        ("norm", "seen['r'] = x.norm()", on("cuda:0", ITERATOR)),
        ("std-mean", "seen['r'] = torch.std_mean(x)", None),
        ("bincount/weights-cpu", "seen['r'] = torch.bincount(torch.tensor([0, 1], device=first), weights=torch.ones(2))"),
        ("histc", "seen['r'] = torch.histc(x)", on("cuda:0", ITERATOR)),
        ("quantile/q-cpu", "seen['r'] = torch.quantile(x, torch.tensor([0.5]))"),
        ("scatter-add/index-cpu", "seen['r'] = x.scatter_add(1, torch.zeros(2, 3, dtype=torch.long), x)", mixed()),
        ("builtin-sum", "seen['r'] = sum(x)", on("cuda:0", ITERATOR)),
        ("builtin-max", "seen['r'] = max(x[0])", on("cuda:0", ITERATOR)),
        ("all-any", "seen['r'] = bool((x > 0).all()) and bool((x > 0).any())", ok("docs: Tensor.item", r=True)),
    ),
    setup="x = torch.ones(2, 3, device=first)",
)

JOINS = rows(
    "joins",
    (
        ("cat/same", "seen['r'] = torch.cat([x, x])", on("cuda:0", WRAPPER)),
        ("cat/cuda-cpu", "seen['r'] = torch.cat([x, y])", mixed()),
        ("cat/cpu-cuda", "seen['r'] = torch.cat([y, x])", mixed()),
        ("cat/empty-cpu", "seen['r'] = torch.cat([x, torch.empty(0)])"),
        ("stack/same", "seen['r'] = torch.stack([x, x])", on("cuda:0", WRAPPER)),
        ("stack/cuda-cpu", "seen['r'] = torch.stack([x, y])", mixed()),
        ("stack/cpu-cuda", "seen['r'] = torch.stack([y, x])", mixed()),
        ("hstack/cuda-cpu", "seen['r'] = torch.hstack([x, y])", mixed()),
        ("vstack/cuda-cpu", "seen['r'] = torch.vstack([x, y])", mixed()),
        ("where/condition-cpu", "seen['r'] = torch.where(y > 0, x, x)"),
        ("where/other-cpu", "seen['r'] = torch.where(x > 0, x, y)", mixed(ITERATOR)),
        ("where/number", "seen['r'] = torch.where(x > 0, x, 0.0)", on("cuda:0", ITERATOR)),
        ("where/cpu-condition-cpu-other-cuda", "seen['r'] = torch.where(y > 0, y, x)"),
        ("meshgrid/cuda-cpu", "seen['r'] = torch.meshgrid(x[0], y[0], indexing='ij')", None),
        ("cartesian-prod/cuda-cpu", "seen['r'] = torch.cartesian_prod(x[0], y[0])"),
        ("block-diag/cuda-cpu", "seen['r'] = torch.block_diag(x, y)"),
        ("broadcast-tensors/cuda-cpu", "a, b = torch.broadcast_tensors(x, y);;seen['a'] = a;;seen['b'] = b", ok("docs: torch.broadcast_tensors (views)", a="cuda:0", b="cpu")),
        ("pad-sequence/cuda-cpu", "seen['r'] = nn.utils.rnn.pad_sequence([x, y])"),
        ("pad-sequence/same", "seen['r'] = nn.utils.rnn.pad_sequence([x, x[:1]], batch_first=True)", on("cuda:0", LIKE := "docs: pad_sequence")),
        ("chunk-split", "seen['r'] = [*x.chunk(2), *x.split(1)]"),
        ("cat/first-second", "seen['r'] = torch.cat([x, x.to(second)])", mixed()),
        ("parameters-to-vector/same", "seen['r'] = nn.utils.parameters_to_vector(nn.Linear(2, 2).to(first).parameters())", on("cuda:0", "torch/nn/utils/convert_parameters.py")),
        ("parameters-to-vector/mixed", "seen['r'] = nn.utils.parameters_to_vector([*nn.Linear(2, 2).to(first).parameters(), *nn.Linear(2, 2).parameters()])"),
    ),
    setup="x = torch.ones(2, 3, device=first);;y = torch.ones(2, 3)",
)
JOINS = tuple(Case(j.id, j.program, 2 if "second" in j.program else 1, False, j.expects) for j in JOINS)

IN_PLACE = rows(
    "in-place",
    (
        ("iadd/cuda-cpu", "x += y", mixed(ITERATOR)),
        ("iadd/cpu-cuda", "y += x", mixed(ITERATOR)),
        ("imul/cuda-cpu0dim", "x *= torch.tensor(2.0);;seen['r'] = x", on("cuda:0", ITERATOR)),
        ("imul/cpu-cuda0dim", "y *= torch.tensor(2.0, device=first)", mixed(ITERATOR)),
        ("add-method/cpu-cuda", "y.add_(x)", mixed(ITERATOR)),
        ("copy/cuda-from-cpu", "x.copy_(y);;seen['r'] = x", on("cuda:0", COPY)),
        ("copy/cpu-from-cuda", "y.copy_(x);;seen['r'] = y", on("cpu", COPY)),
        ("copy/non-blocking", "x.copy_(y, non_blocking=True);;seen['r'] = x", on("cuda:0", COPY)),
        ("foreach-copy/cuda-from-cpu", "torch._foreach_copy_([x], [y]);;seen['r'] = x"),
        ("slice-assign/cuda-from-cpu", "x[:] = y;;seen['r'] = x", on("cuda:0", COPY)),
        ("slice-assign/cpu-from-cuda", "y[0] = x[0];;seen['r'] = y", on("cpu", COPY)),
        ("slice-assign/cpu-from-cuda-scalar", "y[0, 0] = x.sum();;seen['r'] = y", on("cpu", COPY)),
        ("fill/cpu0dim", "x.fill_(torch.tensor(3.0));;seen['r'] = x", None),
        ("fill/cpu-with-cuda0dim", "y.fill_(torch.tensor(3.0, device=first));;seen['r'] = y"),
        ("zero-then-add", "x.zero_().add_(1);;seen['r'] = x", on("cuda:0", ITERATOR)),
        ("clamp/cpu-bounds", "x.clamp_(min=y)", mixed(ITERATOR)),
        ("masked-fill/mask-cpu", "x.masked_fill_(y > 0, 1.0)"),
        ("lerp/cpu", "x.lerp_(y, 0.5)"),
        ("addmm/cpu", "torch.ones(2, 2).addmm_(x, x.t())", mixed()),
        ("resize", "x.resize_(6);;seen['r'] = x", on("cuda:0", "docs: Tensor.resize_")),
        ("transpose", "x.t_();;seen['r'] = x", on("cuda:0", "docs: Tensor.t_")),
        ("set-cpu-source", "x.set_(y)"),
        ("swap-data", "x.data = y;;seen['r'] = x", None),
        ("relu", "F.relu(x, inplace=True);;seen['r'] = x", on("cuda:0", ITERATOR)),
    ),
    setup="x = torch.ones(2, 3, device=first);;y = torch.ones(2, 3)",
)

_INNER = raises("RuntimeError", "Expected tensor to have cuda DeviceType, but got tensor with cpu DeviceType", source="aten/src/ATen/native/LinearAlgebra.cpp, inner; aten/src/ATen/TensorUtils.cpp, checkDeviceType")

_LIKE_INPUT = raises("RuntimeError", "expected device cuda:0 but found cpu", source="aten/src/ATen/native/ReduceOps.cpp, check_scalar_type_device_layout_equal")

OUT = rows(
    "out",
    (
        ("add/out-cpu", "torch.add(x, x, out=y)", mixed(ITERATOR)),
        ("add/out-cuda-inputs-cpu", "torch.add(y, y, out=x)", mixed(ITERATOR)),
        ("add/out-cpu0dim", "torch.add(x.sum(), x.sum(), out=torch.tensor(0.0))", mixed(ITERATOR)),
        ("add/same", "seen['r'] = torch.add(x, x, out=torch.empty_like(x))", on("cuda:0", ITERATOR)),
        ("sum/out-cpu", "torch.sum(x, 1, out=torch.empty(2))"),
        ("mm/out-cpu", "torch.mm(x, x.t(), out=torch.empty(2, 2))", mixed()),
        ("matmul/out-cpu", "torch.matmul(x, x.t(), out=torch.empty(2, 2))"),
        ("cat/out-cpu", "torch.cat([x, x], out=torch.empty(4, 3))", mixed()),
        ("index-select/out-cpu", "torch.index_select(x, 0, torch.tensor([0], device=first), out=torch.empty(1, 3))", mixed()),
        ("max/out-cpu", "torch.max(x, 1, out=(torch.empty(2), torch.empty(2, dtype=torch.long)))"),
        ("zeros/out-cuda", "seen['r'] = torch.zeros(2, 3, out=x)", on("cuda:0", "docs: torch.zeros (out)")),
        ("arange/out-cuda", "seen['r'] = torch.arange(3, out=torch.empty(3, device=first))"),
        ("randn/out-cuda", "seen['r'] = torch.randn(2, 3, out=x)"),
        ("sort/out-cpu", "torch.sort(x, out=(torch.empty(0), torch.empty(0, dtype=torch.long)))", mixed()),
        ("msort/out-cpu", "torch.msort(x, out=torch.empty(0))", mixed()),
        ("cummax/out-cpu", "torch.cummax(x, 0, out=(torch.empty(0), torch.empty(0, dtype=torch.long)))", _LIKE_INPUT),
        ("cummin/indices-cpu", "torch.cummin(x, 0, out=(torch.empty_like(x), torch.empty(0, dtype=torch.long)))", _LIKE_INPUT),
        ("logcumsumexp/out-cpu", "torch.logcumsumexp(x, 0, out=torch.empty(0))", _LIKE_INPUT),
        ("mode/out-cpu", "torch.mode(x, 0, out=(torch.empty(0), torch.empty(0, dtype=torch.long)))", raises("RuntimeError", "expected device 'cuda:0' but got 'cpu' for values output", source="aten/src/ATen/native/ReduceOps.cpp, mode_out")),
        ("quantile/out-cpu", "torch.quantile(x, 0.5, out=torch.empty(0))", raises("RuntimeError", "quantile() out tensor must be on the same device as the input tensor", source="aten/src/ATen/native/Sorting.cpp, quantile_checks")),
        ("tensordot/out-cpu", "torch.tensordot(x, x.t(), 1, out=torch.empty(0))", raises("RuntimeError", "tensordot: Expected the output and input tensors to be on the same device, but got the output tensor on cpu", source="aten/src/ATen/native/Linear.cpp, tensordot_out")),
        ("inner/out-cpu", "torch.inner(x, x, out=torch.empty(0))", _INNER),
        ("inner/cpu", "torch.inner(x, y)", _INNER),
        ("inner/cpu0dim", "torch.inner(x, torch.tensor(2.0))", _INNER),
        ("fft/out-cpu", "torch.fft.fft(x, out=torch.empty(0, dtype=torch.cfloat))", mixed()),
        *((f"linalg-{name}/out-cpu", f"torch.linalg.{name}(x, out=torch.empty(0))", raises("RuntimeError", "Expected result and input tensors to be on the same device, but got result on", source="aten/src/ATen/native/LinearAlgebraUtils.h, checkSameDevice")) for name in ("cond", "matrix_norm", "norm", "pinv")),
        ("linalg-svd/out-cpu", "torch.linalg.svd(x, out=(torch.empty(0), torch.empty(0), torch.empty(0)))", mixed()),
        ("empty-out-on-cpu", "torch.mul(x, 2.0, out=torch.empty(0))", mixed(ITERATOR)),
    ),
    setup="x = torch.ones(2, 3, device=first);;y = torch.ones(2, 3)",
)

CASES = (*_products(), *LINEAR, *REDUCTIONS, *JOINS, *IN_PLACE, *OUT)
