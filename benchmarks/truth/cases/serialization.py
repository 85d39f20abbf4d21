"""Checkpoints, numpy and plain Python."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, case, ok, raises, rows
from benchmarks.truth.sources import MODULE, NUMPY, SERIALIZATION, on

_SAVE = """
def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file
"""
_LOADED = "torch.load(saved(x)"
LOAD = rows(
    "serialization",
    (
        ("load/plain", f"seen['r'] = {_LOADED})", on("cuda:0", SERIALIZATION)),
        ("load/cpu-string", f"seen['r'] = {_LOADED}, map_location='cpu')", on("cpu", SERIALIZATION)),
        ("load/cpu-device", f"seen['r'] = {_LOADED}, map_location=torch.device('cpu'))", on("cpu", SERIALIZATION)),
        ("load/second-argument", f"seen['r'] = {_LOADED}, 'cpu')", on("cpu", SERIALIZATION)),
        ("load/dict", f"seen['r'] = {_LOADED}, map_location={{'cuda:0': 'cpu'}})", on("cpu", SERIALIZATION)),
        ("load/dict-other-key", f"seen['r'] = {_LOADED}, map_location={{'cuda:5': 'cpu'}})", on("cuda:0", SERIALIZATION)),
        ("load/function", f"seen['r'] = {_LOADED}, map_location=lambda s, l: s)", on("cpu", SERIALIZATION)),
        ("load/function-sees", f"{_LOADED}, map_location=lambda s, l: seen.update(r=[str(s.device), l]) or s)", ok(SERIALIZATION, r=["cpu", "cuda:0"])),
        ("load/function-none", f"seen['r'] = {_LOADED}, map_location=lambda s, l: None)", on("cuda:0", SERIALIZATION)),
        ("load/function-cuda", f"seen['r'] = {_LOADED}, map_location=lambda s, l: s.cuda(0))", on("cuda:0", SERIALIZATION)),
        ("load/cpu-to-cuda", "seen['r'] = torch.load(saved(x.cpu()), map_location=first)", on("cuda:0", SERIALIZATION)),
        ("load/cpu-to-cuda-plain-name", "seen['r'] = torch.load(saved(x.cpu()), map_location='cuda')", on("cuda:0", SERIALIZATION)),
        ("load/invalid-ordinal", f"{_LOADED}, map_location='cuda:99')", raises("RuntimeError", "Attempting to deserialize object on CUDA device 99", source=SERIALIZATION + ", _validate_device")),
        ("load/saved-on-missing-ordinal", "f = saved(x, _use_new_zipfile_serialization=False);;torch.load(io.BytesIO(f.getvalue().replace(b'cuda:0', b'cuda:9')), weights_only=False)", raises("RuntimeError", "Attempting to deserialize object on CUDA device 9 but torch.cuda.device_count() is 1", source=SERIALIZATION + ", _validate_device")),
        ("load/legacy-format", "seen['r'] = torch.load(saved(x, _use_new_zipfile_serialization=False))", on("cuda:0", SERIALIZATION)),
        ("load/location-tag", "f = saved(x, _use_new_zipfile_serialization=False);;seen['r'] = b'cuda:0' in f.getvalue()", ok(SERIALIZATION + ", location_tag", r=True)),
        ("load/second-to-first", "seen['r'] = torch.load(saved(x.to(second)), map_location={'cuda:1': 'cuda:0'})", on("cuda:0", SERIALIZATION)),
        ("load/second-plain", "seen['r'] = torch.load(saved(x.to(second)))", on("cuda:1", SERIALIZATION)),
        ("load/weights-only-false", f"seen['r'] = {_LOADED}, weights_only=False)", on("cuda:0", SERIALIZATION)),
        ("load/parameter", "p = torch.load(saved(nn.Parameter(x)));;seen['r'] = p;;seen['t'] = type(p)", ok(SERIALIZATION, r="cuda:0", t="torch.nn.parameter.Parameter")),
        ("load/shared-storage", "a, b = torch.load(saved([x, x[:1]]));;b.fill_(5);;seen['r'] = a[0].item()", ok("docs: Serialization semantics (views are kept)", r=5.0)),
        ("load/mixed-dict", "seen.update(torch.load(saved({'a': x, 'b': x.cpu()})))", ok(SERIALIZATION, a="cuda:0", b="cpu")),
        ("load/sparse", "seen['r'] = torch.load(saved(x.to_sparse()))", on("cuda:0", SERIALIZATION)),
        ("load/storage-object", "seen['r'] = torch.load(saved(x.untyped_storage()), weights_only=False).device", on("cuda:0", SERIALIZATION)),
        ("load/device-object", "seen['r'] = torch.load(saved(torch.device(first)), weights_only=False)", on("cuda:0", SERIALIZATION)),
        ("load/map-location-meta", f"seen['r'] = {_LOADED}, map_location='meta')", on("meta", SERIALIZATION)),
        ("load/mmap", "torch.save(x, 'm.pt');;seen['r'] = torch.load('m.pt', mmap=True)"),
        ("load/module", "seen['r'] = torch.load(saved(m), weights_only=False).weight", on("cuda:0", SERIALIZATION)),
        ("load/optimizer", "o = torch.optim.Adam(m.parameters());;m(x[:2]).sum().backward();;o.step();;s = torch.load(saved(o.state_dict()), map_location='cpu');;seen['r'] = s['state'][0]['exp_avg']", on("cpu", SERIALIZATION)),
        ("load/generator-state", "seen['r'] = torch.load(saved(torch.cuda.get_rng_state())).device", on("cpu", "torch/cuda/random.py")),
        ("state-dict/copies-into-module", "m.load_state_dict(n.state_dict());;seen['r'] = m.weight", on("cuda:0", MODULE)),
        ("state-dict/cuda-into-cpu-module", "n.load_state_dict(m.state_dict());;seen['r'] = n.weight", on("cpu", MODULE)),
        ("state-dict/assign", "m.load_state_dict(n.state_dict(), assign=True);;seen['r'] = m.weight", on("cpu", "docs: Module.load_state_dict (assign)")),
        ("state-dict/assign-cuda", "n.load_state_dict(m.state_dict(), assign=True);;seen['r'] = n.weight", on("cuda:0", "docs: Module.load_state_dict (assign)")),
        ("state-dict/data-parallel-prefix", "n.load_state_dict({'module.' + k: v for k, v in m.state_dict().items()})", raises("RuntimeError", "Missing key(s) in state_dict", source=MODULE)),
        ("state-dict/is-not-a-copy", "s = m.state_dict();;s['weight'].zero_();;seen['r'] = m.weight.abs().sum().item()", ok(MODULE, r=0.0)),
    ),
    setup=_SAVE + "x = torch.ones(2, device=first)\nm = nn.Linear(2, 2).to(first)\nn = nn.Linear(2, 2)",
    control=("TypeError",),
)
LOAD = tuple(Case(c.id, c.program, 2 if "second)" in c.program else 1, False, c.expects, c.control) for c in LOAD)

# A file as a GPU machine writes it, made where there is none: in the old format the location is a plain text.
_GPU_FILE = (
    "f = io.BytesIO();;torch.save(torch.ones(2), f, _use_new_zipfile_serialization=False);;"
    "f = io.BytesIO(f.getvalue().replace(b'X\\x03\\x00\\x00\\x00cpu', b'X\\x06\\x00\\x00\\x00cuda:0'))"
)
_NO_GPU = "torch.load with map_location=torch.device('cpu')"
MISSING = (
    *rows(
        "serialization",
        (
            ("no-gpu/load", "torch.load(f)", raises("RuntimeError", "torch.cuda.is_available() is False", source=SERIALIZATION + ", _validate_device")),
            ("no-gpu/load-to-cpu", "seen['r'] = torch.load(f, map_location='cpu')", on("cpu", SERIALIZATION)),
            ("no-gpu/load-to-cuda", "torch.load(f, map_location='cuda')", raises("RuntimeError", _NO_GPU, source=SERIALIZATION + ", _validate_device")),
            ("no-gpu/load-function", "seen['r'] = torch.load(f, map_location=lambda s, l: s)", on("cpu", SERIALIZATION)),
            ("no-gpu/load-dict", "seen['r'] = torch.load(f, map_location={'cuda:0': 'cpu'})", on("cpu", SERIALIZATION)),
            ("no-gpu/queries", "seen['r'] = [torch.cuda.is_available(), torch.cuda.device_count()]", ok("torch/cuda/__init__.py, is_available", r=[False, 0])),
            ("no-gpu/device-object", "seen['r'] = torch.device('cuda')", on("cuda", "docs: torch.device")),
            ("no-gpu/manual-seed", "torch.cuda.manual_seed_all(1);;seen['r'] = torch.rand(1)", on("cpu", "docs: torch.cuda.manual_seed_all (silently ignored without CUDA)")),
            ("no-gpu/data-parallel", "seen['r'] = nn.DataParallel(nn.Linear(2, 2))(torch.ones(1, 2));;seen['k'] = list(nn.DataParallel(nn.Linear(1, 1)).state_dict())", ok("torch/nn/parallel/data_parallel.py", r="cpu", k=["module.weight", "module.bias"])),
        ),
        setup=_GPU_FILE,
        devices=0,
    ),
    case("serialization/no-gpu/factory", "torch.zeros(1, device='cuda')", devices=0, alone=True),
    case("serialization/no-gpu/to", "torch.zeros(1).to('cuda')", devices=0, alone=True),
    case("serialization/no-gpu/autocast", "with torch.autocast('cuda'):;;    seen['r'] = torch.ones(2, 2) @ torch.ones(2, 2)", devices=0, alone=True),
    case("serialization/no-gpu/empty-cache", "torch.cuda.empty_cache();;seen['r'] = torch.cuda.is_initialized()", ok("torch/cuda/memory.py, empty_cache", r=False), devices=0, alone=True),
)

REFUSED = raises(
    "TypeError",
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    source=NUMPY,
)
INTEROP = rows(
    "interop",
    (
        ("numpy/cuda", "x.numpy()", REFUSED),
        ("numpy/force", "seen['r'] = x.numpy(force=True)", ok("docs: Tensor.numpy (force)", r="ndarray float32 [2]")),
        ("numpy/force-requires-grad", "seen['r'] = x.requires_grad_().numpy(force=True)", ok("docs: Tensor.numpy (force)", r="ndarray float32 [2]")),
        ("numpy/requires-grad-cuda", "x.requires_grad_().numpy()", REFUSED),
        ("numpy/requires-grad-cpu", "x.cpu().requires_grad_().numpy()", raises("RuntimeError", "Can't call numpy() on Tensor that requires grad", source=NUMPY)),
        ("numpy/after-cpu", "seen['r'] = x.cpu().numpy()", ok(NUMPY, r="ndarray float32 [2]")),
        ("numpy/asarray", "np.asarray(x)", REFUSED),
        ("numpy/array", "np.array(x)", REFUSED),
        ("numpy/array-of-list", "np.array([x, x])", REFUSED),
        ("numpy/array-of-scalars", "np.array([x[0], x[1]])"),
        ("numpy/mean", "np.mean(x)"),
        ("numpy/sum", "np.sum(x)"),
        ("numpy/exp", "np.exp(x)", REFUSED),
        ("numpy/concatenate", "np.concatenate([x, x])", REFUSED),
        ("numpy/array-plus-tensor", "np.ones(2) + x"),
        ("numpy/tensor-plus-array", "x + np.ones(2)"),
        ("numpy/array-method", "x.__array__()", REFUSED),
        ("numpy/dtype", "np.asarray(x, dtype=np.float64)", REFUSED),
        ("numpy/allclose", "np.allclose(x, 1.0)", REFUSED),
        ("numpy/sqrt-of-scalar", "np.sqrt(x[0])", REFUSED),
        ("numpy/float64-of-scalar", "seen['r'] = np.float64(x[0].item())", ok("docs: Tensor.item", r="numpy.float64")),
        ("numpy/assign-into-array", "a = np.zeros(2);;a[:] = x"),
        ("numpy/assign-scalar-into-array", "a = np.zeros(2);;a[0] = x[0];;seen['r'] = a"),
        ("python/tolist", "seen['r'] = x.tolist()", ok("docs: Tensor.tolist (moved to the CPU first)", r=[1.0, 1.0])),
        ("python/item", "seen['r'] = x[0].item()", ok("docs: Tensor.item", r=1.0)),
        ("python/float-int-bool", "seen['r'] = [float(x[0]), int(x[0]), bool(x[0]), complex(x[0]).real]", ok("docs: Tensor.item", r=[1.0, 1, True, 1.0])),
        ("python/len-iter", "seen['r'] = [len(x), *list(x)]", ok("torch/_tensor.py, Tensor.__iter__", r=[2, "cuda:0 float32 []", "cuda:0 float32 []"])),
        ("python/in", "seen['r'] = [1.0 in x, 3.0 in x]", ok("torch/_tensor.py, Tensor.__contains__", r=[True, False])),
        ("python/if", "seen['r'] = 'yes' if x.sum() > 1 else 'no'", ok("docs: Tensor.item", r="yes")),
        ("python/sorted", "seen['r'] = sorted(x)", ok("docs: Tensor.item", r=["cuda:0 float32 []"] * 2)),
        ("python/deepcopy", "import copy;;seen['r'] = copy.deepcopy(x);;seen['same'] = copy.deepcopy(x).data_ptr() == x.data_ptr()", ok("torch/_tensor.py, Tensor.__deepcopy__", r="cuda:0", same=False)),
        ("python/copy", "import copy;;seen['r'] = copy.copy(x)", on("cuda:0", "torch/_tensor.py, Tensor.__reduce_ex__")),
        ("python/pickle", "import pickle;;seen['r'] = pickle.loads(pickle.dumps(x))", on("cuda:0", "torch/_tensor.py, Tensor.__reduce_ex__; torch/serialization.py")),
        ("python/pickle-module", "import pickle;;seen['r'] = pickle.loads(pickle.dumps(nn.Linear(2, 2).to(first))).weight", on("cuda:0", SERIALIZATION)),
        ("python/from-dlpack", "seen['r'] = torch.from_dlpack(x)", on("cuda:0", "torch/_tensor.py, Tensor.__dlpack__")),
        ("python/dlpack-device", "seen['r'] = [int(n) for n in x.__dlpack_device__()];;seen['c'] = [int(n) for n in x.cpu().__dlpack_device__()]", ok("torch/_tensor.py, Tensor.__dlpack_device__ (kDLCUDA is 2, kDLCPU 1)", r=[2, 0], c=[1, 0])),
        ("python/numpy-from-dlpack", "np.from_dlpack(x)", None),
        ("python/cuda-array-interface", "seen['r'] = sorted(x.__cuda_array_interface__)", ok("torch/_tensor.py, Tensor.__cuda_array_interface__", r=["data", "shape", "strides", "typestr", "version"])),
        ("python/cuda-array-interface-of-cpu", "x.cpu().__cuda_array_interface__", raises("AttributeError", "Can't get __cuda_array_interface__ on non-CUDA tensor type", source="torch/_tensor.py, Tensor.__cuda_array_interface__")),
        ("python/array-module", "import array;;array.array('f', x)", None),
        ("python/json", "import json;;seen['r'] = json.dumps(x.tolist())", ok("docs: Tensor.tolist", r="[1.0, 1.0]")),
        ("python/memoryview", "memoryview(x)", raises("TypeError", source="docs: Python data model (no buffer protocol)")),
        ("python/bytes-of-storage", "seen['r'] = len(bytes(x.untyped_storage().cpu()))"),
        ("python/data-ptr-differs", "seen['r'] = x.cpu().data_ptr() == x.data_ptr()", ok("docs: Tensor.cpu (a copy)", r=False)),
    ),
    setup="x = torch.ones(2, device=first)",
    control=("TypeError", "AttributeError"),
)

CASES = (*LOAD, *MISSING, *INTEROP)
