"""Machines without the accelerator that the program names: no driver, another build, Apple's GPU."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

_CHOOSE = 'choose the device at run time: `device = "cuda" if torch.cuda.is_available() else "cpu"`'

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "no-driver",
        "build",
        "The program names CUDA, and this machine has no NVIDIA driver, or none that this PyTorch can use.",
        _CHOOSE,
        ("TDL501", "TDL012", "TDL305"),
        (
            Wording(
                r"[Ff]ound no NVIDIA driver on your system",
                "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
                "installed a driver "
                "from http://www.nvidia.com/Download/index.aspx",
                "",
                "c10/cuda/CUDAFunctions.cpp",
            ),
            Wording(
                r"NVIDIA driver on your system is too old",
                "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
                "",
                "c10/cuda/CUDAFunctions.cpp",
            ),
            Wording(
                r"CUDA driver version is insufficient for CUDA runtime version|CUDA driver initialization failed",
                "RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version",
                "",
                "what the CUDA runtime answers",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "no-gpu",
        "build",
        "The program names CUDA, and no GPU is there or visible; `CUDA_VISIBLE_DEVICES` may hide them.",
        _CHOOSE,
        ("TDL501", "TDL012", "TDL302", "TDL301"),
        (
            Wording(
                r"No (?P<device>CUDA|XPU|HIP) GPUs are available",
                "RuntimeError: No CUDA GPUs are available",
                "",
                "c10/cuda/CUDAFunctions.cpp",
            ),
            Wording(
                r"no CUDA-capable device is detected",
                "RuntimeError: CUDA error: no CUDA-capable device is detected",
                "",
                "what the CUDA runtime answers",
            ),
            Wording(
                r"User specified an unsupported autocast device_type|torch\.cuda\.is_available\(\) should be True "
                r"but is False"
                r"|is only supported with GPUs, no GPUs found",
                "ValueError: Mixed precision is only supported with GPUs, no GPUs found!",
                "",
                "accelerate and others",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "not-compiled",
        "build",
        "The program names an accelerator that this build of PyTorch was made without.",
        _CHOOSE,
        ("TDL501", "TDL012", "TDL305"),
        (
            Wording(
                r"Torch not compiled with (?P<device>\w+) enabled",
                "AssertionError: Torch not compiled with CUDA enabled",
                "",
                "torch/cuda/__init__.py",
            ),
            Wording(
                r"PyTorch is not linked with support for (?P<device>\w+) devices",
                "RuntimeError: PyTorch is not linked with support for mps devices",
                "",
                "c10/core/impl/DeviceGuardImplInterface.h",
            ),
            Wording(
                r"Could not run '\w+::[\w.]+' with arguments from the "
                r"'(?:Quantized|SparseCsr|Sparse|NestedTensor)?(?P<device>CUDA|MPS|XPU)' backend",
                "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' "
                "backend.",
                "",
                "c10/core/Dispatcher",
            ),
            Wording(
                r"Cannot initialize CUDA without ATen_cuda library",
                "RuntimeError: Cannot initialize CUDA without ATen_cuda library.",
                "",
                "aten/src/ATen/detail/CUDAHooksInterface.h",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "mps-placeholder",
        "mps",
        "One operand is on the CPU, the others are on Apple's GPU; that is all that MPS says of it.",
        "move the operand that stayed behind to the device of the model",
        ("TDL005", "TDL003", "TDL101", "TDL102", "TDL001", "TDL014", "TDL010", "TDL012"),
        (
            Wording(
                r"Placeholder storage has not been allocated on MPS device!",
                "RuntimeError: Placeholder storage has not been allocated on MPS device!",
                "",
                "aten/src/ATen/native/mps/OperationUtils.mm",
            ),
            Wording(
                r"Passed CPU tensor to MPS op",
                "RuntimeError: Passed CPU tensor to MPS op",
                "",
                "aten/src/ATen/native/mps",
            ),
        ),
    ),
    Symptom(
        "mps-float64",
        "mps",
        "A tensor of float64, as NumPy makes them, goes to Apple's GPU, which has no such numbers.",
        "convert before the move: `x.float().to(device)`",
        ("TDL506",),
        (
            Wording(
                r"Cannot convert a MPS Tensor to float64 dtype",
                "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
                "float64. Please use "
                "float32 instead.",
                "",
                "aten/src/ATen/mps/EmptyTensor.cpp",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "mps-missing",
        "mps",
        "The program names Apple's GPU, and this machine has none that PyTorch can use.",
        "ask `torch.backends.mps.is_available()`; `is_built()` only says how PyTorch was built",
        ("TDL503", "TDL501"),
        (
            Wording(
                r"The MPS backend is supported on MacOS",
                "RuntimeError: The MPS backend is supported on MacOS 13.0+.Current OS version can be queried using "
                "`sw_vers`",
                "",
                "aten/src/ATen/mps/MPSDevice.mm",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "mps-operator",
        "mps",
        "Apple's GPU has no kernel for this operation.",
        "set `PYTORCH_ENABLE_MPS_FALLBACK=1`, or compute this step on the CPU",
        (),
        (
            Wording(
                r"operator '(?P<operation>aten::[\w.]+)' is not currently (?:implemented|supported)(?: on| for) the "
                r"MPS",
                "NotImplementedError: The operator 'aten::_linalg_eigh.eigenvalues' is not currently implemented for "
                "the MPS device.",
                "",
                "aten/src/ATen/mps/MPSFallback.mm",
            ),
        ),
    ),
)
