"""Values as expressions of a script, and what has to be imported for them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

from torchdevlint.runtime.execute.called import INIT, RECEIVER, Description, Values
from torchdevlint.runtime.execute.values import PUBLIC, SIZE, plausible

DOTTED = frozenset(PUBLIC)
"""What is written with its module, which ``import torch`` brings."""


def is_constructed_with(path: str) -> bool:
    """Whether a path leads to what the instance is constructed with."""
    return path.startswith((INIT, f"{RECEIVER}.", f"{RECEIVER}["))


def leaves(values: Values) -> Iterator[tuple[str, Description]]:
    """What can be placed: tensors and Modules, by their paths; those in a loader are on the CPU as they should be."""
    for key, description in values.items():
        if key == RECEIVER:
            yield from _inside_of_instance(key, description)
        else:
            yield from _leaves(key, description)


def _leaves(path: str, description: Description) -> Iterator[tuple[str, Description]]:
    kind = description["is"]
    if kind in ("tensor", "module"):
        yield path, description
    elif kind in ("instance", "call"):
        if description.get("module"):
            yield path, {"is": "module"}
        yield from _inside_of_instance(path, description)
    else:
        for inside, each in _parts(path, description):
            yield from _leaves(inside, each)


def _inside_of_instance(path: str, description: Description) -> Iterator[tuple[str, Description]]:
    for inside, each in _parts(path, description):
        yield from _leaves(inside, each)


def _parts(path: str, description: Description) -> Iterator[tuple[str, Description]]:
    """What a description holds, each with its path."""
    kind = description["is"]
    if kind in ("list", "tuple", "loader"):
        for number, each in enumerate(description["of"]):
            yield f"{path}[{number}]", each
    elif kind == "dict":
        for name, each in description["of"].items():
            yield f"{path}[{name}]", each
    elif kind in ("instance", "call"):
        for number, each in enumerate(description.get("args", ())):
            yield f"{path}[{number}]", each
        for name, each in description["with"].items():
            yield f"{path}.{name}", each


def imported(values: Values) -> set[tuple[str, str]]:
    """The names that the values need, as module and name."""
    found: set[tuple[str, str]] = set()
    for description in values.values():
        if description["is"] in ("instance", "name"):
            module, _, name = description["of"].partition(":")
            if module not in DOTTED:
                found.add((module, name.partition(".")[0]))
        if description["is"] == "namespace":
            found.add(("types", "SimpleNamespace"))
        found |= imported(dict(_parts("", description)))
    return found


class Writer:
    """Writes the values of one call, of which some are on the CPU, by their paths.

    `constructed` says that the instance is a Module: what it is constructed with is on the CPU, and moved with it.
    """

    def __init__(self, on_cpu: Collection[str], constructed: bool) -> None:
        self.on_cpu, self.constructed = on_cpu, constructed

    def value(self, description: Description, path: str, at_first: bool = False) -> str:
        """A value as an expression."""
        kind = description["is"]
        at_first = at_first or (is_constructed_with(path) and self.constructed)
        if kind == "tensor":
            here = path in self.on_cpu or (at_first and f"!{path}" not in self.on_cpu)
            return _tensor(description, here or description.get("on") == "cpu")
        if kind == "module":
            make = str(description["make"]).replace("nn.", "torch.nn.")
            return make if at_first or path in self.on_cpu else f"{make}.to(device)"
        if kind == "instance":
            made = self.instance(description, path, at_first or bool(description.get("module")))
            moved = description.get("module") and not at_first and path not in self.on_cpu
            return f"{made}.to(device)" if moved else made
        if kind in ("list", "loader", "tuple", "dict"):
            return self._container(description, path, at_first)
        return str(_OTHERS[kind](description))

    def instance(self, description: Description, path: str, at_first: bool = False) -> str:
        """The call that constructs an instance."""
        return f"{_name(description['of'])}({self.given(description, path, at_first)})"

    def given(self, description: Description, path: str, at_first: bool = False) -> str:
        """The arguments of a call within parentheses."""
        named = (
            f"{key}={self.value(each, f'{path}.{key}', at_first)}"
            for key, each in description["with"].items()
            if each["is"] != "default"
        )
        places = enumerate(description.get("args", ()))
        return ", ".join([*(self.value(each, f"{path}[{number}]", at_first) for number, each in places), *named])

    def _container(self, description: Description, path: str, at_first: bool) -> str:
        kind = description["is"]
        inside = [self.value(each, place, at_first) for place, each in _parts(path, description)]
        if kind == "dict":
            return (
                "{" + ", ".join(f"{key!r}: {each}" for key, each in zip(description["of"], inside, strict=True)) + "}"
            )
        if kind == "list":
            return f"[{', '.join(inside)}]"
        if kind == "tuple":
            return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
        batch = inside[0] if len(inside) == 1 else f"({', '.join(inside)})"
        return f"[{batch}] * 2"


def _name(path: str) -> str:
    module, _, qualname = path.partition(":")
    return f"{module}.{qualname}" if module in DOTTED else qualname


def _tensor(description: Description, here: bool) -> str:
    placed = _made(description) if here else f"{_made(description)}.to(device)"
    return f"{placed}.requires_grad_()" if description.get("grad") else placed


def _made(description: Description) -> str:
    """A tensor of the CPU."""
    shape, dtype, fill = description["shape"], description["dtype"], description.get("fill")
    told = "" if dtype in ("float32", "int64") else f", dtype=torch.{dtype}"
    size = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    if len(data := description.get("data", ())) == math.prod(shape) and data:
        kind = "" if dtype in ("float32", "bool") else f", dtype=torch.{dtype}"
        return f"torch.tensor({_nested(data, shape)}{kind})"
    if fill == "ones":
        return f"torch.ones({size}{f', dtype=torch.{dtype}' if dtype != 'float32' else ''})"
    if fill == "lengths":
        return f"torch.full({size}, {SIZE}{told})"
    if fill == "same":
        return f"torch.full({size}, {plain(description['low'])}, dtype=torch.{dtype})"
    if dtype == "bool":
        return f"(torch.rand({size}) > 0.5)"
    low, high = description.get("low"), description.get("high")
    if dtype.startswith(("float", "bfloat", "complex")):
        if fill == "normal":
            return f"torch.randn({size}{told})"
        if low is None or high is None:
            return f"(torch.rand({size}{told}) + 0.1)"
        if low >= 0 and high <= 1:
            return f"torch.rand({size}{told})"
        return f"(torch.rand({size}{told}) * {plain(high - low)} + {plain(low)})"
    return f"torch.randint({0 if low is None else low}, {2 if high is None else high + 1}, {size}{told})"


def _nested(data: list[Any], shape: list[int]) -> str:
    """Numbers in lists of lists."""
    if not shape:
        return plain(data[0])
    step = len(data) // shape[0]
    return f"[{', '.join(_nested(data[at : at + step], shape[1:]) for at in range(0, len(data), step))}]"


def plain(value: Any) -> str:
    """A value without parts as an expression."""
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _numpy(description: Description) -> str:
    if "tensor" in description:
        return f"{_made(description['tensor'])}.numpy()"
    return f"torch.rand({tuple(description['shape'])!r}).numpy()"


def _namespace(description: Description) -> str:
    """A configuration with the attributes that were asked for."""
    asked = (f"{name}={plain(plausible(name))}" for name in description.get("asked", ()))
    return f"SimpleNamespace({', '.join(asked)})"


_OTHERS: dict[str, Any] = {
    "namespace": _namespace,
    "value": lambda description: plain(description["value"]),
    "name": lambda description: _name(description["of"]),
    "device": lambda _description: "torch.device(device)",
    "function": lambda _description: "same",
    "optimizer": lambda _description: "torch.optim.SGD([torch.nn.Parameter(torch.zeros(1, device=device))], lr=0.1)",
    "generator": lambda _description: "torch.Generator(device=device).manual_seed(0)",
    "numpy": _numpy,
}


_WITH_PARTS = frozenset("tensor module default list tuple loader dict instance call".split())


def can_be_written(values: Values) -> bool:
    """Whether all values have an expression, and no name stands for two things."""
    names = [name for _, name in imported(values)]
    return len(names) == len(set(names)) and all(_can_be_written(one) for one in values.values())


def _can_be_written(description: Description) -> bool:
    kind = description["is"]
    if kind == "value":
        return type(description["value"]) in (bool, int, float, str, type(None), list)
    known = kind in _OTHERS or kind in _WITH_PARTS
    return known and all(_can_be_written(each) for _, each in _parts("", description))
