"""Which methods of a class another one of them runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.decorators import is_property
from torchdevlint.source.nodes import nodes_in


def reached_from(owner: ClassInfo, method: ast.AST) -> Iterator[ast.AST]:
    """The methods of `owner` that `method` calls on ``self``, its properties that it reads, and what these reach."""
    todo, seen = [method], {method}
    while todo:
        method = todo.pop()
        called = {id(call.func) for call in nodes_in(method, ast.Call)}
        for node in nodes_in(method, ast.Attribute):
            found = owner.all_methods.get(node.attr) if dotted_path(node.value) == "self" else None
            if found is None or found[1] in seen or not (id(node) in called or is_property(found[1])):
                continue
            seen.add(found[1])
            todo.append(found[1])
            yield found[1]
