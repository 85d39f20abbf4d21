"""Indexing, gathering and scattering by the placement of table and index; views and storages."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, ok, raises, rows
from benchmarks.truth.sources import COPY, INDEXING, SET_DATA, ZERO_DIM, mixed, on

CPU_INDEX = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
NUMBERS = f"{INDEXING} (indices are moved); ATen/TensorIndexing.h, try_dispatch_index_fill_ (if on one device)"
REFUSED = raises("RuntimeError", CPU_INDEX, source=INDEXING)

INDEX = rows(
    "indexing",
    (
        ("getitem/cuda-cpu-index", "seen['r'] = x[i.cpu()]", on("cuda:0", INDEXING)),
        ("getitem/cuda-cuda-index", "seen['r'] = x[i]", on("cuda:0", INDEXING)),
        ("getitem/cpu-cuda-index", "seen['r'] = y[i]", REFUSED),
        ("getitem/cpu-cuda-mask", "seen['r'] = y[y.to(first) > 0]", raises("RuntimeError", "indices should be", source=INDEXING)),
        ("getitem/cuda-cpu-mask", "seen['r'] = x[y > 0]", on("cuda:0", INDEXING)),
        ("getitem/cpu-cuda-0dim-index", "seen['r'] = y[i[0]]", on("cpu", "torch/csrc/autograd/python_variable_indexing.cpp (0-dim integer)")),
        ("getitem/cpu-cuda-0dim-in-tuple", "seen['r'] = y[i[0], i[1]]"),
        ("getitem/cuda-numpy-index", "seen['r'] = x[np.array([0, 1])]", on("cuda:0", INDEXING)),
        ("getitem/cuda-list-index", "seen['r'] = x[[0, 1]]", on("cuda:0", INDEXING)),
        ("getitem/cpu-cuda-slice-bound", "seen['r'] = y[: i[1]]", on("cpu", "docs: Tensor.__index__")),
        ("getitem/list-cuda-index", "seen['r'] = [5, 6, 7][i[1]]", ok("docs: Tensor.__index__", r=6)),
        ("getitem/two-indices-mixed", "seen['r'] = x[i, i.cpu()]", None),
        ("getitem/none-ellipsis", "seen['r'] = x[None, ..., 0]", on("cuda:0", INDEXING)),
        ("getitem/second-index", "seen['r'] = x[i.to(second)]"),
        ("setitem/cuda-values-cpu", "x[i] = torch.ones(2, 4)"),
        ("setitem/cuda-values-cpu0dim", "x[i] = torch.tensor(1.0);;seen['r'] = x", on("cuda:0", "aten/src/ATen/native/TensorAdvancedIndexing.cpp, _index_put_impl_ and index_put_ (0-dim values)")),
        ("setitem/cuda-values-number", "x[i] = 1.0;;seen['r'] = x", on("cuda:0", INDEXING)),
        ("setitem/cuda-mask-cpu-number", "x[y > 0] = 0.0;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-index-cpu-number", "x[i.cpu()] = 1.0;;seen['r'] = [x, x.sum().item()]", ok(NUMBERS, r=["cuda:0 float32 [3, 4]", 46.0])),
        ("setitem/cuda-columns-cpu-number", "x[:, i.cpu()] = 1;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-row-and-index-cpu-number", "x[0, i.cpu()] = True;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-index-of-two-dimensions-cpu-number", "x[..., i.cpu()[None]] = 1.0;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-list-number", "x[[0, 1]] = 1.0;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-numpy-number", "x[np.array([0, 1])] = 1.0;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-numpy-mask-number", "x[np.array([True, False, True])] = 1.0;;seen['r'] = x", on("cuda:0", NUMBERS)),
        ("setitem/cuda-leaf-index-cpu-number", "with torch.no_grad():;;    p = nn.Parameter(x);;    p[i.cpu()] = 0.0;;seen['r'] = p", on("cuda:0", NUMBERS)),
        ("setitem/cuda-mask-cpu-values-cpu", "x[y > 0] = torch.zeros(11)"),
        ("setitem/cpu-mask-cuda", "y[x > 0] = 0.0"),
        ("setitem/cpu-index-cuda", "y[i] = 0.0"),
        ("setitem/cuda-index-cpu-values-cuda", "x[i.cpu()] = torch.ones(2, 4, device=first);;seen['r'] = x", on("cuda:0", INDEXING)),
        ("setitem/int-cuda-from-cpu", "x[0] = y[0];;seen['r'] = x", on("cuda:0", COPY)),
        ("setitem/cpu-from-cuda-row", "y[0] = x[0];;seen['r'] = y", on("cpu", COPY)),
        ("setitem/cpu-index-cpu-values-cuda", "y[i.cpu()] = x[:2]"),
        ("gather/index-cpu", "seen['r'] = x.gather(1, torch.zeros(3, 1, dtype=torch.long))", mixed()),
        ("gather/table-cpu", "seen['r'] = y.gather(1, torch.zeros(3, 1, dtype=torch.long, device=first))", mixed()),
        ("gather/same", "seen['r'] = x.gather(1, torch.zeros(3, 1, dtype=torch.long, device=first))", on("cuda:0", INDEXING)),
        ("index-select/index-cpu", "seen['r'] = x.index_select(0, i.cpu())", mixed()),
        ("index-select/table-cpu", "seen['r'] = y.index_select(0, i)", mixed()),
        ("take/index-cpu", "seen['r'] = x.take(i.cpu())"),
        ("take-along-dim/flat-index-cpu", "x.take_along_dim(torch.zeros(1, dtype=torch.long))", raises("RuntimeError", "Expected tensor to have cuda:0 Device, but got tensor with cpu Device", source="aten/src/ATen/native/TensorAdvancedIndexing.cpp, checkDevice")),
        ("take-along-dim/index-cpu", "seen['r'] = torch.take_along_dim(x, torch.zeros(3, 1, dtype=torch.long), 1)"),
        ("masked-select/mask-cpu", "seen['r'] = x.masked_select(y > 0)"),
        ("embedding/weight-cpu", "seen['r'] = F.embedding(i, y)", mixed()),
        ("embedding/index-cpu", "seen['r'] = F.embedding(i.cpu(), x)", mixed()),
        ("embedding-bag/offsets-cpu", "seen['r'] = F.embedding_bag(i, x, torch.tensor([0]))"),
        ("one-hot", "seen['r'] = F.one_hot(i, 4)", on("cuda:0", "torch/nn/functional.py, one_hot")),
        ("scatter/src-cpu", "x.scatter_(1, torch.zeros(3, 1, dtype=torch.long, device=first), torch.ones(3, 1))", mixed()),
        ("scatter/index-cpu", "x.scatter_(1, torch.zeros(3, 1, dtype=torch.long), 1.0)", mixed()),
        ("scatter/target-cpu", "torch.zeros(2, 3).scatter_(1, i[:, None], 1.0)", mixed()),
        ("index-add/source-cpu", "x.index_add_(0, i, torch.ones(2, 4))"),
        ("index-copy/index-cpu", "x.index_copy_(0, i.cpu(), torch.ones(2, 4, device=first))"),
        ("index-fill/index-cpu", "x.index_fill_(0, i.cpu(), 1.0)"),
        ("index-put/values-cpu", "x.index_put_((i,), torch.ones(2, 4))"),
        ("index-put/accumulate", "x.index_put_((i,), torch.ones(2, 4, device=first), accumulate=True);;seen['r'] = x", on("cuda:0", INDEXING)),
        ("masked-scatter/source-cpu", "x.masked_scatter_(x > 0, y)"),
        ("searchsorted/values-cpu", "seen['r'] = torch.searchsorted(x[0], y[0])"),
        ("topk-as-index-of-cpu", "seen['r'] = y[0][x[0].topk(2).indices]", REFUSED),
        ("argmax-as-index-of-cpu", "seen['r'] = y[x[0, :3].argmax()]", on("cpu", "torch/csrc/autograd/python_variable_indexing.cpp (0-dim integer)")),
        ("nonzero-tuple-of-cuda", "seen['r'] = x[x.nonzero(as_tuple=True)]", on("cuda:0", INDEXING)),
        ("iterate-cuda-as-list-index", "seen['r'] = [y[int(n)] for n in i]", ok(ZERO_DIM, r=["cpu float32 [4]"] * 2)),
        ("narrow/cuda-start", "seen['r'] = y.narrow(0, torch.tensor(1, device=first), 1)"),
    ),
    setup="x = torch.arange(12.0, device=first).view(3, 4);;y = torch.arange(12.0).view(3, 4);;i = torch.tensor([0, 1], device=first)",
)
INDEX = tuple(Case(c.id, c.program, 2 if "second" in c.program else 1, False, c.expects) for c in INDEX)

OUT_OF_RANGE = rows(
    "indexing",
    (
        ("out-of-range/getitem", "x[torch.tensor([9], device=first)];;torch.cuda.synchronize()", raises("RuntimeError", "device-side assert", source="aten/src/ATen/native/cuda/IndexKernel.cu (CUDA_KERNEL_ASSERT)")),
        ("out-of-range/embedding", "F.embedding(torch.tensor([9], device=first), x);;torch.cuda.synchronize()", raises("RuntimeError", "device-side assert", source="issue 1204 (kernel assert of an index)")),
        ("out-of-range/cpu-index", "x[torch.tensor([9])];;torch.cuda.synchronize()"),
        ("out-of-range/number", "x[9]", raises("IndexError", "out of bounds", source="aten/src/ATen/TensorIndexing.h")),
        ("out-of-range/cross-entropy", "F.cross_entropy(x, torch.tensor([0, 1, 9], device=first));;torch.cuda.synchronize()"),
    ),
    setup="x = torch.zeros(3, 4, device=first)",
    alone=True,
    control=("IndexError",),
)

VIEWS = rows(
    "views",
    (
        ("slice-shares-device", "v = x[1:].t().reshape(-1);;seen['r'] = v", on("cuda:0", "docs: Tensor Views")),
        ("write-through-view", "x[0].fill_(7);;seen['r'] = x[0, 0].item()", ok("docs: Tensor Views", r=7.0)),
        ("data", "seen['r'] = x.data;;seen['same'] = x.data.data_ptr() == x.data_ptr()", ok(SET_DATA, r="cuda:0", same=True)),
        ("detach-shares", "d = x.detach();;d.zero_();;seen['r'] = x.sum().item()", ok("docs: Tensor.detach", r=0.0)),
        ("data-assign-cuda", "y.data = x;;seen['r'] = y", None),
        ("data-assign-keeps-views", "v = y[0];;y.data = x;;seen['v'] = v;;seen['y'] = y"),
        ("storage-device", "seen['r'] = x.untyped_storage().device;;seen['typed'] = x.storage().device", ok("torch/storage.py", r="cuda:0", typed="cuda:0")),
        ("storage-is-cuda", "seen['r'] = x.untyped_storage().is_cuda;;seen['cpu'] = y.untyped_storage().is_cuda", ok("torch/storage.py", r=True, cpu=False)),
        ("storage-cpu", "s = x.untyped_storage().cpu();;seen['r'] = s.device", ok("torch/storage.py", r="cpu")),
        ("storage-cuda", "s = y.untyped_storage().cuda();;seen['r'] = s.device", ok("torch/storage.py", r="cuda:0")),
        ("storage-type", "seen['r'] = x.storage().type()", ok("torch/storage.py, TypedStorage.type", r="torch.cuda.FloatStorage")),
        ("untyped-storage-on-device", "s = torch.UntypedStorage(8, device=first);;seen['r'] = s.device", ok("torch/storage.py", r="cuda:0")),
        ("set-storage", "z = torch.empty(0, device=first);;z.set_(x.untyped_storage(), 0, (2,));;seen['r'] = z"),
        ("set-cuda-storage-on-cpu", "y.set_(x.untyped_storage())", raises("RuntimeError", "Attempted to set the storage of a tensor on device", source="aten/src/ATen/native/Resize.h, checkSetStorage")),
        ("set-cpu-storage-on-cuda", "z = torch.empty(0, device=first);;z.set_(y.untyped_storage())"),
        ("view-as-real", "seen['r'] = torch.view_as_real(torch.zeros(2, dtype=torch.complex64, device=first))", on("cuda:0", "docs: Tensor Views")),
        ("as-strided", "seen['r'] = x.as_strided((2,), (1,))", on("cuda:0", "docs: Tensor Views")),
        ("view-dtype", "seen['r'] = x.view(torch.int32)", on("cuda:0", "docs: Tensor Views")),
        ("freed-then-cpu", "del x;;z = torch.ones(3, 4);;seen['r'] = z", on("cpu", "docs: torch.ones")),
        ("contiguous", "seen['r'] = x.t().contiguous();;seen['same'] = x.contiguous() is x", ok("docs: Tensor.contiguous", r="cuda:0", same=True)),
        ("expand-unbind-diagonal", "seen['r'] = [x[0].expand(2, 4), x.unbind()[0], x.diagonal()]"),
        ("share-memory", "x.share_memory_();;seen['r'] = x;;seen['shared'] = x.is_shared()", ok("docs: Tensor.share_memory_ (no-op on CUDA)", r="cuda:0", shared=True)),
        ("size-queries", "seen['r'] = [list(x.shape), x.numel(), x.element_size(), x.stride(), x.is_contiguous()]"),
    ),
    setup="x = torch.ones(3, 4, device=first);;y = torch.ones(3, 4)",
    control=("TypeError",),
)

CASES = (*INDEX, *OUT_OF_RANGE, *VIEWS)
