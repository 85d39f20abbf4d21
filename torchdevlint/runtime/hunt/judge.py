"""What a failure on the accelerator is: a bug, a contract, something for the CPU only, or a limit of the simulation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from torchdevlint.runtime.execute.called import METHOD, MODULE
from torchdevlint.runtime.hunt import arrays, placements
from torchdevlint.runtime.hunt.findings import ALONE, BUG, CONTRACT, FOR_CPU, LIMIT, Place
from torchdevlint.runtime.hunt.script import Call, Script

Shown = Mapping[str, Any]
"""What a child says of a run."""
_TO_THE_HOST = re.compile(r"can't convert .*tensor to numpy|to numpy\(\)|Use Tensor\.cpu\(\)|__cuda_array")
_OF_THIS_MACHINE = frozenset(
    "ImportError ModuleNotFoundError MemoryError OSError PermissionError FileNotFoundError NotImplementedError".split()
)
_KERNELS = re.compile(r"\b(triton|cupy|numba|nvcc|ninja|cpp_extension|CUDA_HOME|xformers|flash_attn)\b", re.IGNORECASE)
"""What brings kernels of its own, of which a simulated accelerator has none."""


def is_beyond(shown: Shown) -> str:
    """Why a failure says nothing of the program: the simulation, or this machine, lacks what it needs. Empty if not."""
    if shown["ended"] == "limit" or shown.get("limits"):
        return str(next(iter(shown.get("limits", [])), shown["text"]))
    if shown["ended"] == "died":
        return str(shown["text"])
    if shown.get("of_places"):
        return ""
    found = _KERNELS.search(shown.get("trace", ""))
    if found is not None:
        return f"on an accelerator it takes {found[0]}, which is not simulated"
    if shown["exception"] in _OF_THIS_MACHINE:
        return f"{shown['exception']}: {shown['text'][:200]}"
    return ""


def stray(shown: Shown, script: str, device: str) -> tuple[Mapping[str, Any] | None, bool]:
    """The operand at fault, and whether the script itself has made it and put it where it is.

    It is one that is not on the `device` of the script, if possible one that the project has made.
    """
    story = shown.get("story") or {}
    operands = story.get("operands", [])
    wanted = device if ":" in device else f"{device}:0"
    elsewhere = [one for one in operands if one["device"] != wanted]
    inside = [one for one in elsewhere if not _is_given(one, script)]
    chosen = next(iter(inside or elsewhere or operands), None)
    return chosen, chosen is not None and _is_given(chosen, script)


def _is_given(operand: Mapping[str, Any], script: str) -> bool:
    """Whether it was made by the script, and was not moved by anybody else."""
    for site in (operand["created"], operand["moved"]):
        if site is not None and (site["filename"] != script or site["inside"] is not None):
            return False
    return operand["created"] is not None


def place_of(site: Mapping[str, Any] | None) -> Place | None:
    """The innermost line of a site."""
    if site is None:
        return None
    inner = site["inside"] or site
    return Place(inner["filename"], inner["line"], inner["function"])


def sort_of(
    one: Script, shown: Shown, script: str, again: Callable[[Call], Shown] | None, control: Shown
) -> tuple[str, str]:
    """What a failure is, and why. `again` runs the same script with other placements on the accelerator.

    There is none for a way to use something that works when it is simply called.
    """
    call = one.call
    if beyond := is_beyond(shown):
        return LIMIT, beyond
    if again is None:
        return BUG, "it runs when it is simply called on an accelerator"
    operand, given = stray(shown, script, one.device)
    for other in placements.others(call):
        result = again(other)
        if result["ended"] == "ran" and result["held"]:
            return CONTRACT, f"it works with {placements.told(call, other)}"
    origin = None if operand is None else place_of(operand["created"])
    if call.target.kind == METHOD and origin is not None and origin.function.endswith("__init__"):
        return ALONE, "the instance keeps the operand, and may move it in a method that is to be called first"
    works_on_cpu = again(placements.on_cpu(call))["ended"] == "ran"
    if not works_on_cpu:
        return BUG, "it works with no placement of its arguments"
    if given and all(one["device"] != "cpu" for one in (shown.get("story") or {}).get("operands", [])):
        return FOR_CPU, "it reads what it was given on the CPU, and works with everything there"
    returns_tensors = any(one["kind"] == "tensor" for one in control.get("result", []))
    if _TO_THE_HOST.search(shown["text"]) and call.target.kind != MODULE and not returns_tensors:
        return FOR_CPU, "it makes no tensors, and works with everything on the CPU"
    with_arrays = arrays.in_place_of_tensors(call) if _TO_THE_HOST.search(shown["text"]) else None
    if with_arrays is not None and again(with_arrays)["ended"] == "ran":
        return FOR_CPU, "it takes NumPy's arrays, and works with them"
    return BUG, "it works only with everything on the CPU"


def words(operand: Mapping[str, Any] | None) -> str:
    """An operand in words."""
    if operand is None:
        return ""
    shape = "x".join(map(str, operand["shape"])) or "0-dim"
    made = f", made by `{operand['how']}`" if operand["how"] else ""
    owner = f", {operand['owner']}" if operand["owner"] else ""
    return f"`{operand['name']}`: {operand['dtype']} tensor {shape} on {operand['device']}{made}{owner}"
