"""Devices that are named in a way that PyTorch does not know."""

from __future__ import annotations

from torchdevlint.symptoms import Symptom, Wording

SYMPTOMS: tuple[Symptom, ...] = (
    Symptom(
        "device-string",
        "naming",
        "That is no name of a device.",
        'name a device as PyTorch does: "cuda", "cuda:1", "cpu", "mps"',
        ("TDL303", "TDL304"),
        (
            Wording(
                r"Expected one of cpu, cuda,.* device type at start of device string: (?P<device>\S+)",
                "RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, "
                "maia, xla, lazy, "
                "vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: gpu",
                "",
                "c10/core/Device.cpp",
            ),
            Wording(
                r"Invalid device string: '(?P<device>[^']*)'",
                "RuntimeError: Invalid device string: '0'",
                "",
                "c10/core/Device.cpp",
            ),
            Wording(
                r"Invalid device argument (?P<device>\w+) ?: did you call init",
                "RuntimeError: Invalid device argument 2: did you call init?",
                "",
                "c10/cuda/CUDACachingAllocator.cpp",
            ),
        ),
    ),
    Symptom(
        "device-index",
        "naming",
        "A device has a negative number; `get_device()` of a tensor of the CPU gives -1.",
        "use `x.device` instead of `x.get_device()`",
        ("TDL304", "TDL303"),
        (
            Wording(
                r"[Dd]evice index must not be negative|[Ee]xpected non-negative device index|device id must be "
                r"positive",
                "RuntimeError: Device index must not be negative",
                "",
                "c10/core/Device.h",
            ),
            Wording(
                r"Device index must be -1 or non-negative, got (?P<device>-\d+)",
                "RuntimeError: Device index must be -1 or non-negative, got -2",
                "",
                "c10/core/Device.h",
            ),
        ),
    ),
    Symptom(
        "device-argument",
        "naming",
        "What is given as a device is none: a tuple (a comma too many), a context manager, a function.",
        "give `torch.device(...)`, or its name",
        ("TDL303",),
        (
            Wording(
                r"\b\w+\(\): argument 'device'(?: \(position \d+\))? must be torch\.device, not (?P<device>\w+)",
                "TypeError: zeros(): argument 'device' must be torch.device, not tuple",
                "",
                "torch/csrc/utils/python_arg_parser.cpp",
            ),
            Wording(
                r"to\(\) received an invalid combination of arguments - got "
                r"\((?:tuple|torch\.cuda\.device|device|type|builtin_function_or_method|function|NoneType)",
                "TypeError: to() received an invalid combination of arguments - got (tuple), but expected one of: ...",
                "",
                "torch/csrc/utils/python_arg_parser.cpp",
            ),
            Wording(
                r"legacy constructor expects device type: (?P<other>\w+) but device type: (?P<device>\w+) was passed",
                "RuntimeError: legacy constructor expects device type: cpu but device type: cuda was passed",
                "",
                "torch/csrc/utils/tensor_new.cpp",
            ),
            Wording(
                r"Expected a torch\.device with a specified index or an integer, but got: ?(?P<device>\w+)",
                "ValueError: Expected a torch.device with a specified index or an integer, but got:cuda",
                "",
                "torch/_utils.py",
            ),
        ),
        sure=True,
    ),
    Symptom(
        "device-called",
        "naming",
        "A device, which is a value, is called or written without quotes.",
        'write `torch.device("cpu")`, and `x.device` without brackets',
        ("TDL303",),
        (
            Wording(r"'(?:int|str|torch\.device)' object is not callable", "TypeError: 'int' object is not callable"),
            Wording(r"name '(?P<device>cpu|cuda|mps)' is not defined", "NameError: name 'cpu' is not defined"),
        ),
        beside=r"device|get_device|cuda|\bcpu\b",
    ),
    Symptom(
        "not-a-cuda-device",
        "naming",
        "A function of CUDA is given a device that is none of CUDA.",
        "ask first, or use `.to(device)`, which takes every device",
        ("TDL305",),
        (
            Wording(
                r"Invalid device, must be (?P<other>\w+) device",
                "RuntimeError: Invalid device, must be cuda device",
                "",
                "torch/csrc/utils/python_arg_parser.cpp",
            ),
            Wording(
                r"Expected a (?P<other>cuda|xpu) device, but got: (?P<device>\w+)",
                "ValueError: Expected a cuda device, but got: cpu",
                "",
                "torch/cuda/_utils.py",
            ),
        ),
        sure=True,
    ),
)
