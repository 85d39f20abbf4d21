"""What a loop goes through, where a name stands for it: ``bar = tqdm(enumerate(loader))``, ``for i, x in bar``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import last_name
from torchdevlint.source.nodes import is_inside

GO_THROUGH = frozenset("enumerate tqdm track islice iter cycle".split())
"""What gives the rounds of its first argument, perhaps with numbers, or not all of them."""


def gone_through(scope: ast.AST, node: ast.expr) -> ast.expr:
    """The call above that the name of what is looped over is bound to, if to this alone; else the very node.

    What the call goes through itself (``loader = tqdm(loader)``) is what had the name before.
    """
    values = values_by_path(scope).get(node.id, ()) if isinstance(node, ast.Name) else ()
    made = values[0] if len(values) == 1 else None
    if not isinstance(made, ast.Call) or last_name(made.func) not in GO_THROUGH | {"zip"}:
        return node
    return made if made.lineno < node.lineno and not is_inside(node, made) else node
