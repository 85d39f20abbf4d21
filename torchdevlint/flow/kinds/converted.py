"""Conversions of what may come as one of several types: ``torch.from_numpy(x) if isinstance(x, np.ndarray) else x``."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.state.values import Conditions


def asks_type(node: ast.AST, conditions: Conditions) -> bool:
    """Whether a call is made of a name whose type is asked for on the way to it.

    The caller chooses the type, and so knows where the other arguments are that it goes with. A list says nothing of
    that: numbers are written so beside tensors of any device.
    """
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(given, ast.Name) or not conditions:
        return False
    asked = re.compile(rf"(?:isinstance|type|hasattr|\bis_\w+)\({given.id}\b")
    listed = re.compile(rf"isinstance\({given.id}, \(?(?:list|tuple)(?:, (?:list|tuple))?\)")
    if any(outcome and listed.search(key) for key, outcome in conditions):
        return False
    return any(asked.search(key) for key, _ in conditions)
