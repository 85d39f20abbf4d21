"""Tensors that were tried where NumPy's arrays are meant: ``np.log10(hz / 700)`` takes both, on the CPU. No torch."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from torchdevlint.runtime.execute.called import MODULE, is_argument
from torchdevlint.runtime.execute.target import first_line, functions_of
from torchdevlint.runtime.hunt.script import Call
from torchdevlint.runtime.hunt.targets import Target


def in_place_of_tensors(call: Call) -> Call | None:
    """The call with an array for each tensor; None where there is none, or the function says that it takes tensors."""
    arrays = {
        key: {"is": "numpy", "tensor": one}
        for key, one in call.values.items()
        if is_argument(key) and one["is"] == "tensor" and not one.get("grad")
    }
    if not arrays or call.target.kind == MODULE or speaks_of_tensors(call.target):
        return None
    return replace(call, values={**call.values, **arrays})


def speaks_of_tensors(target: Target) -> bool:
    """Whether the annotations or the docstring of a function name tensors."""
    return target.line in _with_tensors(target.filename)


@lru_cache(8)
def _with_tensors(filename: str) -> frozenset[int]:
    """The first lines of such functions in a file."""
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(
        first_line(function)
        for _, function in functions_of(tree)
        if "tensor" in f"{ast.unparse(function.args)} {ast.get_docstring(function) or ''}".lower()
    )
