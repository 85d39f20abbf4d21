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

EXCEPTIONS: dict[str, str] = {
    "indexing/out-of-range/getitem": _ASSERT,
    "indexing/out-of-range/embedding": _ASSERT,
    "indexing/out-of-range/cpu-index": _ASSERT,
    "indexing/out-of-range/cross-entropy": _ASSERT,
    "amp/autocast/cpu-tensors-untouched": _AUTOCAST,
    "amp/autocast/cpu-autocast-leaves-cuda": _AUTOCAST,
    "streams/graph-capture": "a CUDA graph records kernels, of which there are none; the simulation refuses it by name",
}
