"""What is hunted first, where time is short: what makes tensors and does not say where. No torch."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from torchdevlint.runtime.execute.called import MODULE
from torchdevlint.runtime.execute.target import dotted, first_line, functions_of
from torchdevlint.runtime.hunt.targets import Target

_FACTORIES = frozenset(
    "arange as_tensor empty eye from_numpy full linspace logspace normal ones rand randint randn randperm tensor zeros"
    " bartlett_window blackman_window hamming_window hann_window kaiser_window tril_indices triu_indices".split()
)
_TORCH = ("torch", "th")


def in_turn(targets: Sequence[Target]) -> list[Target]:
    """What makes tensors without a device first, then what packages export, and of modules one target after the other.

    A hunt that ends early has then been where most bugs are, and everywhere a little.
    """
    turns = Counter[tuple[bool, bool, str]]()
    keyed = []
    for target in targets:
        kind = (not makes_tensors(target), not target.exported, target.module)
        keyed.append((kind[:2], turns[kind], target))
        turns[kind] += 1
    return [target for *_, target in sorted(keyed)]


def makes_tensors(target: Target) -> bool:
    """Whether a call in the target, or in the class of a Module, makes a tensor and names no device."""
    owner = target.qualname.partition(".")[0] if target.kind == MODULE else ""
    return any(name == owner if owner else line == target.line for name, line in _without_device(target.filename))


@lru_cache(8)
def _without_device(filename: str) -> frozenset[tuple[str, int]]:
    """The class and the line of each function in a file that makes a tensor and names no device for it."""
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found = set()
    for owner, function in functions_of(tree):
        if any(_is_without_device(node) for node in ast.walk(function)):
            found.add((owner.name if owner is not None else "", first_line(function)))
    return frozenset(found)


def _is_without_device(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    module, _, name = (dotted(node.func) or "").rpartition(".")
    return module in _TORCH and name in _FACTORIES and not any(each.arg in ("device", None) for each in node.keywords)
