"""The evidence for the parameters of a function, and for those that a constructor keeps in attributes. No torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.runtime.execute.target import FunctionNode, dotted
from torchdevlint.runtime.execute.usage import Usage, usages


def evidence_of(node: FunctionNode | None, owner: ast.ClassDef | None) -> dict[str, Usage]:
    """What a body says of its names. Where it is the constructor of `owner`, what other methods do with an attribute
    that is a parameter, ``self.env = env``, is said of the parameter.
    """
    if node is None:
        return {}
    found = usages(node.body)
    kept = dict(_kept(node)) if owner is not None else {}
    if not kept:
        return found
    assert owner is not None
    methods = [each for each in owner.body if isinstance(each, FunctionNode) and each is not node]
    for path, usage in usages(methods).items():
        own, _, rest = path.partition(".")
        attribute, dot, more = rest.partition(".")
        if own == "self" and attribute in kept:
            name = f"{kept[attribute]}{dot}{more}"
            found[name] = found[name].also(usage) if name in found else usage
    return found


def _kept(node: FunctionNode) -> Iterator[tuple[str, str]]:
    """Attributes that are a parameter as it was given, each with the parameter."""
    arguments = node.args
    names = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id in names:
            for target in each.targets:
                own, _, attribute = (dotted(target) or "").partition(".")
                if own == "self" and attribute.isidentifier():
                    yield attribute, each.value.id
