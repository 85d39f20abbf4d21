"""Cases in which the simulated backend may differ from a real GPU, each with the reason. Nothing else may."""

from __future__ import annotations

_ASSERT = (
    "values are on the CPU, which refuses a bad index at once and by name; the GPU asserts in the kernel, reports it "
    "at the next synchronisation and is of no more use to the process"
)

_AUTOCAST = (
    "autocast looks at where a tensor really is, and all are on the CPU: under simulated CUDA autocast operators cast "
    "the program's CPU tensors as well, and under CPU autocast those of the accelerator"
)

_WORDS = (
    "only the words differ: which overload the parser of arguments tells of follows the release, which is 2.11 in the "
    "record and 2.13 here"
)

_NUMPY = "NumPy refuses it: 2.5, with which it was recorded, by a BufferError, and 2.4 by a RuntimeError"

_BUILD = "a build without CUDA is asked, and says so; the record is of one with CUDA, all of whose GPUs were hidden"

EXCEPTIONS: dict[str, str] = {
    "indexing/out-of-range/getitem": _ASSERT,
    "indexing/out-of-range/embedding": _ASSERT,
    "indexing/out-of-range/cpu-index": _ASSERT,
    "indexing/out-of-range/cross-entropy": _ASSERT,
    "amp/autocast/cpu-tensors-untouched": _AUTOCAST,
    "amp/autocast/cpu-autocast-leaves-cuda": _AUTOCAST,
    "devices/tuple": _WORDS,
    "devices/cuda-context-as-device": _WORDS,
    "interop/numpy/mean": _WORDS,
    "interop/numpy/sum": _WORDS,
    "autograd/assign-grad/cpu": "only the last word differs, `device type` or `device`, by the release",
    "higher-order/cond/uses-cpu": "the arms are traced with fake tensors, which words the same refusal otherwise",
    "kernels/numpy-from-dlpack": _NUMPY,
    "interop/python/numpy-from-dlpack": _NUMPY,
    "serialization/no-gpu/factory": _BUILD,
    "serialization/no-gpu/to": _BUILD,
    "streams/graph-capture": "a CUDA graph records kernels, of which there are none; the simulation refuses it by name",
}
