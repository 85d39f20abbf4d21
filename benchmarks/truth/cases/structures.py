"""Packed sequences, sparse and nested tensors, pinning, loaders, threads, processes, DataParallel, known traps."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from dataclasses import replace

from benchmarks.truth.case import Case, ok, raises, rows
from benchmarks.truth.sources import ITERATOR, MODULE, MOVEMENT, NEW_TENSOR, NUMPY, PACKED, PARALLEL, PIN, mixed, on

LENGTHS = raises("RuntimeError", "'lengths' argument should be a 1D CPU int64 tensor", source=PACKED)
_PACKED = "from torch.nn.utils.rnn import pack_padded_sequence as pack, pad_packed_sequence as unpack, pack_sequence"

PACKS = rows(
    "packed",
    (
        ("lengths-cuda", "pack(x, torch.tensor([3, 2], device=first))", LENGTHS),
        ("lengths-cuda/batch-first", "pack(x, torch.tensor([3, 3, 2], device=first), batch_first=True)", LENGTHS),
        ("lengths-cuda/not-sorted", "pack(x, torch.tensor([2, 3], device=first), enforce_sorted=False)"),
        ("lengths-cpu", "seen['r'] = p.data;;seen['b'] = p.batch_sizes", ok(PACKED, r="cuda:0", b="cpu")),
        ("lengths-list", "seen['r'] = pack(x, [3, 2]).data", on("cuda:0", PACKED)),
        ("not-sorted", "q = pack(x, [2, 3], enforce_sorted=False);;seen['r'] = q.sorted_indices;;seen['u'] = q.unsorted_indices", ok(PACKED, r="cuda:0", u="cuda:0")),
        ("unpack", "o, l = unpack(p);;seen['r'] = o;;seen['l'] = l", ok(PACKED, r="cuda:0", l="cpu")),
        ("to-cuda-of-cpu", "q = pack(x.cpu(), [3, 2]).to(first);;seen['r'] = q.data;;seen['b'] = q.batch_sizes", ok("torch/nn/utils/rnn.py, PackedSequence.to", r="cuda:0", b="cpu")),
        ("to-is-not-in-place", "q = pack(x.cpu(), [3, 2]);;q.to(first);;seen['r'] = q.data", on("cpu", "torch/nn/utils/rnn.py, PackedSequence.to")),
        ("cuda-method", "q = pack(x.cpu(), [3, 2]).cuda();;seen['r'] = [q.is_cuda, str(q.data.device)]", ok("torch/nn/utils/rnn.py, PackedSequence.cuda", r=[True, "cuda:0"])),
        ("through-lstm", "o, (h, c) = nn.LSTM(2, 4).to(first)(p);;seen['r'] = o.data;;seen['h'] = h", ok(PACKED, r="cuda:0", h="cuda:0")),
        ("through-lstm/packed-cpu", "nn.LSTM(2, 4).to(first)(p.cpu())"),
        ("through-gru/packed-cpu", "nn.GRU(2, 4).to(first)(p.cpu())", mixed()),
        ("through-rnn/packed-cpu", "nn.RNN(2, 4, bias=False).to(first)(p.cpu())", mixed()),
        ("through-lstm/hidden-cpu", "nn.GRU(2, 4).to(first)(p, torch.zeros(1, 2, 4))"),
        ("pack-sequence", "seen['r'] = pack_sequence([torch.ones(3, 2, device=first), torch.ones(2, 2, device=first)]).data", on("cuda:0", PACKED)),
        ("pack-sequence/mixed", "pack_sequence([torch.ones(3, 2, device=first), torch.ones(2, 2)])"),
        ("pin-memory", "q = pack(x.cpu(), [3, 2]).pin_memory();;seen['r'] = q.is_pinned()", ok("torch/nn/utils/rnn.py, PackedSequence.pin_memory", r=True)),
        ("batch-sizes-on-cuda", "q = nn.utils.rnn.PackedSequence(p.data, p.batch_sizes.to(first));;nn.LSTM(2, 4).to(first)(q)", raises("ValueError", "batch_sizes should always be on CPU", source="torch/nn/utils/rnn.py, _packed_sequence_init_args")),
    ),
    setup=_PACKED + ";;x = torch.ones(3, 2, 2, device=first);;p = pack(x, torch.tensor([3, 2]))",
)

_COO = "torch/csrc/utils/tensor_new.cpp, sparse_coo_tensor_ctor; native_functions.yaml, _sparse_coo_tensor_with_dims_and_tensors"
_CSR = "aten/src/ATen/SparseCsrTensorImpl.cpp, set_member_tensors"

SPARSE = rows(
    "sparse",
    (
        ("to-sparse", "seen['r'] = x.to_sparse();;seen['i'] = x.to_sparse().indices()", ok("docs: torch.sparse", r="cuda:0", i="cuda:0")),
        ("to-dense", "seen['r'] = x.to_sparse().to_dense()", on("cuda:0", "docs: torch.sparse")),
        ("move", "s = x.cpu().to_sparse();;seen['r'] = s.to(first);;seen['v'] = s.to(first)._values();;seen['s'] = s", ok("docs: torch.sparse", r="cuda:0", v="cuda:0", s="cpu")),
        ("mm/dense-cuda", "seen['r'] = torch.sparse.mm(x.to_sparse(), x)", on("cuda:0", "docs: torch.sparse.mm")),
        ("mm/dense-cpu", "torch.sparse.mm(x.to_sparse(), x.cpu())"),
        ("mm/sparse-cpu", "torch.sparse.mm(x.cpu().to_sparse(), x)"),
        ("add/sparse-cuda-dense-cpu", "x.cpu() + x.to_sparse()"),
        ("add/dense-cuda-sparse-cpu", "x + x.cpu().to_sparse()", raises("RuntimeError", "add: expected 'other' to be a CUDA tensor, but got a CPU tensor", source="aten/src/ATen/native/sparse/cuda/SparseCUDATensorMath.cu, add_out_dense_sparse_cuda")),
        ("add/both-sparse-mixed", "x.to_sparse() + x.cpu().to_sparse()"),
        ("constructor/indices-cpu-values-cuda", "torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.ones(1, device=first), (2, 2))", mixed(_COO)),
        ("constructor/indices-cuda-values-cpu", "torch.sparse_coo_tensor(torch.tensor([[0], [1]], device=first), torch.ones(1))", mixed(_COO)),
        ("constructor/indices-cuda-values-list", "torch.sparse_coo_tensor(torch.tensor([[0], [1]], device=first), [1.0])", mixed(_COO)),
        ("constructor/indices-list", "seen['r'] = torch.sparse_coo_tensor([[0], [1]], torch.ones(1, device=first))", on("cuda:0", f"{NEW_TENSOR}, Note: Ensuring sparse values and indices match devices")),
        ("constructor/told", "seen['r'] = torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.ones(1), device=first)", on("cuda:0", f"{NEW_TENSOR}, sparse_coo_tensor_ctor")),
        ("constructor/csr-mixed", "torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0], device=first), torch.ones(1, device=first))", raises("RuntimeError", "Values and crow_indices need to be on the same device.", source=_CSR)),
        ("constructor/csc-mixed", "torch.sparse_csc_tensor(torch.tensor([0, 1], device=first), torch.tensor([0]), torch.ones(1, device=first))", raises("RuntimeError", "Values and row_indices need to be on the same device.", source=_CSR)),
        ("coalesce", "seen['r'] = x.to_sparse().coalesce()", on("cuda:0", "docs: Tensor.coalesce")),
        ("csr", "s = x.to_sparse_csr();;seen['r'] = s.crow_indices();;seen['v'] = s.values()", ok("docs: torch.sparse", r="cuda:0", v="cuda:0")),
        ("transpose", "t = x.to_sparse().t();;seen['r'] = t;;seen['i'] = t._indices();;seen['v'] = t._values();;seen['m'] = t.mT", ok("aten/src/ATen/native/TensorShape.cpp, sparse_transpose_", r="cuda:0", i="cuda:0", v="cuda:0", m="cuda:0")),
        ("transpose/mm", "seen['r'] = torch.sparse.mm(x.to_sparse().transpose(0, 1), x)", on("cuda:0", "docs: torch.sparse.mm")),
        ("legacy-type", "i = torch.tensor([[0], [1]], device=first);;s = torch.cuda.sparse.FloatTensor(i, torch.ones(1, device=first), torch.Size([2, 2]));;seen['r'] = s;;seen['t'] = [isinstance(s, torch.cuda.sparse.FloatTensor), isinstance(s, torch.sparse.FloatTensor)]", ok("torch/csrc/utils/tensor_new.cpp, legacy_sparse_tensor_generic_ctor_new", r="cuda:0", t=[True, False])),
        ("legacy-type/size", "seen['r'] = torch.cuda.sparse.FloatTensor(2, 3)", on("cuda:0", "torch/csrc/utils/tensor_new.cpp, legacy_sparse_tensor_generic_ctor_new")),
        ("csr/move", "seen['r'] = x.cpu().to_sparse_csr().to(first)", on("cuda:0", "docs: torch.sparse")),
        ("numpy", "x.to_sparse().numpy()", raises("TypeError", source=NUMPY)),
        ("is-cuda", "s = x.to_sparse();;seen['r'] = [s.is_cuda, s.is_sparse, s.layout, s.get_device()]", ok("docs: torch.sparse", r=[True, True, "torch.sparse_coo", 0])),
        ("gradient", "e = nn.Embedding(3, 2, sparse=True).to(first);;e(torch.tensor([0], device=first)).sum().backward();;seen['r'] = e.weight.grad", on("cuda:0", "docs: nn.Embedding (sparse)")),
        ("nested", "n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device=first);;seen['r'] = n.device", on("cuda:0", "docs: torch.nested")),
        ("nested/mixed", "torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3, device=first)])", mixed("aten/src/ATen/native/nested/NestedTensorUtils.h, wrap_tensor_node (cat)")),
        ("nested/told", "seen['r'] = torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3)], device=first).device", ok("docs: torch.nested.as_nested_tensor", r="cuda:0")),
        ("nested/add-mixed", "n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]);;n + n.to(first)"),
        ("nested/linear-of-the-cpu", "F.linear(torch.nested.nested_tensor([torch.ones(2, 2), torch.ones(3, 2)], device=first), x.cpu())", mixed()),
        ("jagged", "n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged, device=first);;seen['r'] = [(n * 2).values(), n.offsets()]", ok("torch/nested/_internal/nested_tensor.py", r=["cuda:0 float32 [5]", "cuda:0 int64 [3]"])),
        ("jagged/mixed", "torch.nested.nested_tensor_from_jagged(torch.ones(5, device=first), torch.tensor([0, 2, 5]))", raises("Exception", source="torch/nested/_internal/nested_tensor.py, NestedTensor.__new__ (an assertion)")),
        ("quantized-move", "q = torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8);;seen['r'] = q.to(first)", None),
    ),
    setup="x = torch.eye(2, device=first)",
    control=("TypeError",),
)

PINNING = rows(
    "pinning",
    (
        ("cpu", "p = y.pin_memory();;seen['r'] = [p.is_pinned(), y.is_pinned(), str(p.device)]", ok("docs: Tensor.pin_memory", r=[True, False, "cpu"])),
        ("twice-is-self", "p = y.pin_memory();;seen['r'] = p.pin_memory() is p", ok("docs: Tensor.pin_memory", r=True)),
        ("cuda", "x.pin_memory()", raises("RuntimeError", "only dense CPU tensors can be pinned", source=PIN)),
        ("cuda-is-pinned", "seen['r'] = x.is_pinned()", ok("aten/src/ATen/native/Memory.cpp, is_pinned", r=False)),
        ("factory", "seen['r'] = torch.zeros(2, pin_memory=True).is_pinned()", ok("docs: torch.zeros (pin_memory)", r=True)),
        ("factory/cuda", "torch.zeros(2, device=first, pin_memory=True)", raises("RuntimeError", "pin", source="aten/src/ATen/EmptyTensor.cpp (Only dense CPU tensors can be pinned)")),
        ("to-cpu-non-blocking-is-pinned", "seen['r'] = x.to('cpu', non_blocking=True).is_pinned()", ok("aten/src/ATen/native/TensorConversions.cpp, _to_copy (pin_out)", r=True)),
        ("to-cpu-blocking-is-not", "seen['r'] = x.cpu().is_pinned()", ok("aten/src/ATen/native/TensorConversions.cpp, _to_copy (pin_out)", r=False)),
        ("view-of-pinned", "seen['r'] = y.pin_memory()[:1].is_pinned()", ok("docs: Tensor Views", r=True)),
        ("loader", "from torch.utils.data import DataLoader;;seen['r'] = next(iter(DataLoader([1.0, 2.0], pin_memory=True))).is_pinned()", ok("docs: torch.utils.data (Memory Pinning)", r=True)),
        ("loader/dict", "from torch.utils.data import DataLoader;;seen['r'] = next(iter(DataLoader([{'a': 1.0}], pin_memory=True)))['a'].is_pinned()", ok("docs: torch.utils.data (Memory Pinning)", r=True)),
        ("loader/cuda-data", "from torch.utils.data import DataLoader;;next(iter(DataLoader([x, x], pin_memory=True)))", raises("RuntimeError", "only dense CPU tensors can be pinned", source=PIN + "; torch/utils/data/_utils/pin_memory.py")),
        ("typed-storage", "seen['r'] = y.untyped_storage().pin_memory().is_pinned()", ok("torch/storage.py, pin_memory", r=True)),
    ),
    setup="x = torch.ones(2, device=first);;y = torch.ones(2)",
)

_WORKERS = """
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __init__(self, make):
        self.make = make
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return self.make(index)
def load(make, **options):
    return list(DataLoader(Data(make), num_workers=1, multiprocessing_context='fork', **options))
