"""What a program gave, in numbers that two processes can compare."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

MOST_TENSORS, MOST_VALUES = 32, 256


def summary(value: Any) -> list[dict[str, Any]]:
    """The tensors and plain values in a result, each with the path that leads to it."""
    found: list[dict[str, Any]] = []
    for path, one in _leaves(value, ""):
        if len(found) == MOST_TENSORS:
            break
        found.append({"path": path, **_told(one)})
    return found


def is_gathered(value: Any) -> bool:
    """Whether `torch.nn.DataParallel` can put a result together: tensors, alone or in lists, tuples and dicts."""
    if isinstance(value, dict):
        return all(map(is_gathered, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(is_gathered, value))
    return value is None or isinstance(value, torch.Tensor)


def _leaves(value: Any, path: str, depth: int = 3) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (torch.Tensor, bool, int, float, str)):
        yield path, value
    elif depth and isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{path}[{key!r}]", depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]", depth - 1)


def _told(one: Any) -> dict[str, Any]:
    if not isinstance(one, torch.Tensor):
        return {"kind": type(one).__name__, "value": str(one)[:200]}
    told: dict[str, Any] = {
        "kind": "tensor",
        "dtype": str(one.dtype),
        "shape": list(one.shape),
        "device": str(one.device),
        "grad": one.requires_grad,
    }
    if one.layout is torch.strided and not one.is_complex() and not one.is_quantized:
        plain = one.detach().cpu().double().flatten()
        told["values"] = [_number(each) for each in plain[:MOST_VALUES].tolist()]
        told["sum"] = _number(float(plain.sum()))
    return told


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def differ(control: list[dict[str, Any]], shown: list[dict[str, Any]]) -> str:
    """In words where two results differ beyond rounding; empty where they agree. Where tensors are does not count."""
    if len(control) != len(shown):
        return f"{len(control)} values on the control, {len(shown)} on the accelerator"
    for one, other in zip(control, shown, strict=True):
        what = f"result{one['path']}"
        for name in ("kind", "dtype", "shape", "grad"):
            if one.get(name) != other.get(name):
                return f"{what}: {name} {one.get(name)} on the control, {other.get(name)} on the accelerator"
        tolerance = _TOLERANCE.get(str(one.get("dtype", "")).removeprefix("torch."), 1e-3)
        pairs = [*zip(one.get("values", []), other.get("values", []), strict=True)]
        if "sum" in one:
            pairs.append((one["sum"], other["sum"]))
        for left, right in pairs:
            if left != right and not _close(left, right, tolerance):
                return f"{what}: {left} on the control, {right} on the accelerator"
        if one["kind"] in ("bool", "int") and one.get("value") != other.get("value"):
            return f"{what}: {one['value']} on the control, {other['value']} on the accelerator"
    return ""


_TOLERANCE = {"float64": 1e-6, "float16": 1e-2, "bfloat16": 5e-2}


def _close(left: Any, right: Any, tolerance: float) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    return bool(abs(left - right) <= tolerance * max(1.0, abs(left), abs(right)))
