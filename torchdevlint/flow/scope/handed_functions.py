"""Functions that are handed over by name, together with a device: whoever gets both runs them on tensors there."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import nodes_in, once_a_node

_ON_THE_HOST = regex(r"loader|dataset|thread|process|spawn|pool|map|partial|submit|start|register|print", re.IGNORECASE)
"""What runs a function in a worker, on samples, or keeps it with some of its arguments."""
_FOR_SAMPLES = regex(r"collate|transform|worker|init|map_location|preprocess|target|filter|key", re.IGNORECASE)
"""Parameters for functions that get what a data set has."""


def is_handed_with_device(tree: ast.Module, name: str) -> bool:
    """``super().__init__(compute, device=device)``, ``Metric(compute, device)``: anywhere in a file."""
    return name in _handed(tree)


@once_a_node
def _handed(tree: ast.Module) -> frozenset[str]:
    found: set[str] = set()
    for call in nodes_in(tree, ast.Call):
        if _gets_device(call) and not _ON_THE_HOST.search(last_name(call.func)):
            found.update(each.id for each in call.args if isinstance(each, ast.Name))
            named = (each for each in call.keywords if each.arg is not None and not _FOR_SAMPLES.search(each.arg))
            found.update(each.value.id for each in named if isinstance(each.value, ast.Name))
    return frozenset(found)


def _gets_device(call: ast.Call) -> bool:
    if any(each.arg is not None and mentions_device(each.arg) for each in call.keywords):
        return True
    return any(mentions_device(dotted_path(each) or "") for each in call.args)
