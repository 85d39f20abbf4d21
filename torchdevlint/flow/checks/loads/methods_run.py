"""Which methods of a class another one of them runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.decorators import is_property
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import nodes_in


def reached_from(owner: ClassInfo, method: ast.AST) -> Iterator[ast.AST]:
    """The methods of `owner` that `method` calls on ``self`` or ``super()``, properties that it reads, and so on."""
    todo, seen = [method], {method}
    while todo:
        method = todo.pop()
        called = {id(call.func) for call in nodes_in(method, ast.Call)}
        for node in nodes_in(method, ast.Attribute):
            found = _method_of(owner, method, node)
            if found is None or found in seen or not (id(node) in called or is_property(found)):
                continue
            seen.add(found)
            todo.append(found)
            yield found


def _method_of(owner: ClassInfo, method: ast.AST, node: ast.Attribute) -> AnyFunction | None:
    """What ``self.name``, or ``super().name`` in `method`, is."""
    if dotted_path(node.value) == "self":
        return owner.all_methods.get(node.attr, (None, None))[1]
    callee = node.value.func if isinstance(node.value, ast.Call) else None
    if not isinstance(callee, ast.Name) or callee.id != "super":
        return None
    places = [place for place, each in enumerate(owner.mro) if method in each.methods.values()]
    above = owner.mro[places[0] + 1 :] if places else ()
    return next((each.methods[node.attr] for each in above if node.attr in each.methods), None)
