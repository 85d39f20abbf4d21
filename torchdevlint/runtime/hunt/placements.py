"""Where the arguments of a call are put: all on the accelerator, some of them on the CPU, or all on the CPU.

Where a call fails with everything on the accelerator and works with one of its tensors on the CPU and another on the
accelerator, that is how it wants to be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from torchdevlint.runtime.execute.called import INIT, RECEIVER
from torchdevlint.runtime.execute.values import DEFAULT, Description, tensor, value
from torchdevlint.runtime.hunt.script import Call
from torchdevlint.runtime.hunt.written import is_constructed_with, leaves

MOST = 16
_SWITCH = re.compile(r"(^|_)(cuda|gpus?)(_|$)")
_DEVICE = re.compile(r"(^|_)(device|dev)$")


def others(call: Call) -> Iterator[Call]:
    """The other placements of a call, those with one argument that is moved first; all on the CPU is not among them.

    What a Module is constructed with is on the CPU to begin with, and may have to be on the accelerator.
    """
    for key, given in _switched(call):
        yield replace(call, values={**call.values, key: given})
    flips = [
        f"!{path}" if is_constructed_with(path) and call.module_is_class else path
        for path, one in leaves(call.values)
        if one["is"] == "tensor"
    ]
    ours = call.target.module.partition(".")[0]
    if (placed := {key: _with_placed_numbers(one, ours) for key, one in call.values.items()}) != call.values:
        yield replace(call, values=placed)
    number = 0
    for size in range(1, len(flips) + 1):
        for chosen in combinations(flips, size):
            if number == MOST:
                return
            number += 1
            yield replace(call, on_cpu=call.on_cpu | frozenset(chosen))


def _with_placed_numbers(one: Description, ours: str, inside: bool = False) -> Description:
    """Objects of other libraries that are made from numbers, as ``Normal(0.0, 1.0)``: from tensors there instead."""
    kind = one["is"]
    if inside and kind == "value" and type(one["value"]) is float:
        return {**tensor(), "data": [one["value"]]}
    if kind == "instance" and not one.get("module"):
        other = one["of"].partition(":")[0].partition(".")[0] != ours
        listed = [_with_placed_numbers(each, ours, other) for each in one.get("args", ())]
        named = {name: _with_placed_numbers(each, ours, other) for name, each in one["with"].items()}
        return {**one, "with": named, **({"args": listed} if "args" in one else {})}
    if kind in ("list", "tuple"):
        return {**one, "of": [_with_placed_numbers(each, ours, inside) for each in one["of"]]}
    return one


def _switched(call: Call) -> Iterator[tuple[str, Description]]:
    """Parameters that say where it works, each with what says that it is to be on an accelerator."""
    for key, one in call.values.items():
        name = key.removeprefix(INIT).lower()
        if _SWITCH.search(name) and one in (DEFAULT, value(False)):
            yield key, value(True)
        if _DEVICE.search(name) and one["is"] != "device":
            yield key, {"is": "device"}


def on_cpu(call: Call) -> Call:
    """Everything on the CPU."""
    every = frozenset(path for path, _ in leaves(call.values))
    return replace(call, on_cpu=every, module_on_cpu=True)


def told(call: Call, other: Call) -> str:
    """In words what `other` puts elsewhere."""
    switched = [key for key, one in other.values.items() if one != call.values[key]]
    if switched and call.values[switched[0]]["is"] in ("instance", "list", "tuple"):
        return f"`{switched[0].removeprefix(INIT)}` made from tensors on the accelerator in place of numbers"
    if switched:
        return f"`{switched[0].removeprefix(INIT)}`, which says where it works"
    changed = sorted(other.on_cpu - call.on_cpu)
    here = [path for path in changed if not path.startswith("!")]
    there = [path[1:].removeprefix(INIT).removeprefix(f"{RECEIVER}.") for path in changed if path.startswith("!")]
    parts = []
    if here:
        parts.append(f"{', '.join(f'`{path}`' for path in here)} on the CPU")
    if there:
        parts.append(f"{', '.join(f'`{path}`' for path in there)} on the accelerator when it is constructed")
    return " and ".join(parts)
