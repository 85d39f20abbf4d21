"""Programs that let CUDA see no GPU: ``os.environ["CUDA_VISIBLE_DEVICES"] = "-1"``."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.source.nodes import nodes_in

_NO_GPU = ("-1", "")


def hide_gpus(statements: Iterable[ast.stmt]) -> bool:
    """Whether one of some statements says that CUDA sees no GPU, and nothing in them says that it sees any."""
    told: list[ast.expr] = []
    surely = False
    for statement in statements:
        own = [statement] if isinstance(statement, ast.Assign) else []
        for each in (*own, *nodes_in(statement, ast.Assign)):
            if any(map(_is_of_visible_gpus, each.targets)):
                told.append(each.value)
                surely = surely or bool(own)
    return surely and all(isinstance(each, ast.Constant) and each.value in _NO_GPU for each in told)


def _is_of_visible_gpus(target: ast.expr) -> bool:
    key = target.slice if isinstance(target, ast.Subscript) else None
    return isinstance(key, ast.Constant) and key.value == torch_api.VISIBLE_DEVICES