"""
FORK = raises("RuntimeError", "Cannot re-initialize CUDA in forked subprocess", source="torch/cuda/__init__.py, _lazy_init")
LOADERS = rows(
    "loaders",
    (
        ("worker/cpu", "seen['r'] = load(lambda i: torch.ones(2))[0]", on("cpu", "docs: torch.utils.data")),
        ("worker/cpu-after-cuda", "torch.ones(1, device=first);;seen['r'] = load(lambda i: torch.ones(2))[0]", on("cpu", "docs: torch.utils.data")),
        ("worker/cuda-after-cuda", "torch.ones(1, device=first);;load(lambda i: torch.ones(2).to(first))", FORK),
        ("worker/reads-cuda-tensor", "x = torch.ones(4, device=first);;load(lambda i: x[i])"),
        ("worker/reads-cuda-tensor-item", "x = torch.ones(4, device=first);;load(lambda i: x[i].item())"),
        ("worker/cuda-untouched-parent", "load(lambda i: torch.ones(2).to(first).cpu())"),
        ("worker/is-available", "torch.ones(1, device=first);;seen['r'] = load(lambda i: torch.cuda.is_available())[0]"),
        ("worker/pin", "seen['r'] = load(lambda i: torch.ones(2), pin_memory=True)[0].is_pinned()", ok("docs: torch.utils.data (Memory Pinning)", r=True)),
        ("process/fork-after-cuda", "import multiprocessing;;torch.ones(1, device=first);;c = multiprocessing.get_context('fork');;q = c.Queue();;def f():;;    try:;;        torch.ones(1, device=first);;        q.put('ok');;    except RuntimeError as e:;;        q.put(str(e)[:25]);;p = c.Process(target=f);;p.start();;seen['r'] = q.get(timeout=20);;p.join()", ok("torch/cuda/__init__.py, _lazy_init", r="Cannot re-initialize CUDA")),
        ("process/fork-before-cuda", "import multiprocessing;;c = multiprocessing.get_context('fork');;q = c.Queue();;def f():;;    q.put(str(torch.ones(1, device=first).device));;p = c.Process(target=f);;p.start();;seen['r'] = q.get(timeout=20);;p.join()", on("cuda:0", "docs: Multiprocessing best practices")),
        ("process/bad-fork-flag", "import os;;torch.ones(1, device=first);;r, w = os.pipe();;pid = os.fork();;if pid == 0:;;    os.write(w, str(torch.cuda._is_in_bad_fork()).encode());;    os._exit(0);;os.waitpid(pid, 0);;seen['r'] = os.read(r, 10).decode()", ok("torch/cuda/__init__.py, _is_in_bad_fork", r="True")),
        ("thread/tensor", "import threading;;x = torch.ones(2, device=first);;t = threading.Thread(target=lambda: seen.update(r=x * 2, z=torch.zeros(1, device=first)));;t.start();;t.join()", ok("docs: CUDA semantics", r="cuda:0", z="cuda:0")),
        ("thread/mixed", "import threading;;x = torch.ones(2, device=first);;def f():;;    try:;;        x + torch.ones(2);;    except RuntimeError as e:;;        seen['r'] = 'same device' in str(e);;t = threading.Thread(target=f);;t.start();;t.join()", ok(ITERATOR, r=True)),
        ("thread/current-device-is-its-own", "import threading;;torch.cuda.set_device(second);;t = threading.Thread(target=lambda: seen.update(r=torch.cuda.current_device()));;t.start();;t.join();;seen['m'] = torch.cuda.current_device()", ok("CUDA runtime: cudaSetDevice (the current device is per host thread)", r=0, m=1)),
        ("thread/pool", "from concurrent.futures import ThreadPoolExecutor;;with ThreadPoolExecutor(2) as p:;;    seen['r'] = list(p.map(lambda i: torch.full((1,), i, device=first), range(2)))", ok("docs: CUDA semantics", r=["cuda:0 int64 [1]"] * 2)),
        ("thread/autograd", "import threading;;x = torch.ones(2, device=first, requires_grad=True);;t = threading.Thread(target=lambda: x.exp().sum().backward());;t.start();;t.join();;seen['r'] = x.grad", on("cuda:0", "docs: Autograd mechanics (multithreaded)")),
    ),
    setup=_WORKERS,
    alone=True,
)

_FORKS = """
import os
def forked():
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            torch.ones(1, device=first)
            said = 'uses it'
        except RuntimeError as error:
            said = str(error)[:25]
        os.write(w, said.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(r, 99).decode()
"""
_USES = ok("torch/csrc/cuda/Module.cpp, poison_fork; seen on an H200", r="uses it")
_POISONED = ok("torch/csrc/cuda/Module.cpp, poison_fork; seen on an H200", r="Cannot re-initialize CUDA")

FORKS = rows(
    "forks",
    (
        ("nothing", "seen['r'] = forked()", _USES),
        ("is-available", "torch.cuda.is_available();;seen['r'] = forked()", _POISONED),
        ("is-available/nvml", "os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1';;torch.cuda.is_available();;seen['r'] = forked()", _USES),
        ("device-count", "torch.cuda.device_count();;seen['r'] = forked()", _USES),
        ("accelerator/is-available", "torch.accelerator.is_available();;seen['r'] = forked()", _POISONED),
        ("accelerator/is-available/nvml", "os.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1';;torch.accelerator.is_available();;seen['r'] = forked()", _USES),
        ("accelerator/device-count", "torch.accelerator.device_count();;seen['r'] = forked()", _USES),
        ("accelerator/current", "torch.accelerator.current_accelerator();;seen['r'] = forked()", _USES),
    ),
    setup=_FORKS,
    alone=True,
)

_INHERITED = """
import os
x = torch.ones(3, device=first)
def child(do):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            do()
            said = 'done'
        except Exception as error:
            said = type(error).__name__ + ': ' + str(error).splitlines()[0][:38]
        os.write(w, said.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(r, 99).decode()
"""

INHERITED = rows(
    "inherited",
    tuple(
        (name, f"seen['r'] = child(lambda: {program})")
        for name, program in (
            ("shape", "(x.shape, x.device, x.dtype, x.numel(), x.is_cuda)"),
            ("detach", "x.detach()"),
            ("view", "x.view(3, 1)"),
            ("getitem", "x[0]"),
            ("slice", "x[:2]"),
            ("select", "x.select(0, 0)"),
            ("setitem", "x.__setitem__(0, 2.0)"),
            ("add", "x + 1"),
            ("add-in-place", "x.add_(1)"),
            ("mul-in-place", "x.mul_(2)"),
            ("fill-in-place", "x.fill_(2)"),
            ("zero-in-place", "x.zero_()"),
            ("relu-in-place", "x.relu_()"),
            ("add-out", "torch.add(x, 1, out=x)"),
            ("copy-from-cpu", "x.copy_(torch.zeros(3))"),
            ("clone", "x.clone()"),
            ("empty-like", "torch.empty_like(x)"),
            ("sum", "x.sum()"),
            ("matmul", "x @ x"),
            ("item", "x.select(0, 0).item()"),
            ("tolist", "x.tolist()"),
            ("cpu", "x.cpu()"),
            ("to-where-it-is", "x.to(first)"),
            ("to-double", "x.double()"),
            ("numpy", "x.numpy()"),
            ("repr", "repr(x)"),
            ("comparison", "bool((x == 1).all())"),
            ("mixed", "x + torch.ones(3)"),
            ("mixed-in-place", "x.add_(torch.ones(3))"),
            ("cpu-to-first", "torch.ones(3).to(first)"),
            ("cpu-cuda", "torch.ones(3).cuda()"),
            ("delete", "globals().pop('x')"),
            ("synchronize", "torch.cuda.synchronize()"),
            ("current-device", "torch.cuda.current_device()"),
            ("set-device", "torch.cuda.set_device(0)"),
            ("device-count", "torch.cuda.device_count()"),
            ("is-available", "torch.cuda.is_available()"),
            ("memory-allocated", "torch.cuda.memory_allocated()"),
            ("empty-cache", "torch.cuda.empty_cache()"),
            ("manual-seed", "torch.manual_seed(0)"),
            ("cuda-manual-seed", "torch.cuda.manual_seed(0)"),
            ("get-rng-state", "torch.cuda.get_rng_state()"),
            ("generator", "torch.Generator(first)"),
            ("stream", "torch.cuda.Stream()"),
            ("event", "torch.cuda.Event().record()"),
            ("device-context", "torch.cuda.device(0).__enter__()"),
            ("module-to", "nn.Linear(2, 2).to(first)"),
            ("pin-memory", "torch.ones(3).pin_memory()"),
            ("on-the-cpu", "torch.ones(3) + 1"),
            ("pickle", "__import__('pickle').dumps(x)"),
            ("share-memory", "x.share_memory_()"),
        )
    ),
    setup=_INHERITED,
    alone=True,
)

PARALLELS = rows(
    "data-parallel",
    (
        ("one-gpu/module-cpu", "seen['r'] = nn.DataParallel(m, device_ids=[0])(x)", on("cuda:0", PARALLEL + ", DataParallel.__init__ (a single device: the module is moved)")),
        ("module-cpu/two-gpus", "nn.DataParallel(m, device_ids=[0, 1])(x)", raises("RuntimeError", "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: cpu", source=PARALLEL)),
        ("module-on-second/two-gpus", "nn.DataParallel(m.to('cuda:1'), device_ids=[0, 1])(x)", raises("RuntimeError", "but found one of them on device: cuda:1", source=PARALLEL)),
        ("one-gpu/moves-the-module", "nn.DataParallel(m);;seen['r'] = m.weight", on("cuda:0", PARALLEL + ", DataParallel.__init__ (a single device: the module is moved)")),
        ("one-gpu/module-called-alone", "nn.DataParallel(m).module(x)", mixed()),
        ("two-gpus/leave-the-module", "nn.DataParallel(m);;seen['r'] = m.weight", on("cpu", PARALLEL + ", DataParallel.__init__")),
        ("one-gpu/input-cpu", "seen['r'] = nn.DataParallel(m.to(first), device_ids=[0])(x)", on("cuda:0", PARALLEL + ", DataParallel.scatter")),
        ("one-gpu/keys", "seen['r'] = list(nn.DataParallel(m, device_ids=[0]).state_dict())", ok(PARALLEL, r=["module.weight", "module.bias"])),
        ("two-gpus/output", "seen['r'] = nn.DataParallel(m.to(first), device_ids=[0, 1])(x)", on("cuda:0", PARALLEL)),
        ("two-gpus/output-device", "seen['r'] = nn.DataParallel(m.to(first), device_ids=[0, 1], output_device=1)(x)", on("cuda:1", PARALLEL)),
        ("two-gpus/replica-devices", "class R(nn.Linear):;;    def forward(self, x):;;        devices.append([str(x.device), str(self.weight.device), torch.cuda.current_device()]);;        return super().forward(x);;devices = [];;nn.DataParallel(R(2, 2).to(first), device_ids=[0, 1])(x);;seen['r'] = sorted(devices)", ok("torch/nn/parallel/parallel_apply.py", r=[["cuda:0", "cuda:0", 0], ["cuda:1", "cuda:1", 1]])),
        ("two-gpus/bare-cuda-in-forward", "class R(nn.Linear):;;    def forward(self, x):;;        return super().forward(x) + torch.ones(1).cuda();;seen['r'] = nn.DataParallel(R(2, 2).to(first), device_ids=[0, 1])(x)", on("cuda:0", "torch/nn/parallel/parallel_apply.py")),
        ("two-gpus/fixed-ordinal-in-forward", "class R(nn.Linear):;;    def forward(self, x):;;        return super().forward(x) + torch.ones(1, device='cuda:0');;nn.DataParallel(R(2, 2).to(first), device_ids=[0, 1])(x)", mixed(ITERATOR)),
        ("two-gpus/parameters-of-replica", "class R(nn.Linear):;;    def forward(self, x):;;        counts.append(len(list(self.parameters())));;        return super().forward(x);;counts = [];;nn.DataParallel(R(2, 2).to(first), device_ids=[0, 1])(x);;seen['r'] = counts", ok("torch/nn/parallel/replicate.py, replicate (former parameters)", r=[0, 0])),
        ("two-gpus/state-write-is-lost", "class R(nn.Linear):;;    n = 0;;    def forward(self, x):;;        self.n = self.n + 1;;        return super().forward(x);;r = R(2, 2).to(first);;nn.DataParallel(r, device_ids=[0, 1])(x);;seen['r'] = r.n", ok("docs: nn.DataParallel (updates in forward are lost)", r=0)),
        ("two-gpus/scalar-outputs-become-a-vector", "class R(nn.Linear):;;    def forward(self, x):;;        return super().forward(x).sum();;seen['r'] = nn.DataParallel(R(2, 2).to(first), device_ids=[0, 1])(x)", ok("torch/nn/parallel/_functions.py, Gather", r="cuda:0 float32 [2]")),
        ("two-gpus/gradients", "p = nn.DataParallel(m.to(first), device_ids=[0, 1]);;p(x).sum().backward();;seen['r'] = m.weight.grad", on("cuda:0", PARALLEL)),
        ("two-gpus/error-in-replica", "class R(nn.Linear):;;    def forward(self, x):;;        return super().forward(x) + torch.ones(2);;nn.DataParallel(R(2, 2).to(first), device_ids=[0, 1])(x)", mixed("torch/_utils.py, ExceptionWrapper.reraise; " + ITERATOR)),
        ("two-gpus/plain-attribute", "class R(nn.Linear):;;    def forward(self, x):;;        return super().forward(x) + self.t;;r = R(2, 2).to(first);;r.t = torch.ones(2, device=first);;nn.DataParallel(r, device_ids=[0, 1])(x)", mixed(ITERATOR)),
        ("two-gpus/buffer", "class R(nn.Linear):;;    def forward(self, x):;;        return super().forward(x) + self.t;;r = R(2, 2).to(first);;r.register_buffer('t', torch.ones(2, device=first));;seen['r'] = nn.DataParallel(r, device_ids=[0, 1])(x)", on("cuda:0", "torch/nn/parallel/replicate.py")),
        ("two-gpus/batch-of-one", "seen['r'] = nn.DataParallel(m.to(first), device_ids=[0, 1])(x[:1])", ok(PARALLEL, r="cuda:0 float32 [1, 2]")),
        ("scatter-gather", "a, b = nn.parallel.scatter(x.to(first), [0, 1]);;seen['a'] = a;;seen['b'] = b;;seen['g'] = nn.parallel.gather([a, b], 1)", ok("torch/nn/parallel/scatter_gather.py", a="cuda:0", b="cuda:1", g="cuda:1")),
        ("gather-of-cpu", "nn.parallel.gather([torch.ones(2), torch.ones(2)], 0)", None),
        ("replicate", "a, b = nn.parallel.replicate(m.to(first), [0, 1]);;seen['r'] = [a.weight, b.weight]", ok("torch/nn/parallel/replicate.py", r=["cuda:0 float32 [2, 2]", "cuda:1 float32 [2, 2]"])),
        ("comm/broadcast", "from torch.nn.parallel import comm;;seen['r'] = comm.broadcast(torch.ones(2, device=first), [0, 1])", ok("torch/nn/parallel/comm.py", r=["cuda:0 float32 [2]", "cuda:1 float32 [2]"])),
        ("comm/reduce-add", "from torch.nn.parallel import comm;;seen['r'] = comm.reduce_add([torch.ones(2, device=first), torch.ones(2, device='cuda:1')])", on("cuda:0", "torch/nn/parallel/comm.py, reduce_add")),
        ("attribute-of-module", "m.names = 1;;nn.DataParallel(m, device_ids=[0]).names", raises("AttributeError", "has no attribute 'names'", source=MODULE)),
    ),
    setup="m = nn.Linear(2, 2);;x = torch.ones(4, 2)",
    control=("AttributeError",),
)


def _accelerator(row: Case) -> Case:
    return replace(row, since=(2, 8) if "torch.accelerator" in row.program else row.since)


def _placed(row: Case) -> Case:
    two = row.group == "data-parallel" and ("two-gpus" in row.id or "1]" in row.program or "cuda:1" in row.program)
    return Case(row.id, row.program, 2 if two or "second" in row.program else 1, row.alone, row.expects, row.control)


TRAPS = rows(
    "traps",
    (
        ("add-zero-attn-in-python-body", "m = nn.MultiheadAttention(4, 2, add_zero_attn=True).cuda();;q = torch.ones(2, 1, 4).cuda();;seen['r'] = m(q, q, q)[0]", on("cuda:0", "torch/nn/functional.py, multi_head_attention_forward")),
        ("asarray-inside-a-function-of-torch", "np.asarray(torch.ones(2, device=first))", raises("TypeError", "can't convert cuda:0 device type tensor to numpy", source=NUMPY)),
        ("subclass-without-torch-function", "class T(torch.Tensor):;;    __torch_function__ = torch._C._disabled_torch_function_impl;;t = torch.ones(2, device=first).as_subclass(T);;seen['r'] = [str(t.device), t.is_cuda, str((t + 1).device)]", ok("docs: Extending PyTorch", r=["cuda:0", True, "cuda:0"])),
        ("subclass", "class T(torch.Tensor):;;    pass;;t = torch.ones(2, device=first).as_subclass(T);;seen['r'] = t + 1;;seen['t'] = type(t + 1)", ok("docs: Extending PyTorch", r="cuda:0", t="truth_case.T")),
        ("subclass-mixed", "class T(torch.Tensor):;;    pass;;torch.ones(2, device=first).as_subclass(T) + torch.ones(2)", mixed(ITERATOR)),
        ("function-mode-of-the-user", "from torch.overrides import TorchFunctionMode;;class M(TorchFunctionMode):;;    def __torch_function__(self, f, t, a=(), k=None):;;        return f(*a, **(k or {}));;with M():;;    seen['r'] = torch.zeros(2, device=first) + 1", on("cuda:0", "docs: Extending PyTorch (modes)")),
        ("dispatch-mode-of-the-user", "from torch.utils._python_dispatch import TorchDispatchMode;;class M(TorchDispatchMode):;;    def __torch_dispatch__(self, f, t, a=(), k=None):;;        return f(*a, **(k or {}));;with M():;;    seen['r'] = torch.zeros(2, device=first) + 1", on("cuda:0", "docs: Extending PyTorch (modes)")),
        ("dispatch-mode-of-the-user-mixed", "from torch.utils._python_dispatch import TorchDispatchMode;;class M(TorchDispatchMode):;;    def __torch_dispatch__(self, f, t, a=(), k=None):;;        return f(*a, **(k or {}));;with M():;;    torch.zeros(2, device=first) + torch.ones(2)", mixed(ITERATOR)),
        ("factory-bound-before", "from torch import zeros, tensor;;seen['r'] = [zeros(1, device=first), tensor([1], device=first)]", ok("docs: Creation Ops", r=["cuda:0 float32 [1]", "cuda:0 int64 [1]"])),
        ("method-bound-before", "to = torch.Tensor.to;;seen['r'] = to(torch.ones(1), first)", on("cuda:0", MOVEMENT)),
        ("device-property-from-class", "seen['r'] = torch.Tensor.device.__get__(torch.ones(1, device=first))", on("cuda:0", "docs: Tensor.device")),
        ("reused-memory", "import gc;;for _ in range(50):;;    a = torch.ones(1000, device=first);;    del a;;gc.collect();;seen['r'] = {str(torch.ones(1000).device) for _ in range(50)}", ok("docs: torch.ones", r=["cpu"])),
        ("storage-outlives-tensor", "s = torch.ones(2, device=first).untyped_storage();;seen['r'] = s.device;;seen['t'] = torch.empty(0, device=first).set_(s)"),
        ("parameter-of-cuda-tensor", "seen['r'] = nn.Parameter(torch.ones(2, device=first))", on("cuda:0", "torch/nn/parameter.py")),
        ("make-subclass", "seen['r'] = torch.Tensor._make_subclass(torch.Tensor, torch.ones(2, device=first))", on("cuda:0", "torch/nn/parameter.py")),
        ("script", "@torch.jit.script;;def f(x):;;    return x + 1;;seen['r'] = f(torch.ones(2, device=first))", on("cuda:0", "docs: torch.jit.script")),
        ("aten-call", "seen['r'] = torch.ops.aten.add.Tensor(torch.ones(2, device=first), torch.ones(2, device=first))", on("cuda:0", ITERATOR)),
        ("aten-call-mixed", "torch.ops.aten.mm.default(torch.ones(2, 2, device=first), torch.ones(2, 2))", mixed()),
        ("custom-op", "@torch.library.custom_op('truthcase::twice', mutates_args=());;def twice(x: torch.Tensor) -> torch.Tensor:;;    return x * 2;;seen['r'] = twice(torch.ones(2, device=first))", on("cuda:0", "docs: torch.library.custom_op")),
        ("weak-reference", "import weakref;;x = torch.ones(2, device=first);;w = weakref.ref(x);;del x;;seen['r'] = w() is None", ok("docs: Python data model", r=True)),
        ("fill-diagonal-in-body", "x = torch.zeros(3, 3, device=first);;x.fill_diagonal_(1.0);;seen['r'] = x", on("cuda:0", ITERATOR)),
        ("python-body/stft-window-cpu", "torch.stft(torch.ones(64, device=first), 16, window=torch.hann_window(16), return_complex=True)", raises("RuntimeError", "stft input and window must be on the same device", source="aten/src/ATen/native/SpectralOps.cpp, stft")),
        ("python-body/cov-and-pinv", "x = torch.eye(3, device=first);;seen['r'] = [torch.cov(x), torch.linalg.pinv(x)]"),
        ("python-body/one-hot-float", "seen['r'] = F.one_hot(torch.tensor([0, 1], device=first)).float()", on("cuda:0", "torch/nn/functional.py")),
        ("split-with-cuda-sizes", "seen['r'] = torch.ones(3, device=first).split(torch.tensor([1, 2], device=first).tolist())"),
        ("repeat-interleave/repeats-cpu", "seen['r'] = torch.ones(2, device=first).repeat_interleave(torch.tensor([1, 2]))"),
    ),
    control=("TypeError", "AttributeError"),
)

CASES = (*PACKS, *SPARSE, *PINNING, *map(_placed, LOADERS), *map(_accelerator, FORKS), *INHERITED, *map(_placed, PARALLELS), *TRAPS)
