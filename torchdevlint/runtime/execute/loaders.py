"""What stands for a `DataLoader`: batches of what the loops over it take them for."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from torchdevlint.runtime.execute.target import dotted
from torchdevlint.runtime.execute.usage import Usage
from torchdevlint.runtime.execute.values import SIZE, Description, tensor, unique

LABELS = re.compile(
    r"(^|_)(labels?|targets?|classes|y_true|indices|index|idx|ids|tokens?|words|positions?|edge_index)$"
)


def loaders(usage: Usage, around: Mapping[str, Usage]) -> list[Description]:
    """Loaders for a name, the likeliest first."""
    found = []
    for target in usage.elements:
        if isinstance(target, ast.Tuple):
            names = [dotted(each) or "" for each in target.elts]
            found.append(loader(*(element(name) for name in names)))
        elif (name := dotted(target)) and (keys := around.get(name, Usage()).keys):
            found.append(loader({"is": "dict", "of": {key: element(key) for key in dict.fromkeys(keys)}}))
    return unique([*found, loader(), loader(tensor(SIZE, SIZE)), loader(*[tensor(SIZE, SIZE)] * 3)])


def element(name: str) -> Description:
    """One value of a batch, by what it is called."""
    return tensor(SIZE, dtype="int64") if LABELS.search(name) or name == "y" else tensor(SIZE, SIZE)


def loader(*batch: Description) -> Description:
    """One whose batches are these values; inputs and labels if there are none."""
    return {"is": "loader", "of": list(batch) or [tensor(SIZE, SIZE), tensor(SIZE, dtype="int64")]}
