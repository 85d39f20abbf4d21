"""Arguments that a function makes on the CPU where they are not given, and that all who call it give together.

``if first is None: first = torch.zeros(3)``, and the same of ``second``: they meet as they were given or made.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.call_sites import CallSite, argument_of, own_call_sites
from torchdevlint.flow.scope.names import given_by_default, has_stars, parameter_names
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import assignment_of, inside, nodes_in, once_a_node, own_nodes_in


def is_given_together(frame: Frame, made: ast.AST, argument: str) -> bool:
    """Whether what is made for one argument is met by another one which is made alike, and each call gives both."""
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or argument not in parameter_names(function):
        return False
    tree = frame.machine.tree
    for filling in functions_in(tree):
        filled = _filled_in(filling)
        own = next((name for name, value in filled.items() if any(part is made for part in inside(value))), None)
        if own is None or len(filled) < 2:
            continue
        for first, second in _names_for(function, filling, own, filled):
            sites = own_call_sites(tree, function) if second == argument else []
            if sites and all(_gives_alike(each, function, first, second) for each in sites):
                return True
    return False


@once_a_node
def _filled_in(function: FunctionNode) -> dict[str, ast.expr]:
    """The parameters that a function makes itself where they are None, each with what it makes."""
    optional = {name for name, value in given_by_default(function.args) if _is_none(value)}
    found: dict[str, ast.expr] = {}
    for asked in own_nodes_in(function, ast.If) if len(optional) > 1 else ():
        test, bound = asked.test, [assignment_of(each) for each in asked.body]
        is_asked = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and _is_none(test.comparators[0])
        name = test.left.id if is_asked and isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) else ""
        for each in bound if name in optional and not asked.orelse else ():
            if each is not None and isinstance(each.targets[0], ast.Name) and each.targets[0].id == name:
                found[name] = each.value
    return found


def _names_for(
    function: FunctionNode, filling: FunctionNode, own: str, filled: dict[str, ast.expr]
) -> list[tuple[str, str]]:
    """What the pairs of an argument with the others that are made alike are called in the function that calls."""
    others = [each for each in filled if each != own]
    if filling is function:
        return [(own, each) for each in others]
    calls = [each for each in _calls_in(function, filling.name) if not has_stars(each)]
    given = [(argument_of(call, filling, own, is_bound=False), call) for call in calls]
    pairs = [(first, argument_of(call, filling, each, is_bound=False)) for first, call in given for each in others]
    return [(one.id, two.id) for one, two in pairs if isinstance(one, ast.Name) and isinstance(two, ast.Name)]


def _calls_in(function: FunctionNode, name: str) -> list[ast.Call]:
    return [each for each in nodes_in(function, ast.Call) if isinstance(each.func, ast.Name) and each.func.id == name]


def _gives_alike(site: CallSite, function: FunctionNode, first: str, second: str) -> bool:
    """Whether a call gives both arguments, or leaves both out."""
    if has_stars(site.call):
        return False
    given = [argument_of(site.call, function, each, is_bound=False) for each in (first, second)]
    return len({each is None or _is_none(each) for each in given}) == 1


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
