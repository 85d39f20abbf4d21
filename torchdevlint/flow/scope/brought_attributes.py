"""Reads by NumPy of an attribute that another method of the class brings to the CPU where it reads it.

``self.scores.numpy()`` in one method and ``self.scores.cpu().numpy()`` in another one: it is one tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.brought_reads import brought_in, is_of_data, read_stem
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.place_tests import asks, asks_before, brings
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import is_name


def brought_by_methods(methods: Iterable[Scope], function: Scope, read: ast.Call) -> ast.Call | None:
    """What a method brings to the CPU of the attribute of `self` that a function of its class reads as it is.

    Labels may have stayed there, and no method may have brought the attribute itself there.
    """
    stem = read_stem(read)
    if not isinstance(stem, ast.Attribute) or not is_name(stem.value, "self") or is_of_data(stem.attr):
        return None
    key, path, found = ast.dump(stem), dotted_path(stem) or "", None
    for method in methods:
        if any(map(brings, values_by_path(method).get(path, ()))):
            return None
        if method is not function and found is None and not asks(method):
            found = next(iter(brought_in(method).get(key, ())), None)
    return None if found is None or asks_before(function, read) else found
