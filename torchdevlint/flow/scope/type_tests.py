"""Tests of types: ``type(x) == torch.Tensor``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import public_path


def typed_by(node: ast.expr) -> ast.expr | None:
    """`x` of ``type(x)``."""
    is_type = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    return node.args[0] if is_type and public_path(node.func) == "type" else None  # type: ignore[attr-defined]
