"""Factories, default devices, generators and samplers, legacy constructors and conversions of type."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import SAME_DEVICE, Case, ok, raises, rows
from benchmarks.truth.sources import (
    BOUNDS,
    DEFAULT_DEVICE,
    FACTORIES,
    GENERATOR,
    LIKE,
    MOVEMENT,
    NEW_TENSOR,
    NUMPY,
    on,
)

_FACTORIES = (
    "zeros(2)", "ones(2)", "empty(2)", "full((2,), 1.0)", "arange(3)", "linspace(0, 1, 3)", "eye(2)", "rand(2)",
    "randn(2)", "randint(3, (2,))", "randperm(3)", "tensor([1.0])", "as_tensor([1.0])", "tril_indices(2, 2)",
    "hann_window(4)", "logspace(0, 1, 2)",
)


def _factories() -> tuple[Case, ...]:
    table = []
    for factory in _FACTORIES:
        name = factory.partition("(")[0]
        given = factory[:-1] + ", device=first)"
        table.append((f"{name}/device", f"seen['r'] = torch.{given}", on("cuda:0", FACTORIES)))
    for factory in ("zeros(2)", "arange(3)", "randn(2)", "tensor([1.0])", "randperm(3)"):
        name = factory.partition("(")[0]
        table.append((f"{name}/in-context", f"with torch.device(first):;;    seen['r'] = torch.{factory}", on("cuda:0", DEFAULT_DEVICE)))
    return rows("creation", table)


CREATION = rows(
    "creation",
    (
        ("zeros/no-device", "seen['r'] = torch.zeros(2)", on("cpu", FACTORIES)),
        ("zeros/device-index", "seen['r'] = torch.zeros(2, device=0)", on("cuda:0", "docs: torch.device (a bare integer is the accelerator's ordinal)")),
        ("zeros/device-name", "seen['r'] = torch.zeros(2, device='cuda')", on("cuda:0", FACTORIES)),
        ("zeros/device-object", "seen['r'] = torch.zeros(2, device=torch.device('cuda', 0))", on("cuda:0", FACTORIES)),
        ("zeros/device-of-tensor", "seen['r'] = torch.zeros(2, device=x.device)", on("cuda:0", FACTORIES)),
        ("zeros-like", "seen['r'] = torch.zeros_like(x)", on("cuda:0", LIKE)),
        ("rand-like", "seen['r'] = torch.rand_like(x)", on("cuda:0", LIKE)),
        ("full-like/to-cpu", "seen['r'] = torch.full_like(x, 2.0, device='cpu')", on("cpu", LIKE)),
        ("empty-like/cpu-to-cuda", "seen['r'] = torch.empty_like(y, device=first)", on("cuda:0", LIKE)),
        ("new-zeros", "seen['r'] = x.new_zeros(2)", on("cuda:0", LIKE)),
        ("new-tensor", "seen['r'] = x.new_tensor([1.0])", on("cuda:0", LIKE)),
        ("new-tensor/of-cpu-tensor", "seen['r'] = x.new_tensor(y)", on("cuda:0", LIKE)),
        ("new-full/device-cpu", "seen['r'] = x.new_full((2,), 1.0, device='cpu')", on("cpu", LIKE)),
        ("new", "seen['r'] = x.new(3)", on("cuda:0", NEW_TENSOR)),
        ("tensor-of-cuda-tensor", "seen['r'] = torch.tensor(x)", on("cuda:0", NEW_TENSOR)),
        ("as-tensor-of-cuda-tensor", "seen['r'] = torch.as_tensor(x);;seen['same'] = torch.as_tensor(x) is x", ok("docs: torch.as_tensor", r="cuda:0", same=True)),
        ("as-tensor/of-numpy-to-cuda", "seen['r'] = torch.as_tensor(np.ones(2), device=first)", on("cuda:0", FACTORIES)),
        ("from-numpy", "seen['r'] = torch.from_numpy(np.ones(2))", on("cpu", "docs: torch.from_numpy")),
        ("tensor-of-list-of-cuda-scalars", "seen['r'] = torch.tensor([x[0], x[1]])", on("cpu", NEW_TENSOR)),
        ("tensor-of-list-of-cuda-scalars/device", "seen['r'] = torch.tensor([x[0], x[1]], device=first)", on("cuda:0", NEW_TENSOR)),
        ("requires-grad-leaf", "t = torch.zeros(2, device=first, requires_grad=True);;seen['leaf'] = t.is_leaf;;seen['moved'] = torch.zeros(2, requires_grad=True).to(first).is_leaf", ok(MOVEMENT, leaf=True, moved=False)),
        ("normal/size", "seen['r'] = torch.normal(0.0, 1.0, (2,), device=first)", on("cuda:0", FACTORIES)),
        ("normal/means-cuda", "seen['r'] = torch.normal(x, 1.0)", on("cuda:0", LIKE)),
        ("normal/mean-cuda-std-cpu", "seen['r'] = torch.normal(x, y)"),
        ("arange/cuda-end", "seen['r'] = torch.arange(torch.tensor(3, device=first))", None),
        ("linspace/cuda-ends", "seen['r'] = torch.linspace(x[0], x[1], 3)", on("cpu", BOUNDS)),
        ("linspace/cuda-ends/to-cpu", "seen['r'] = torch.linspace(x[0], x[1], 3, device='cpu')", on("cpu", BOUNDS)),
        ("linspace/cuda-ends/device", "seen['r'] = torch.linspace(x[0], x[1], 3, device=x.device)", on("cuda:0", BOUNDS)),
        ("linspace/cuda-end", "seen['r'] = torch.linspace(0, x[1], 3)", on("cpu", BOUNDS)),
        ("linspace/cpu-ends/device", "seen['r'] = torch.linspace(y[0], y[1], 3, device=first)", on("cuda:0", BOUNDS)),
        ("linspace/mixed-ends", "seen['r'] = torch.linspace(y[0], x[1], 3, device=first)", on("cuda:0", BOUNDS)),
        ("linspace/cuda-ends/cpu-out", "o = torch.empty(3);;torch.linspace(x[0], x[1], 3, out=o);;seen['r'] = o", on("cpu", BOUNDS)),
        ("linspace/cuda-ends/meets-cuda", "torch.linspace(x[0], x[1], 2) + x", raises("RuntimeError", SAME_DEVICE, source=BOUNDS)),
        ("logspace/cuda-ends", "seen['r'] = torch.logspace(x[0], x[1], 3)", on("cpu", BOUNDS)),
        ("logspace/cuda-start/device", "seen['r'] = torch.logspace(x[0], 2, 3, device=x.device)", on("cuda:0", BOUNDS)),
        ("full/cuda-fill", "seen['r'] = torch.full((2,), x[0])"),
        ("zeros/size-from-cuda", "seen['r'] = torch.zeros(torch.tensor(2, device=first))"),
        ("complex/mixed", "seen['r'] = torch.complex(x, y)"),
        ("sparse-coo", "seen['r'] = torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2), device=first)", on("cuda:0", FACTORIES)),
        ("meta", "seen['r'] = torch.zeros_like(x, device='meta')", on("meta", LIKE)),
        ("meta-plus-cuda", "seen['r'] = torch.zeros(2, device='meta') + x"),
    ),
    setup="x = torch.ones(2, device=first);;y = torch.ones(2)",
)

CONTEXTS = rows(
    "creation",
    (
        ("default/set-default-device", "torch.set_default_device(first);;seen['r'] = torch.zeros(2);;seen['get'] = torch.get_default_device()", ok(DEFAULT_DEVICE, r="cuda:0", get="cuda:0")),
        ("default/module", "torch.set_default_device(first);;seen['r'] = nn.Linear(2, 2).weight", on("cuda:0", DEFAULT_DEVICE)),
        ("default/legacy-constructor", "torch.set_default_device(first);;seen['r'] = torch.Tensor(2)", on("cpu", "docs: torch.set_default_device; torch/utils/_device.py, _device_constructors")),
        ("default/legacy-constructor-of-list", "torch.set_default_device(first);;seen['r'] = torch.FloatTensor([1.0])", on("cpu", "torch/utils/_device.py, _device_constructors")),
        ("default/from-numpy", "torch.set_default_device(first);;seen['r'] = torch.from_numpy(np.ones(2))", on("cpu", "torch/utils/_device.py, _device_constructors")),
        ("default/context-wins-over-default", "torch.set_default_device('cpu');;with torch.device(first):;;    seen['r'] = torch.ones(1)", on("cuda:0", DEFAULT_DEVICE)),
        ("default/explicit-wins", "torch.set_default_device(first);;seen['r'] = torch.ones(1, device='cpu')", on("cpu", DEFAULT_DEVICE)),
        ("default/back-to-none", "torch.set_default_device(first);;torch.set_default_device(None);;seen['r'] = torch.ones(1)", on("cpu", DEFAULT_DEVICE)),
        ("default/like-of-cpu", "a = torch.ones(1);;torch.set_default_device(first);;seen['r'] = torch.zeros_like(a)", on("cpu", LIKE)),
        ("default/tensor-of-cuda-scalars", "a = torch.ones(2, device=first);;torch.set_default_device(first);;seen['r'] = torch.tensor([a[0], a[1]])", on("cuda:0", DEFAULT_DEVICE)),
        ("default/load", "a = io.BytesIO();;torch.save(torch.ones(1), a);;a.seek(0);;torch.set_default_device(first);;seen['r'] = torch.load(a)", on("cpu", "torch/serialization.py, _cpu_deserialize")),
        ("default/plain-cuda", "torch.set_default_device('cuda');;seen['r'] = torch.ones(1);;seen['get'] = torch.get_default_device()", on("cuda:0", DEFAULT_DEVICE)),
        ("default/in-thread", "import threading;;torch.set_default_device(first);;t = threading.Thread(target=lambda: seen.update(r=torch.ones(1)));;t.start();;t.join()"),
        ("default/tensor-type", "torch.set_default_tensor_type('torch.cuda.FloatTensor');;seen['r'] = torch.zeros(2);;seen['legacy'] = torch.Tensor(2);;seen['float'] = torch.FloatTensor(2)", ok("docs: torch.set_default_tensor_type", r="cuda:0", legacy="cuda:0", float="cpu")),
        ("default/nested", "with torch.device(first):;;    with torch.device('cpu'):;;        seen['inner'] = torch.ones(1);;    seen['outer'] = torch.ones(1);;seen['after'] = torch.ones(1)", ok(DEFAULT_DEVICE, inner="cpu", outer="cuda:0", after="cpu")),
        ("default/shuffling-loader", "from torch.utils.data import DataLoader;;torch.set_default_device(first);;list(DataLoader([1, 2, 3], shuffle=True))", raises("RuntimeError", "Expected a 'cuda' device type for generator", source=GENERATOR + "; torch/utils/data/sampler.py, RandomSampler")),
        ("default/shuffling-loader-cuda-generator", "from torch.utils.data import DataLoader;;torch.set_default_device(first);;list(DataLoader([1, 2, 3], shuffle=True, generator=torch.Generator(first)))"),
        ("default/loader-without-shuffle", "from torch.utils.data import DataLoader;;torch.set_default_device(first);;seen['r'] = [b.tolist() for b in DataLoader([1, 2], batch_size=2)]"),
        ("default/random-split", "from torch.utils.data import random_split;;torch.set_default_device(first);;random_split([1, 2, 3, 4], [2, 2])", raises("RuntimeError", "Expected a 'cuda' device type for generator", source=GENERATOR + "; torch/utils/data/dataset.py, random_split")),
        ("default/cuda-device-context-is-not-one", "with torch.cuda.device(0):;;    seen['r'] = torch.ones(1)", on("cpu", "docs: torch.cuda.device (selects the current device only)")),
    ),
    alone=True,
    control=("TypeError",),
)

GENERATORS = rows(
    "generators",
    (
        ("randn/cuda-cpu-generator", "torch.randn(2, device=first, generator=torch.Generator())", raises("RuntimeError", "Expected a 'cuda' device type for generator but found 'cpu'", source=GENERATOR)),
        ("randn/cpu-cuda-generator", "torch.randn(2, generator=torch.Generator(first))", raises("RuntimeError", "Expected a 'cpu' device type for generator but found 'cuda'", source=GENERATOR)),
        ("randn/same", "seen['r'] = torch.randn(2, device=first, generator=torch.Generator(first))", on("cuda:0", GENERATOR)),
        ("randperm/cuda-cpu-generator", "torch.randperm(5, device=first, generator=torch.Generator())", raises("RuntimeError", "Expected a 'cuda' device type for generator but found 'cpu'", source=GENERATOR)),
        ("bernoulli/cuda-cpu-generator", "torch.bernoulli(x, generator=torch.Generator())", raises("RuntimeError", "Expected a 'cuda' device type", source=GENERATOR)),
        ("multinomial/cuda-cpu-generator", "torch.multinomial(x, 1, generator=torch.Generator())", raises("RuntimeError", "Expected a 'cuda' device type", source=GENERATOR)),
        ("normal-in-place/cuda-cpu-generator", "x.normal_(generator=torch.Generator())", raises("RuntimeError", "Expected a 'cuda' device type", source=GENERATOR)),
        ("init/cuda-cpu-generator", "nn.init.uniform_(x, generator=torch.Generator())", raises("RuntimeError", "Expected a 'cuda' device type", source=GENERATOR)),
        ("device", "seen['r'] = torch.Generator(first).device;;seen['plain'] = torch.Generator('cuda').device;;seen['cpu'] = torch.Generator().device"),
        ("seed-repeats", "g = torch.Generator(first).manual_seed(3);;a = torch.rand(4, device=first, generator=g);;g.manual_seed(3);;seen['r'] = torch.equal(a, torch.rand(4, device=first, generator=g))", ok("docs: Generator.manual_seed", r=True)),
        ("manual-seed-repeats", "torch.manual_seed(1);;a = torch.rand(4, device=first);;torch.manual_seed(1);;seen['r'] = torch.equal(a, torch.rand(4, device=first))", ok("docs: torch.manual_seed (all devices)", r=True)),
        ("cuda-seed-leaves-cpu", "torch.manual_seed(1);;a = torch.rand(4);;torch.manual_seed(1);;torch.cuda.manual_seed(9);;seen['r'] = torch.equal(a, torch.rand(4))", ok("docs: torch.cuda.manual_seed", r=True)),
        ("cpu-draw-leaves-cuda", "torch.manual_seed(1);;a = torch.rand(4, device=first);;torch.manual_seed(1);;torch.rand(4);;seen['r'] = torch.equal(a, torch.rand(4, device=first))", ok("docs: torch.Generator (one for each device)", r=True)),
        ("rng-state", "s = torch.cuda.get_rng_state();;seen['s'] = [str(s.device), str(s.dtype)];;a = torch.rand(2, device=first);;torch.cuda.set_rng_state(s);;seen['r'] = torch.equal(a, torch.rand(2, device=first))", ok("torch/cuda/random.py", r=True)),
        ("rng-state-on-cuda", "s = torch.cuda.get_rng_state().to(first);;torch.cuda.set_rng_state(s)"),
        ("cpu-rng-state-on-cuda", "torch.set_rng_state(torch.get_rng_state().to(first))"),
        ("generator-get-state", "seen['r'] = torch.Generator(first).get_state().device", ok("docs: Generator.get_state (ByteTensor)", r="cpu")),
        ("fork-rng", "a = torch.cuda.get_rng_state();;with torch.random.fork_rng(devices=[0]):;;    torch.rand(2, device=first);;seen['r'] = torch.equal(a, torch.cuda.get_rng_state())", ok("docs: torch.random.fork_rng", r=True)),
        ("initial-seed", "torch.cuda.manual_seed(7);;seen['r'] = torch.cuda.initial_seed()", ok("docs: torch.cuda.initial_seed", r=7)),
        ("default-generators", "seen['r'] = [len(torch.cuda.default_generators), str(torch.cuda.default_generators[0].device)]", ok("torch/cuda/__init__.py, default_generators", r=[1, "cuda:0"])),
        ("distribution/cuda-parameters", "d = torch.distributions.Normal(x, x);;seen['r'] = d.sample()", on("cuda:0", LIKE)),
        ("distribution/mixed-parameters", "torch.distributions.Normal(x, torch.ones(2)).sample()"),
        ("distribution/log-prob-cpu-value", "torch.distributions.Normal(x, x).log_prob(torch.ones(2))"),
        ("distribution/numbers-sample", "seen['r'] = torch.distributions.Normal(0.0, 1.0).sample()", on("cpu", FACTORIES)),
        ("distribution/categorical", "seen['r'] = torch.distributions.Categorical(logits=x).sample()", on("cuda:0", LIKE)),
        ("loader-cuda-generator", "from torch.utils.data import DataLoader;;list(DataLoader([1, 2], shuffle=True, generator=torch.Generator(first)))", raises("RuntimeError", "Expected a 'cpu' device type for generator but found 'cuda'", source="issue 98792")),
        ("loader-cpu-generator", "from torch.utils.data import DataLoader;;seen['r'] = len(list(DataLoader([1, 2], shuffle=True, generator=torch.Generator())))", ok(GENERATOR, r=2)),
        ("set-state/cpu-generator-state-on-cuda", "g = torch.Generator();;g.set_state(g.get_state().to(first))"),
        ("set-state/cuda-generator-state-on-cuda", "g = torch.Generator(first);;g.set_state(g.get_state().to(first))"),
        ("set-state/cuda-generator-wrong-type", "g = torch.Generator(first);;g.set_state(g.get_state().float())"),
        ("set-state/cuda-generator-wrong-size", "g = torch.Generator(first);;g.set_state(g.get_state()[:3])"),
        ("set-state/cuda-generator-cpu-state", "torch.Generator(first).set_state(torch.Generator().get_state())"),
        ("set-state/cpu-generator-cuda-state", "torch.Generator().set_state(torch.Generator(first).get_state())"),
        ("set-state/not-a-tensor", "torch.Generator(first).set_state([1, 2])"),
        ("set-state/repeats", "g = torch.Generator(first).manual_seed(1);;s = g.get_state();;a = torch.rand(2, device=first, generator=g);;g.set_state(s);;seen['r'] = torch.equal(a, torch.rand(2, device=first, generator=g))"),
        ("rng-state-all", "s = torch.cuda.get_rng_state_all();;seen['r'] = [len(s), str(s[0].device)];;torch.cuda.set_rng_state_all([t.to(first) for t in s])"),
        ("invalid-ordinal", "torch.Generator('cuda:99')", None),
    ),
    setup="x = torch.full((2,), 0.5, device=first)",
    control=("TypeError",),
)

LEGACY = rows(
    "types",
    (
        ("type/float-tensor-moves-to-cpu", "seen['r'] = x.type(torch.FloatTensor)", on("cpu", "docs: Tensor.type")),
        ("type/cuda-float-tensor-moves", "seen['r'] = y.type(torch.cuda.FloatTensor)", on("cuda:0", "docs: Tensor.type")),
        ("type/dtype-stays", "seen['r'] = x.type(torch.float64)", ok("docs: Tensor.type", r="cuda:0 float64 [2]")),
        ("type/string", "seen['r'] = x.type('torch.LongTensor');;seen['c'] = y.type('torch.cuda.LongTensor')", ok("docs: Tensor.type", r="cpu int64 [2]", c="cuda:0 int64 [2]")),
        ("type/name", "seen['r'] = [x.type(), y.type()]", ok("docs: Tensor.type", r=["torch.cuda.FloatTensor", "torch.FloatTensor"])),
        ("type-as/cuda", "seen['r'] = y.type_as(x)", on("cuda:0", "docs: Tensor.type_as (self.type(tensor.type()))")),
        ("type-as/cpu", "seen['r'] = x.type_as(y)", on("cpu", "docs: Tensor.type_as (self.type(tensor.type()))")),
        ("isinstance/cuda-float", "seen['r'] = [isinstance(x, torch.cuda.FloatTensor), isinstance(x, torch.FloatTensor), isinstance(y, torch.FloatTensor)]", ok("torch/csrc/tensor/python_tensor.cpp, Tensor_instancecheck", r=[True, False, True])),
        ("cuda-constructor/size", "seen['r'] = torch.cuda.FloatTensor(2, 3)", on("cuda:0", "docs: torch.Tensor (tensor types)")),
        ("cuda-constructor/list", "seen['r'] = torch.cuda.LongTensor([1, 2])", on("cuda:0", "docs: torch.Tensor (tensor types)")),
        ("constructor-with-device", "torch.LongTensor([1], device=first)", raises("RuntimeError", "legacy constructor expects device type: cpu but device type: cuda was passed", source=NEW_TENSOR + ", check_legacy_ctor_device")),
        ("tensor-constructor-with-device", "torch.Tensor([1.0], device=first)", raises("RuntimeError", "legacy constructor expects device type: cpu", source=NEW_TENSOR + ", check_legacy_ctor_device")),
        ("constructor-of-cuda-tensor", "torch.FloatTensor(x)"),
        ("long-keeps-device", "seen['r'] = x.long();;seen['h'] = x.half();;seen['d'] = x.double()", ok(MOVEMENT, r="cuda:0 int64 [2]", h="cuda:0 float16 [2]", d="cuda:0 float64 [2]")),
        ("new-with-cpu-type", "seen['r'] = x.new([1.0, 2.0])", on("cuda:0", NEW_TENSOR)),
        ("is-tensor", "seen['r'] = [torch.is_tensor(x), torch.is_floating_point(x), type(x)]", ok("docs: torch.is_tensor", r=[True, True, "torch.Tensor"])),
        ("result-type", "seen['r'] = torch.result_type(x, torch.tensor(1.0, dtype=torch.float64))"),
        ("storage-constructor", "seen['r'] = torch.FloatStorage(3).device;;seen['c'] = torch.cuda.FloatStorage(3).device", ok("torch/storage.py", r="cpu", c="cuda:0")),
        ("print", "seen['r'] = repr(x)", ok("torch/_tensor_str.py", r="tensor([1., 1.], device='cuda:0')")),
        ("format", "seen['r'] = f'{x.sum():.1f}'", ok("torch/_tensor.py, Tensor.__format__", r="2.0")),
        ("numpy-of-type-cpu", "seen['r'] = x.type(torch.FloatTensor).numpy()", ok(NUMPY, r="ndarray float32 [2]")),
    ),
    setup="x = torch.ones(2, device=first);;y = torch.ones(2)",
    control=("TypeError", "AttributeError"),
)

CASES = (*_factories(), *CREATION, *CONTEXTS, *GENERATORS, *LEGACY)
