"""Parameters of a function: whether its text reads them, and which have defaults."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import positional_names
from torchdevlint.source.nodes import nodes_in, once_a_node

Function = ast.FunctionDef | ast.AsyncFunctionDef

_READS_ALL = frozenset(
    "locals vars eval exec globals save_hyperparameters store_attr currentframe _getframe getargvalues".split()
)
"""What may read a parameter without saying its name."""


def reads(function: Function, name: str) -> bool:
    """Whether the name of a parameter stands anywhere in the function; ``del device`` says that it is meant."""
    return any(each.id == name for each in nodes_in(function, ast.Name))


def reads_all(function: Function) -> bool:
    """Whether it hands all of its names on at once; ``model.eval()`` reads none."""
    names = {each.id for each in nodes_in(function, ast.Name)}
    names.update(each.attr for each in nodes_in(function, ast.Attribute) if each.attr != "eval")
    return not names.isdisjoint(_READS_ALL)


@once_a_node
def names_given_as_values(tree: ast.Module) -> frozenset[str]:
    """The names of a file that are read elsewhere than where they are called: what they name is called by others."""
    called = {id(call.func) for call in nodes_in(tree, ast.Call)}
    names = {each.id for each in nodes_in(tree, ast.Name) if id(each) not in called}
    names.update(each.attr for each in nodes_in(tree, ast.Attribute) if id(each) not in called)
    return frozenset(names)


def names_with_defaults(function: Function) -> frozenset[str]:
    spec = function.args
    names = [*positional_names(function)[len(positional_names(function)) - len(spec.defaults) :]]
    names += [each.arg for each, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is not None]
    return frozenset(names)
