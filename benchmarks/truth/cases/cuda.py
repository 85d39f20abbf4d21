"""Questions to ``torch.cuda`` and ``torch.accelerator``, streams and events, memory, mixed precision."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from dataclasses import replace

from benchmarks.truth.case import Case, case, ok, raises, rows
from benchmarks.truth.sources import CUDA_API, mixed, on

AUTOCAST = "docs: CUDA Ops that can autocast"
SCALER = "torch/amp/grad_scaler.py"

QUERIES = rows(
    "queries",
    (
        ("is-available", "seen['r'] = torch.cuda.is_available()", ok(CUDA_API, r=True)),
        ("device-count", "seen['r'] = torch.cuda.device_count()", ok(CUDA_API, r=1)),
        ("current-device", "seen['r'] = torch.cuda.current_device()", ok(CUDA_API, r=0)),
        ("set-device/integer", "torch.cuda.set_device(0);;seen['r'] = torch.cuda.current_device()", ok(CUDA_API, r=0)),
        ("set-device/name", "torch.cuda.set_device(first);;seen['r'] = torch.cuda.current_device()", ok(CUDA_API, r=0)),
        ("set-device/plain-name", "torch.cuda.set_device('cuda');;seen['r'] = torch.cuda.current_device()"),
        ("set-device/cpu", "torch.cuda.set_device('cpu')", raises("ValueError", "Expected a cuda device", source="torch/cuda/_utils.py, _get_device_index")),
        ("set-device/negative-is-ignored", "torch.cuda.set_device(-1);;seen['r'] = torch.cuda.current_device()", ok("torch/cuda/__init__.py, set_device (a negative index is a no-op)", r=0)),
        ("context/restores", "with torch.cuda.device(second):;;    seen['in'] = torch.cuda.current_device();;seen['out'] = torch.cuda.current_device()", ok(CUDA_API, **{"in": 1, "out": 0})),
        ("context/device-of-cpu-tensor", "with torch.cuda.device_of(torch.ones(1)):;;    seen['r'] = torch.cuda.current_device()", ok(CUDA_API, r=0)),
        ("context/device-of", "with torch.cuda.device_of(torch.ones(1, device=second)):;;    seen['r'] = torch.cuda.current_device()", ok(CUDA_API, r=1)),
        ("context/cpu", "with torch.cuda.device('cpu'):;;    pass", raises("ValueError", "Expected a cuda device", source="torch/cuda/_utils.py, _get_device_index")),
        ("context/plain-name", "with torch.cuda.device('cuda'):;;    seen['r'] = torch.cuda.current_device()"),
        ("set-device/second", "torch.cuda.set_device(1);;seen['r'] = torch.zeros(1, device='cuda');;seen['c'] = torch.ones(1).cuda()", ok("docs: torch.cuda.set_device", r="cuda:1", c="cuda:1")),
        ("is-initialized/before", "seen['r'] = torch.cuda.is_initialized()", ok("docs: CUDA semantics (lazy initialisation)", r=False)),
        ("is-initialized/after-a-tensor", "torch.ones(1, device=first);;seen['r'] = torch.cuda.is_initialized()", ok("docs: CUDA semantics (lazy initialisation)", r=True)),
        ("is-initialized/after-is-available", "torch.cuda.is_available();;torch.cuda.device_count();;torch.cuda.manual_seed(0);;seen['r'] = torch.cuda.is_initialized()", ok("docs: CUDA semantics (lazy initialisation)", r=False)),
        ("is-initialized/after-set-device", "torch.cuda.set_device(0);;seen['r'] = torch.cuda.is_initialized()"),
        ("is-initialized/after-current-device", "torch.cuda.current_device();;seen['r'] = torch.cuda.is_initialized()", ok(CUDA_API + ", current_device", r=True)),
        ("is-initialized/after-generator", "torch.Generator('cuda');;seen['r'] = torch.cuda.is_initialized()"),
        ("is-initialized/after-empty-cache", "torch.cuda.empty_cache();;seen['r'] = torch.cuda.is_initialized()", ok("torch/cuda/memory.py, empty_cache", r=False)),
        ("capability-types", "c = torch.cuda.get_device_capability();;seen['r'] = [type(n) for n in c]", ok(CUDA_API, r=["builtins.int", "builtins.int"])),
        ("properties-types", "p = torch.cuda.get_device_properties(0);;seen['r'] = [type(p.name), type(p.total_memory), type(p.major), type(p.multi_processor_count)]", ok(CUDA_API, r=["builtins.str", "builtins.int", "builtins.int", "builtins.int"])),
        ("name-type", "seen['r'] = type(torch.cuda.get_device_name())", ok(CUDA_API, r="builtins.str")),
        ("bf16-type", "seen['r'] = type(torch.cuda.is_bf16_supported())", ok(CUDA_API, r="builtins.bool")),
        ("synchronize", "seen['r'] = torch.cuda.synchronize()", ok(CUDA_API, r=None)),
        ("synchronize/cpu-device", "torch.cuda.synchronize('cpu')", raises("ValueError", "Expected a cuda device", source="torch/cuda/_utils.py, _get_device_index")),
        ("can-access-peer", "seen['r'] = torch.cuda.can_device_access_peer(0, 0)"),
        ("accelerator/current", "seen['r'] = [torch.accelerator.is_available(), torch.accelerator.current_accelerator(), torch.accelerator.device_count()]", ok("docs: torch.accelerator", r=[True, "cuda", 1])),
        ("accelerator/index", "seen['r'] = torch.accelerator.current_device_index();;torch.accelerator.synchronize()", ok("docs: torch.accelerator", r=0)),
        ("accelerator/set-index", "torch.accelerator.set_device_index(1);;seen['r'] = torch.zeros(1, device='cuda')", ok("docs: torch.accelerator", r="cuda:1")),
        ("visible-devices/late-change-is-ignored", "import os;;torch.ones(1, device=first);;os.environ['CUDA_VISIBLE_DEVICES'] = '';;seen['r'] = [torch.ones(1, device=first), torch.cuda.is_available()]", ok("docs: CUDA semantics (CUDA_VISIBLE_DEVICES is read at initialisation)", r=["cuda:0 float32 [1]", True])),
        ("visible-devices/early-change", "import os;;os.environ['CUDA_VISIBLE_DEVICES'] = '';;seen['r'] = torch.cuda.is_available()", ok("docs: CUDA semantics (CUDA_VISIBLE_DEVICES is read at initialisation)", r=False)),
        ("visible-devices/early-change-then-tensor", "import os;;os.environ['CUDA_VISIBLE_DEVICES'] = '';;torch.ones(1, device='cuda')", raises("RuntimeError", "No CUDA GPUs are available", source="torch/csrc/cuda/Module.cpp, THCPModule_initExtension; c10/cuda/CUDAFunctions.cpp")),
        ("compiled-flags", "seen['r'] = [torch.backends.cuda.is_built(), torch.version.cuda is not None]", ok("docs: torch.backends.cuda.is_built", r=[True, True])),
        ("cudnn-flags", "torch.backends.cudnn.benchmark = True;;seen['r'] = torch.backends.cudnn.benchmark", ok("docs: torch.backends.cudnn", r=True)),
        ("cudnn-available", "seen['r'] = torch.backends.cudnn.is_available()", None),
        ("get-arch-list-type", "seen['r'] = type(torch.cuda.get_arch_list())", ok(CUDA_API, r="builtins.list")),
    ),
    alone=True,
    control=("TypeError", "AttributeError", "ValueError"),
)

STREAMS = rows(
    "streams",
    (
        ("current", "s = torch.cuda.current_stream();;seen['r'] = [type(s), str(s.device), s == torch.cuda.default_stream()]", ok("torch/cuda/streams.py", r=["torch.cuda.streams.Stream", "cuda:0", True])),
        ("context", "s = torch.cuda.Stream();;with torch.cuda.stream(s):;;    seen['in'] = torch.cuda.current_stream() == s;;    y = x * 2;;seen['out'] = torch.cuda.current_stream() == s;;torch.cuda.synchronize();;seen['r'] = y", ok("torch/cuda/__init__.py, StreamContext", r="cuda:0", out=False, **{"in": True})),
        ("stream-device", "seen['r'] = torch.cuda.Stream(first).device", on("cuda:0", "torch/cuda/streams.py")),
        ("query-synchronize", "s = torch.cuda.Stream();;s.synchronize();;seen['r'] = s.query()", ok("torch/cuda/streams.py", r=True)),
        ("wait", "s = torch.cuda.Stream();;s.wait_stream(torch.cuda.current_stream());;e = s.record_event();;torch.cuda.current_stream().wait_event(e);;e.synchronize();;seen['r'] = e.query()", ok("torch/cuda/streams.py", r=True)),
        ("event/elapsed", "a = torch.cuda.Event(enable_timing=True);;b = torch.cuda.Event(enable_timing=True);;a.record();;x.exp();;b.record();;torch.cuda.synchronize();;seen['r'] = [type(a.elapsed_time(b)), a.elapsed_time(b) >= 0]", ok("torch/cuda/streams.py", r=["builtins.float", True])),
        ("event/elapsed-without-timing", "a = torch.cuda.Event();;b = torch.cuda.Event();;a.record();;b.record();;torch.cuda.synchronize();;a.elapsed_time(b)"),
        ("event/elapsed-unrecorded", "a = torch.cuda.Event(enable_timing=True);;b = torch.cuda.Event(enable_timing=True);;a.elapsed_time(b)"),
        ("event/query-unrecorded", "seen['r'] = torch.cuda.Event().query()", ok("docs: torch.cuda.Event.query; ATen/cuda/CUDAEvent.h (true if not created)", r=True)),
        ("stream-none", "with torch.cuda.stream(None):;;    seen['r'] = x + 1", on("cuda:0", "torch/cuda/__init__.py, StreamContext")),
        ("record-stream", "x.record_stream(torch.cuda.Stream());;seen['r'] = x", on("cuda:0", "docs: Tensor.record_stream")),
        ("record-stream/cpu", "torch.ones(1).record_stream(torch.cuda.Stream())"),
        ("generic-stream", "seen['r'] = torch.Stream(device=first).device", on("cuda:0", "docs: torch.Stream")),
        ("stream-on-cpu", "torch.cuda.Stream('cpu')"),
        ("set-stream", "s = torch.cuda.Stream();;torch.cuda.set_stream(s);;seen['r'] = torch.cuda.current_stream() == s;;torch.cuda.set_stream(torch.cuda.default_stream())", ok("torch/cuda/__init__.py, set_stream", r=True)),
        ("graph-capture", "g = torch.cuda.CUDAGraph();;torch.cuda.synchronize();;y = x.clone();;with torch.cuda.graph(g):;;    y = x * 2;;x.fill_(4.0);;g.replay();;torch.cuda.synchronize();;seen['r'] = y[0].item()", ok("docs: torch.cuda.CUDAGraph", r=8.0)),
        ("nvtx", "torch.cuda.nvtx.range_push('a');;torch.cuda.nvtx.range_pop();;seen['r'] = True"),
    ),
    setup="x = torch.ones(2, device=first)",
    control=("TypeError", "AttributeError"),
)
STREAMS = tuple(Case(c.id, c.program, c.devices, "graph" in c.id, c.expects, c.control) for c in STREAMS)

MEMORY = rows(
    "memory",
    (
        ("allocated-grows", "a = torch.cuda.memory_allocated();;y = torch.ones(1024, device=first);;b = torch.cuda.memory_allocated();;del y;;seen['r'] = [b - a, torch.cuda.memory_allocated() - a]", ok("c10/cuda/CUDACachingAllocator.cpp (blocks of 512 bytes)", r=[4096, 0])),
        ("allocated-rounds-up", "a = torch.cuda.memory_allocated();;y = torch.ones(1, device=first);;seen['r'] = torch.cuda.memory_allocated() - a", ok("c10/cuda/CUDACachingAllocator.cpp (blocks of 512 bytes)", r=512)),
        ("cpu-does-not-count", "a = torch.cuda.memory_allocated();;y = torch.ones(1024);;seen['r'] = torch.cuda.memory_allocated() - a", ok("docs: torch.cuda.memory_allocated", r=0)),
        ("view-does-not-count", "y = torch.ones(1024, device=first);;a = torch.cuda.memory_allocated();;z = y[1:];;seen['r'] = torch.cuda.memory_allocated() - a", ok("docs: Tensor Views", r=0)),
        ("max-allocated", "torch.cuda.reset_peak_memory_stats();;a = torch.cuda.memory_allocated();;y = torch.ones(1024, device=first);;del y;;seen['r'] = torch.cuda.max_memory_allocated() - a >= 4096", ok("docs: torch.cuda.max_memory_allocated", r=True)),
        ("stats-keys", "seen['r'] = 'allocated_bytes.all.current' in torch.cuda.memory_stats()", ok("docs: torch.cuda.memory_stats", r=True)),
        ("mem-get-info", "f, t = torch.cuda.mem_get_info();;seen['r'] = [type(f), 0 < f <= t]", ok("docs: torch.cuda.mem_get_info", r=["builtins.int", True])),
        ("summary-type", "seen['r'] = type(torch.cuda.memory_summary())", ok("torch/cuda/memory.py, memory_summary", r="builtins.str")),
        ("out-of-memory", "torch.empty(1 << 60, dtype=torch.uint8, device=first)", raises("OutOfMemoryError", "CUDA out of memory", source="c10/cuda/CUDACachingAllocator.cpp; docs: torch.cuda.OutOfMemoryError")),
        ("move-of-module", "a = torch.cuda.memory_allocated();;m = nn.Linear(128, 1, bias=False).to(first);;b = torch.cuda.memory_allocated();;m.cpu();;seen['r'] = [b - a, torch.cuda.memory_allocated() - a]", ok("c10/cuda/CUDACachingAllocator.cpp (blocks of 512 bytes)", r=[512, 0])),
    ),
    setup="torch.ones(1, device=first)",
    control=("AttributeError",),
)

AMP = rows(
    "amp",
    (
        ("autocast/matmul-is-half", "with torch.autocast('cuda'):;;    seen['r'] = x @ x", ok(AUTOCAST, r="cuda:0 float16 [2, 2]")),
        ("autocast/add-stays", "with torch.autocast('cuda'):;;    seen['r'] = x + x", ok(AUTOCAST, r="cuda:0 float32 [2, 2]")),
        ("autocast/softmax-is-float", "with torch.autocast('cuda'):;;    seen['r'] = (x @ x).softmax(0)", ok(AUTOCAST, r="cuda:0 float32 [2, 2]")),
        ("autocast/linear", "with torch.autocast('cuda'):;;    seen['r'] = nn.Linear(2, 2).to(first)(x)", ok(AUTOCAST, r="cuda:0 float16 [2, 2]")),
        ("autocast/bfloat16", "with torch.autocast('cuda', dtype=torch.bfloat16):;;    seen['r'] = x @ x", ok(AUTOCAST, r="cuda:0 bfloat16 [2, 2]")),
        ("autocast/cpu-tensors-untouched", "with torch.autocast('cuda'):;;    seen['r'] = y @ y", ok(AUTOCAST, r="cpu float32 [2, 2]")),
        ("autocast/cpu-autocast-leaves-cuda", "with torch.autocast('cpu'):;;    seen['r'] = x @ x;;    seen['c'] = y @ y", ok(AUTOCAST, r="cuda:0 float32 [2, 2]", c="cpu bfloat16 [2, 2]")),
        ("autocast/disabled", "with torch.autocast('cuda', enabled=False):;;    seen['r'] = x @ x", ok(AUTOCAST, r="cuda:0 float32 [2, 2]")),
        ("autocast/is-enabled", "with torch.autocast('cuda'):;;    seen['r'] = [torch.is_autocast_enabled('cuda'), torch.is_autocast_enabled('cpu')]", ok("docs: torch.is_autocast_enabled", r=[True, False])),
        ("autocast/mixed", "with torch.autocast('cuda'):;;    x @ y", None),
        ("autocast/old-name", "with torch.cuda.amp.autocast():;;    seen['r'] = x @ x", ok(AUTOCAST, r="cuda:0 float16 [2, 2]")),
        ("autocast/bce-is-refused", "with torch.autocast('cuda'):;;    F.binary_cross_entropy(torch.sigmoid(x @ x), torch.sigmoid(x))", raises("RuntimeError", "unsafe to autocast", source="aten/src/ATen/autocast_mode.cpp, binary_cross_entropy_banned")),
        ("autocast/backward", "w = torch.ones(2, 2, device=first, requires_grad=True);;with torch.autocast('cuda'):;;    l = (x @ w).sum();;l.backward();;seen['r'] = w.grad", ok(AUTOCAST, r="cuda:0 float32 [2, 2]")),
        ("autocast/custom-fwd", "class S(torch.autograd.Function):;;    @staticmethod;;    @torch.amp.custom_fwd(device_type='cuda');;    def forward(ctx, a):;;        return a @ a;;    @staticmethod;;    @torch.amp.custom_bwd(device_type='cuda');;    def backward(ctx, g):;;        return g;;with torch.autocast('cuda'):;;    seen['r'] = S.apply(x)", ok("torch/amp/autocast_mode.py, custom_fwd", r="cuda:0 float16 [2, 2]")),
        ("scaler/scale", "seen['r'] = torch.amp.GradScaler('cuda').scale(x.sum())", ok(SCALER, r="cuda:0")),
        ("scaler/scale-value", "seen['r'] = torch.amp.GradScaler('cuda', init_scale=4.0).scale(x.sum()).item()", ok(SCALER, r=16.0)),
        ("scaler/scale-of-cpu-loss", "torch.amp.GradScaler('cuda').scale(y.sum())"),
        ("scaler/step", "m = nn.Linear(2, 1).to(first);;o = torch.optim.SGD(m.parameters(), lr=0.1);;s = torch.amp.GradScaler('cuda');;s.scale(m(x).sum()).backward();;s.step(o);;s.update();;seen['r'] = s.get_scale()", ok(SCALER, r=65536.0)),
        ("scaler/infinite-gradients-skip", "m = nn.Linear(2, 1).to(first);;o = torch.optim.SGD(m.parameters(), lr=0.1);;s = torch.amp.GradScaler('cuda');;s.scale(m(x * float('inf')).sum()).backward();;s.step(o);;s.update();;seen['r'] = s.get_scale()", ok(SCALER, r=32768.0)),
        ("scaler/unscale", "m = nn.Linear(2, 1).to(first);;o = torch.optim.SGD(m.parameters(), lr=0.1);;s = torch.amp.GradScaler('cuda');;s.scale(m(x).sum()).backward();;s.unscale_(o);;seen['r'] = m.weight.grad.tolist()", ok(SCALER, r=[[2.0, 2.0]])),
        ("scaler/step-without-backward", "m = nn.Linear(2, 1).to(first);;o = torch.optim.SGD(m.parameters(), lr=0.1);;s = torch.amp.GradScaler('cuda');;s.scale(x.sum());;s.step(o)", raises("AssertionError", "No inf checks were recorded", source=SCALER)),
        ("scaler/state-dict", "s = torch.amp.GradScaler('cuda');;seen['r'] = sorted(s.state_dict())", ok(SCALER, r=["_growth_tracker", "backoff_factor", "growth_factor", "growth_interval", "scale"])),
        ("scaler/old-name", "seen['r'] = torch.cuda.amp.GradScaler().scale(x.sum())", on("cuda:0", SCALER)),
        ("half/matmul", "seen['r'] = x.half() @ x.half()", ok(AUTOCAST, r="cuda:0 float16 [2, 2]")),
    ),
    setup="x = torch.ones(2, 2, device=first);;y = torch.ones(2, 2)",
)
_MIXED = case("amp/autocast/mixed-elementwise", "with torch.autocast('cuda'):;;    torch.ones(2, device=first) + torch.ones(2)", mixed("aten/src/ATen/TensorIterator.cpp, TensorIteratorBase::compute_types"))


def _devices(row: Case) -> Case:
    two = "second" in row.program or row.id in {"queries/set-device/second", "queries/accelerator/set-index"}
    since = (2, 6) if "torch.accelerator" in row.program else row.since
    return replace(row, devices=2 if two else row.devices, since=since)


CASES = (*map(_devices, QUERIES), *STREAMS, *MEMORY, *AMP, _MIXED)
