"""Which overload lacks which types of numbers on one of two backends, by torch's own database of operators.

Written by ``python scripts/kernel_types.py write``; not to be edited. Only what holds for every GPU is listed.
"""

from __future__ import annotations

LACKED_BY_CUDA: dict[str, str] = {
    "_trilinear": "int16 int32 int64 int8 uint8",
    "_upsample_bilinear2d_aa": "uint8",
    "addbmm": "int16 int32 int64 int8 uint8",
    "addmm": "int16 int32 int64 int8 uint8",
    "addmv": "int16 int32 int64 int8 uint8",
    "avg_pool2d": "int64",
    "avg_pool3d": "int64",
    "baddbmm": "int16 int32 int64 int8 uint8",
    "bmm": "int16 int32 int64 int8 uint8",
    "convolution": "int64",
    "dot": "int16 int32 int64 int8 uint8",
    "max_pool2d_with_indices": "int16 int32 int64 int8 uint8",
    "max_pool3d_with_indices": "int16 int32 int64 int8 uint8",
    "mm": "int16 int32 int64 int8 uint8",
    "mv": "int16 int32 int64 int8 uint8",
    "native_dropout_backward": "bool",
    "upsample_bicubic2d": "uint8",
    "upsample_bilinear2d": "uint8",
    "vdot": "int16 int32 int64 int8 uint8",
}

LACKED_BY_THE_CPU: dict[str, str] = {
    "abs": "bool",
    "histc": "int16 int32 int64 int8 uint8",
    "nansum": "complex64",
    "trace": "bool",
}
