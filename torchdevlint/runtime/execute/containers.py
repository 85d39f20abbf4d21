"""Containers for parameters whose annotation, or docstring, names one, whether it says what it holds or not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchdevlint.runtime.execute.values import SIZE, Description, by_name, tensor, unique, value

LISTS = frozenset({"List", "list", "Sequence", "Iterable", "Tuple", "tuple", "Collection"})
DICTS = frozenset({"Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict"})
_SIZES = re.compile(r"(^|_)(shapes?|sizes?|dims?|channels|features|strides?|paddings?|kernels?|layers|ax[ei]s|units)$")
_TENSOR = tensor(SIZE, SIZE)
_OF_CLASS: dict[str, Description] = {
    "Tensor": _TENSOR,
    "ndarray": {"is": "numpy", "shape": [SIZE, SIZE]},
    "list": {"is": "list", "of": [_TENSOR] * 2},
    "tuple": {"is": "tuple", "of": [_TENSOR] * 2},
    "dict": {"is": "dict", "of": {"input": _TENSOR, "target": _TENSOR}},
    "int": value(SIZE),
    "float": value(0.5),
}
"""Values of the classes that functions ask for by `isinstance`."""


def bare(kind: str, name: str, keys: Sequence[str]) -> list[Description]:
    """What is tried for ``x: tuple``, ``x: list`` and ``x: dict``; `keys` are those that the body reads.

    What is called a size or a shape is of whole numbers, and so is what would be one if it were alone. Most other
    tuples that stand for themselves are pairs of numbers, such as a range; lists are of tensors.
    """
    if kind in DICTS:
        return [of_keys(keys, _TENSOR)]
    number = by_name(name)
    is_size = bool(_SIZES.search(name)) or type(number) is int
    whole = value(number if type(number) is int else SIZE)
    numbers = [_two("tuple", whole), {"is": "tuple", "of": [value(0.0), value(1.0)]}]
    if kind.lower() == "tuple":
        return [*(numbers if is_size else numbers[::-1]), _two("tuple", _TENSOR)]
    lists = [_two("list", _TENSOR), _two("list", whole), _two("list", value(0.5))]
    return [lists[1], lists[0], lists[2]] if is_size else lists


def of_keys(keys: Sequence[str], item: Description) -> Description:
    """A dict with the keys that a body reads, or two usual ones."""
    return {"is": "dict", "of": dict.fromkeys(keys or ("input", "target"), item)}


def asked_for(kinds: Sequence[str], candidates: list[Description]) -> list[Description]:
    """Candidates of the classes that a body asks for come right after the likeliest one."""
    known = [_OF_CLASS[kind] for kind in kinds if kind in _OF_CLASS]
    found = [next((each for each in candidates if each["is"] == one["is"] != "value"), one) for one in known]
    return unique([*candidates[:1], *found, *candidates[1:]])


def _two(kind: str, item: Description) -> Description:
    return {"is": kind, "of": [item, item]}
