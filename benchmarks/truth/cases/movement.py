"""Moves of tensors and modules, device objects, invalid ordinals, autograd."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, ok, raises, rows
from benchmarks.truth.sources import (
    CUDA_API,
    ENGINE,
    ITERATOR,
    MODULE,
    MOVEMENT,
    SET_DATA,
    SET_GRAD,
    ZERO_DIM,
    mixed,
    on,
)

CALLBACK = "docs: Tensor.register_hook"

TENSORS = rows(
    "movement",
    (
        ("to/device", "seen['r'] = y.to(first)", on("cuda:0", MOVEMENT)),
        ("to/no-change-is-self", "seen['r'] = x.to(first) is x;;seen['plain'] = x.to('cuda') is x", ok(MOVEMENT, r=True, plain=True)),
        ("to/copy", "seen['r'] = x.to(first, copy=True) is x", ok(MOVEMENT, r=False)),
        ("to/cpu-no-change-is-self", "seen['r'] = [y.cpu() is y, y.to('cpu') is y, x.cuda() is x, x.cuda(0) is x]", ok(MOVEMENT, r=[True] * 4)),
        ("to/other", "seen['r'] = y.to(x);;seen['back'] = x.to(y)", ok(MOVEMENT, r="cuda:0", back="cpu")),
        ("to/dtype-only", "seen['r'] = x.to(torch.float16)", ok(MOVEMENT, r="cuda:0 float16 [2]")),
        ("to/device-and-dtype", "seen['r'] = y.to(first, torch.float16)", ok(MOVEMENT, r="cuda:0 float16 [2]")),
        ("to/integer", "seen['r'] = y.to(0)", on("cuda:0", MOVEMENT)),
        ("cuda/plain", "seen['r'] = y.cuda()", on("cuda:0", MOVEMENT)),
        ("cuda/integer", "seen['r'] = y.cuda(0)", on("cuda:0", MOVEMENT)),
        ("cuda/device-argument", "seen['r'] = y.cuda(device=torch.device(first))", on("cuda:0", MOVEMENT)),
        ("cuda/non-blocking", "seen['r'] = y.cuda(non_blocking=True)", on("cuda:0", MOVEMENT)),
        ("cuda/cpu-device", "y.cuda('cpu')", raises("RuntimeError", "Invalid device, must be cuda device", source="torch/csrc/autograd/python_variable_methods.cpp, THPVariable_cuda")),
        ("cuda/get-device-of-cpu", "y.cuda(y.get_device())"),
        ("cpu/from-cuda", "seen['r'] = x.cpu()", on("cpu", MOVEMENT)),
        ("discarded-move", "y.cuda();;seen['r'] = y", on("cpu", MOVEMENT)),
        ("device-attribute", "seen['r'] = [x.device, x.is_cuda, x.is_cpu, x.get_device(), x.device.type, x.device.index]", ok("docs: Tensor.device, Tensor.is_cuda, Tensor.get_device", r=["cuda:0", True, False, 0, "cuda", 0])),
        ("device-attribute/cpu", "seen['r'] = [y.device, y.is_cuda, y.get_device(), y.device.index]", ok("docs: Tensor.device, Tensor.is_cuda, Tensor.get_device", r=["cpu", False, -1, None])),
        ("grad-flows-through-move", "w = torch.ones(2, requires_grad=True);;w.to(first).sum().backward();;seen['r'] = w.grad", on("cpu", "torch/csrc/autograd/FunctionsManual.cpp, _to_copy_backward")),
        ("grad-of-nonleaf", "w = torch.ones(2, requires_grad=True).to(first);;w.sum().backward();;seen['r'] = [w.grad, w.is_leaf]", ok("docs: Tensor.is_leaf", r=[None, False])),
        ("loop-move-is-dead", "l = [y, y];;for t in l:;;    t = t.to(first);;seen['r'] = l", ok(MOVEMENT, r=["cpu float32 [2]"] * 2)),
        ("to/half-copies-values", "seen['r'] = y.to(first).tolist()", ok("docs: Tensor.tolist", r=[1.0, 1.0])),
        ("to/unknown-name", "y.to('gpu')", raises("RuntimeError", "Expected one of", source="c10/core/Device.cpp, parse_type")),
        ("to/second", "seen['r'] = x.to(second)", on("cuda:1", MOVEMENT)),
        ("to/second-and-back", "seen['r'] = x.to(second).to(first)", on("cuda:0", MOVEMENT)),
        ("cuda/follows-current-device", "with torch.cuda.device(second):;;    seen['r'] = y.cuda();;    seen['x'] = x.cuda()", None),
        ("to/plain-cuda-follows-current-device", "with torch.cuda.device(second):;;    seen['r'] = y.to('cuda');;    seen['z'] = torch.zeros(1, device='cuda')", ok("docs: torch.cuda.device", r="cuda:1", z="cuda:1")),
        ("pin-then-move", "seen['r'] = y.pin_memory().to(first, non_blocking=True)", on("cuda:0", MOVEMENT)),
        ("to-meta", "seen['r'] = x.to('meta')", on("meta", MOVEMENT)),
    ),
    setup="x = torch.ones(2, device=first);;y = torch.ones(2)",
)

MODULES = rows(
    "movement",
    (
        ("module/in-place-returns-self", "seen['r'] = [m.to(first) is m, m.cuda() is m, m.cpu() is m]", ok(MODULE, r=[True] * 3)),
        ("module/parameters-keep-identity", "w = m[0].weight;;m.to(first);;seen['r'] = [m[0].weight is w, str(w.device)]", ok(MODULE, r=[True, "cuda:0"])),
        ("module/buffers-are-replaced", "b = m[1].running_mean;;m.to(first);;seen['r'] = [m[1].running_mean is b, str(b.device), str(m[1].running_mean.device)]", ok(MODULE, r=[False, "cpu", "cuda:0"])),
        ("module/optimizer-before-move", "o = torch.optim.SGD(m.parameters(), lr=1.0);;m.to(first);;m(torch.ones(4, 2, device=first)).sum().backward();;o.step();;seen['r'] = o.param_groups[0]['params'][0]", on("cuda:0", MODULE)),
        ("module/grad-moves", "m(torch.ones(4, 2)).sum().backward();;m.to(first);;seen['r'] = m[0].weight.grad", on("cuda:0", MODULE)),
        ("module/plain-attribute-stays", "m.t = torch.ones(2);;m.to(first);;seen['r'] = m.t", on("cpu", MODULE)),
        ("module/list-of-modules-stays", "m.l = [nn.Linear(2, 2)];;m.to(first);;seen['r'] = m.l[0].weight", on("cpu", MODULE)),
        ("module/child-to-is-not-called", "class C(nn.Linear):;;    def to(self, *a, **k):;;        seen['called'] = True;;        return super().to(*a, **k);;seen['called'] = False;;nn.Sequential(C(2, 2)).to(first)", ok(MODULE, called=False)),
        ("module/non-persistent-buffer", "m.register_buffer('b', torch.ones(1), persistent=False);;m.cuda();;seen['r'] = m.b", on("cuda:0", MODULE)),
        ("module/dtype-and-device", "m.to(first, torch.float64);;seen['r'] = m[0].weight;;seen['n'] = m[1].num_batches_tracked", ok(MODULE, r="cuda:0 float64 [2, 2]", n="cuda:0 int64 []")),
        ("module/invalid-argument", "m.to('gpu')", raises("RuntimeError", "Expected one of", source="c10/core/Device.cpp, parse_type")),
        ("module/integer-dtype", "m.to(torch.int64)", raises("TypeError", "only accepts floating point or complex dtypes", source=MODULE)),
        ("module/to-empty", "m.to_empty(device=first);;seen['r'] = m[0].weight", on("cuda:0", MODULE)),
        ("module/device-argument", "seen['r'] = nn.Linear(2, 2, device=first).weight", on("cuda:0", "docs: nn.Linear (device)")),
        ("module/skip-init", "seen['r'] = nn.utils.skip_init(nn.Linear, 2, 2, device=first).weight", on("cuda:0", "docs: torch.nn.utils.skip_init")),
        ("parameter/to-is-a-tensor", "p = nn.Parameter(torch.ones(2));;q = p.to(first);;seen['r'] = [type(q), q.is_leaf, type(p.to('cpu'))]", ok(MOVEMENT, r=["torch.Tensor", False, "torch.nn.parameter.Parameter"])),
        ("parameter/unregistered-after-to", "m.w = nn.Parameter(torch.ones(2)).to(first);;seen['r'] = 'w' in dict(m.named_parameters())", ok("torch/nn/modules/module.py, Module.__setattr__", r=False)),
        ("parameter/data-move", "p = nn.Parameter(torch.ones(2));;p.data = p.data.to(first);;seen['r'] = p;;seen['leaf'] = p.is_leaf", ok(SET_DATA, leaf=True)),
        ("parameter/assign-in-module", "m[0].weight = nn.Parameter(m[0].weight.to(first));;seen['r'] = m[0].weight", on("cuda:0", MODULE)),
        ("parameter/parameter-list", "l = nn.ParameterList([torch.ones(2)]).to(first);;seen['r'] = l[0]", on("cuda:0", MODULE)),
        ("parameter/shared-weights", "m[0].tied = m[0].weight;;m.to(first);;seen['r'] = m[0].tied is m[0].weight", ok(MODULE, r=True)),
        ("module/deepcopy", "import copy;;seen['r'] = copy.deepcopy(m.to(first))[0].weight", on("cuda:0", "torch/_tensor.py, Tensor.__deepcopy__")),
        ("module/state-dict-device", "seen['r'] = m.to(first).state_dict()", None),
        ("module/half-on-cuda", "seen['r'] = m[0].to(first).half()(torch.ones(1, 2, device=first).half())", ok(MODULE, r="cuda:0 float16 [1, 2]")),
        ("module/apply-function", "seen['r'] = [];;m.to(first).apply(lambda k: seen['r'].extend(str(p.device) for p in k.parameters(recurse=False)))", ok(MODULE, r=["cuda:0"] * 4)),
        ("module/device-attribute-missing", "m.device", raises("AttributeError", "has no attribute 'device'", source="torch/nn/modules/module.py, Module.__getattr__")),
    ),
    setup="m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))",
    control=("TypeError", "AttributeError"),
)

DEVICES = rows(
    "devices",
    (
        ("equal", "d = torch.device;;seen['r'] = [d('cuda') == d('cuda:0'), d('cuda:0') == d('cuda', 0), d(0) == d('cuda:0'), d('cuda') == 'cuda']"),
        ("attributes", "d = torch.device('cuda');;seen['r'] = [d.type, d.index, str(d), repr(d)]", ok("docs: torch.device", r=["cuda", None, "cuda", "device(type='cuda')"])),
        ("integer", "seen['r'] = torch.device(0)", on("cuda:0", "docs: torch.device (a bare integer is the accelerator's ordinal)")),
        ("integer/type", "seen['r'] = [type(torch.device(0)) is torch.device, type(torch.ones(1, device=first).device) is torch.device]", ok("docs: torch.device (a bare integer is the accelerator's ordinal)", r=[True, True])),
        ("hash", "seen['r'] = len({torch.device('cuda:0'), torch.device('cuda', 0)})", ok("torch/csrc/Device.cpp, THPDevice_hash", r=1)),
        ("doubled", "torch.device('cuda:cuda:0')", raises("RuntimeError", "Invalid device string", source="c10/core/Device.cpp")),
        ("negative", "torch.device('cuda:-1')", raises("RuntimeError", source="c10/core/Device.cpp")),
        ("number-string", "torch.device('0')", raises("RuntimeError", "Invalid device string", source="c10/core/Device.cpp")),
        ("far-ordinal-is-only-a-name", "seen['r'] = torch.device('cuda:99')", on("cuda:99", "docs: torch.device")),
        ("tuple", "torch.zeros(1, device=(torch.device(first),))", raises("TypeError", source="torch/csrc/utils/python_arg_parser.cpp")),
        ("cuda-context-as-device", "torch.zeros(1, device=torch.cuda.device(0))", raises("TypeError", source="torch/csrc/utils/python_arg_parser.cpp")),
        ("invalid-ordinal/factory", "torch.zeros(1, device='cuda:99')", raises("RuntimeError", "invalid device ordinal", source="c10/cuda/CUDAFunctions.cpp; CUDA runtime (cudaErrorInvalidDevice)")),
        ("invalid-ordinal/second-of-one", "torch.zeros(1, device='cuda:1')", raises("RuntimeError", "invalid device ordinal", source="CUDA runtime (cudaErrorInvalidDevice)")),
        ("invalid-ordinal/to", "torch.zeros(1).to('cuda:1')", raises("RuntimeError", "invalid device ordinal", source="CUDA runtime (cudaErrorInvalidDevice)")),
        ("invalid-ordinal/cuda", "torch.zeros(1).cuda(1)", raises("RuntimeError", "invalid device ordinal", source="CUDA runtime (cudaErrorInvalidDevice)")),
        ("invalid-ordinal/module", "nn.Linear(2, 2).to('cuda:1')", raises("RuntimeError", "invalid device ordinal", source="CUDA runtime (cudaErrorInvalidDevice)")),
        ("invalid-ordinal/set-device", "torch.cuda.set_device(1)", raises("RuntimeError", "invalid device ordinal", source="CUDA runtime (cudaErrorInvalidDevice)")),
        ("invalid-ordinal/context", "with torch.cuda.device(1):;;    pass"),
        ("invalid-ordinal/properties", "torch.cuda.get_device_properties(1)", raises("AssertionError", "Invalid device id", source=CUDA_API + ", get_device_properties")),
        ("invalid-ordinal/name", "torch.cuda.get_device_name(1)", raises("AssertionError", "Invalid device id", source=CUDA_API + ", get_device_properties")),
        ("invalid-ordinal/like", "torch.zeros_like(torch.ones(1), device='cuda:1')"),
        ("invalid-ordinal/leaves-the-device-usable", "try:;;    torch.zeros(1, device='cuda:1');;except RuntimeError:;;    seen['r'] = torch.zeros(1, device=first)", None),
    ),
    control=("TypeError", "AttributeError"),
)

AUTOGRAD = rows(
    "autograd",
    (
        ("grad-device", "(x * 2).sum().backward();;seen['r'] = x.grad", on("cuda:0", ENGINE)),
        ("across-devices", "(x.cpu() * w).sum().backward();;seen['x'] = x.grad;;seen['w'] = w.grad", ok(ENGINE, x="cuda:0", w="cpu")),
        ("autograd-grad", "seen['r'] = torch.autograd.grad(x.cpu().sum(), x)", ok(ENGINE, r=["cuda:0 float32 [2]"])),
        ("grad-outputs/cpu", "x.mul(2).backward(torch.ones(2))"),
        ("grad-outputs/cuda", "x.mul(2).backward(torch.ones(2, device=first));;seen['r'] = x.grad", on("cuda:0", ENGINE)),
        ("grad-outputs/cpu0dim-for-scalar", "x.sum().backward(torch.tensor(1.0))"),
        ("assign-grad/cpu", "x.grad = torch.ones(2)", raises("RuntimeError", "assigned grad has data located on a different device", "attempting to assign a gradient with device type 'cpu'", source=SET_GRAD)),
        ("assign-grad/cuda", "x.grad = torch.ones(2, device=first);;seen['r'] = x.grad", on("cuda:0", SET_GRAD)),
        ("in-place-on-grad/cpu", "x.sum().backward();;x.grad.add_(torch.ones(2))", mixed(ITERATOR)),
        ("hook/sees-cuda", "x.register_hook(lambda g: seen.update(r=g));;x.sum().backward()", on("cuda:0", CALLBACK)),
        ("hook/returns-cpu", "x.register_hook(lambda g: g.cpu());;x.sum().backward()"),
        ("hook/module-backward", "m = nn.Linear(2, 2).to(first);;m.register_full_backward_hook(lambda m, i, o: seen.update(r=o[0]));;m(x).sum().backward()", on("cuda:0", "docs: Module.register_full_backward_hook")),
        ("hook/forward-pre-moves", "m = nn.Linear(2, 2).to(first);;m.register_forward_pre_hook(lambda m, a: tuple(t.to(first) for t in a));;seen['r'] = m(w)", on("cuda:0", "docs: Module.register_forward_pre_hook")),
        ("function/saved-device", "class S(torch.autograd.Function):;;    @staticmethod;;    def forward(ctx, a):;;        ctx.save_for_backward(a);;        return a * 2;;    @staticmethod;;    def backward(ctx, g):;;        seen['r'] = ctx.saved_tensors[0];;        return g * 2;;S.apply(x).sum().backward();;seen['g'] = x.grad", ok("docs: torch.autograd.Function", r="cuda:0", g="cuda:0")),
        ("function/backward-returns-cpu", "class S(torch.autograd.Function):;;    @staticmethod;;    def forward(ctx, a):;;        return a * 2;;    @staticmethod;;    def backward(ctx, g):;;        return torch.ones(2);;S.apply(x).sum().backward();;seen['r'] = x.grad", None),
        ("function/mixes-in-backward", "class S(torch.autograd.Function):;;    @staticmethod;;    def forward(ctx, a):;;        return a * 2;;    @staticmethod;;    def backward(ctx, g):;;        return g * torch.ones(2);;S.apply(x).sum().backward()", mixed(ITERATOR)),
        ("checkpoint/reentrant", "from torch.utils.checkpoint import checkpoint;;checkpoint(torch.exp, x, use_reentrant=True).sum().backward();;seen['r'] = x.grad", on("cuda:0", "docs: torch.utils.checkpoint")),
        ("checkpoint/non-reentrant", "from torch.utils.checkpoint import checkpoint;;checkpoint(torch.exp, x, use_reentrant=False).sum().backward();;seen['r'] = x.grad", on("cuda:0", "docs: torch.utils.checkpoint")),
        ("checkpoint/mixed-inside", "from torch.utils.checkpoint import checkpoint;;checkpoint(lambda a: a + torch.ones(2), x, use_reentrant=False)", mixed(ITERATOR)),
        ("jacobian", "seen['r'] = torch.autograd.functional.jacobian(torch.exp, x)", on("cuda:0", "docs: torch.autograd.functional.jacobian")),
        ("func-grad", "seen['r'] = torch.func.grad(lambda a: a.exp().sum())(x.detach())", on("cuda:0", "docs: torch.func.grad")),
        ("vmap/mixed", "torch.vmap(lambda a: a + torch.ones(2))(torch.ones(3, 2, device=first))"),
        ("double-backward", "g, = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True);;g.sum().backward();;seen['r'] = x.grad", on("cuda:0", ENGINE)),
        ("clip-grad-norm", "x.sum().backward();;seen['r'] = nn.utils.clip_grad_norm_([x], 1.0)", on("cuda:0", "torch/nn/utils/clip_grad.py")),
        ("clip-grad-norm/two-devices", "x.sum().backward();;w.sum().backward();;seen['r'] = nn.utils.clip_grad_norm_([x, w], 1.0)", on("cuda:0", "torch/nn/utils/clip_grad.py, _get_total_norm (norms are moved to the first device)")),
        ("saved-tensors-on-cpu", "with torch.autograd.graph.save_on_cpu():;;    y = x.exp();;y.sum().backward();;seen['r'] = x.grad", on("cuda:0", "docs: torch.autograd.graph.save_on_cpu")),
        ("saved-tensor-hooks-see-cuda", "with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.update(r=t) or t, lambda t: t):;;    x.exp()", on("cuda:0", "docs: torch.autograd.graph.saved_tensors_hooks")),
        ("detach-numpy", "x.numpy()", raises("TypeError", "can't convert cuda:0 device type tensor to numpy", source="torch/csrc/utils/tensor_numpy.cpp, tensor_to_numpy")),
        ("two-gpus", "z = torch.ones(2, device=second, requires_grad=True);;(x.to(second) * z).sum().backward();;seen['x'] = x.grad;;seen['z'] = z.grad", ok(ENGINE, x="cuda:0", z="cuda:1")),
        ("inference-mode", "with torch.inference_mode():;;    seen['r'] = x * 2", on("cuda:0", ZERO_DIM)),
        ("backward-of-cpu-loss-from-cuda", "l = F.mse_loss(x.cpu(), torch.zeros(2));;l.backward();;seen['r'] = [str(l.device), str(x.grad.device)]", ok(ENGINE, r=["cpu", "cuda:0"])),
    ),
    setup="x = torch.ones(2, device=first, requires_grad=True);;w = torch.ones(2, requires_grad=True)",
)

CASES = tuple(
    Case(c.id, c.program, 2 if "second" in c.program else 1, "ordinal/set" in c.id, c.expects, c.control)
    for c in (*TENSORS, *MODULES, *DEVICES, *AUTOGRAD)
)
