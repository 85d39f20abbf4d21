"""What is inside of descriptions of values, and descriptions with one part changed. No torch."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchdevlint.runtime.execute.called import Description

Values = Mapping[str, Description]
Path = tuple[Any, ...]
"""The key of a slot, and the way to what is changed inside of its description."""
Change = tuple[Path, Description]
SMALLEST = 2


def changed(values: Values, path: Path, description: Description) -> dict[str, Description]:
    """`values` with one description in place of another."""
    key, *inside = path
    if not inside:
        return {**values, key: description}
    outer = copy.deepcopy(values[key])
    holder: Any = outer
    for step in inside[:-1]:
        holder = holder[step]
    holder[inside[-1]] = description
    return {**values, key: outer}


def with_siblings(values: Values, changes: Iterable[Change]) -> Iterator[Change]:
    """Changes, each of an item of a list before it for all of its items where they are alike."""
    for path, description in changes:
        holder = at(values, path[:-2])
        items = holder.get("of")
        if len(path) > 2 and isinstance(items, list) and len(items) > 1 and all(each == items[0] for each in items):
            yield path[:-2], {**holder, "of": [description] * len(items)}
        yield path, description


def at(values: Values, path: Path) -> Description:
    """The description that a path leads to; an empty one for a path that leads to none."""
    found: Any = values
    for step in path:
        found = found[step]
    return found if path and isinstance(found, dict) else {}


def other_sizes(values: Values) -> Iterator[Change]:
    """Tensors, all of one list at once, whose last or first dimension is smaller."""
    for path, description in leaves_of(values):
        of = description.get("of")
        if description["is"] == "tensor" and description["shape"]:
            yield from ((path, each) for each in _smaller(description))
        elif isinstance(of, list) and of and all(one["is"] == "tensor" and one["shape"] for one in of):
            for each in zip(*map(_smaller, of), strict=True):
                yield path, {**description, "of": list(each)}


def smallest(values: Values) -> dict[str, Description]:
    """All tensors with two of everything, for a program that loops over their elements in Python."""
    found = dict(values)
    for path, description in tensors_of(values):
        if any(size > SMALLEST for size in description["shape"]):
            plain = {key: one for key, one in description.items() if key != "data"}
            found = changed(found, path, {**plain, "shape": [min(size, SMALLEST) for size in description["shape"]]})
    return found


def _smaller(description: Description) -> list[Description]:
    """Without what was seen of its numbers."""
    shape = description["shape"]
    sizes = ([*shape[:-1], max(shape[-1] // 2, 1)], [1, *shape[1:]])
    plain = {key: one for key, one in description.items() if key != "data"}
    return [{**plain, "shape": each} for each in sizes]


def leaves_of(values: Values) -> Iterator[tuple[Path, Description]]:
    for key, description in values.items():
        yield from _inside((key,), description)


def _inside(path: Path, description: Description) -> Iterator[tuple[Path, Description]]:
    yield path, description
    of = description.get("of")
    if isinstance(of, (dict, list)):
        for step, each in of.items() if isinstance(of, dict) else enumerate(of):
            yield from _inside((*path, "of", step), each)
    for step, each in description.get("with", {}).items():
        yield from _inside((*path, "with", step), each)


def tensors_of(values: Values, integer: bool | None = None) -> Iterator[tuple[Path, Description]]:
    for path, description in leaves_of(values):
        if description["is"] == "tensor" and integer in (None, not description["dtype"].startswith("float")):
            yield path, description
