"""Programs that are traced, scripted or exported: paths of their own, and the functions that only those come to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.knowledge.torch_api import OTHER_RUNTIMES
from torchdevlint.flow.scope.names import last_name
from torchdevlint.source.nodes import inside, is_below, nodes_in, once_a_node

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@once_a_node
def functions_when_traced(tree: ast.Module) -> frozenset[ast.AST]:
    """The private functions that this file calls only where such a test holds, or in others of them."""
    if not any(last_name(call.func) in OTHER_RUNTIMES for call in nodes_in(tree, ast.Call)):
        return frozenset()
    defined = [each for each in nodes_in(tree, ast.FunctionDef) if each.name.startswith("_") and each.name[-2:] != "__"]
    places = _said(tree, {each.name for each in defined})
    said = {each.name: [place for place in places[each.name] if not is_below(place, each)] for each in defined}
    found = {each for each in defined if said[each.name]}
    traced = {id(each) for part in _traced_parts(tree) for each in inside(part)} if found else set()
    while True:
        reached = traced | {id(place) for each in found for place in inside(each)}
        kept = {each for each in found if all(id(place) in reached for place in said[each.name])}
        if kept == found:
            return frozenset(kept)
        found = kept


def _said(tree: ast.Module, names: Iterable[str]) -> dict[str, list[ast.expr]]:
    """Where each of the `names` is said, found in one walk for all of them."""
    found: dict[str, list[ast.expr]] = {name: [] for name in names}
    for name in nodes_in(tree, ast.Name):
        if name.id in found:
            found[name.id].append(name)
    for attribute in nodes_in(tree, ast.Attribute):
        if attribute.attr in found:
            found[attribute.attr].append(attribute)
    return found


def _traced_parts(tree: ast.Module) -> Iterator[ast.AST]:
    """What is run only where a test for such a program holds."""
    tests: list[ast.If | ast.IfExp] = [*nodes_in(tree, ast.If), *nodes_in(tree, ast.IfExp)]
    for test in tests:
        body: list[ast.AST] = [*test.body] if isinstance(test, ast.If) else [test.body]
        orelse: list[ast.AST] = [*test.orelse] if isinstance(test, ast.If) else [test.orelse]
        if _holds_when_traced(test.test):
            yield from body
        elif isinstance(test.test, ast.UnaryOp) and _holds_when_traced(test.test.operand):
            yield from orelse
    for function in nodes_in(tree, ast.FunctionDef):
        for place, each in enumerate(function.body):
            if isinstance(each, ast.If) and isinstance(each.body[-1], _ENDS) and isinstance(each.test, ast.UnaryOp):
                yield from function.body[place + 1 :] if _holds_when_traced(each.test.operand) else ()


def _holds_when_traced(test: ast.expr) -> bool:
    """Whether a test, or one of those that it takes together, asks for such a program."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_holds_when_traced, test.values))
    return isinstance(test, ast.Call) and last_name(test.func) in OTHER_RUNTIMES
