"""Loads of what is parsed from the command line otherwise: a file of options, which are numbers and texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.file_names import Place, file_name, scopes_of
from torchdevlint.flow.checks.loads.saved_names import bound_to
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import own_call_sites
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import nodes_in, own_nodes_in

_PARSES = frozenset("parse_args parse_known_args".split())
_OF_TRAINER = "training_args.bin"
_MOST_HOPS = 4
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def stands_for_options(frame: Frame, load: ast.Call) -> bool:
    """Whether what is not loaded is an `argparse.Namespace`, in the same expression or under the same name.

    So is what is read from a file that the `Trainer` of transformers writes of its options.
    """
    if load.args and file_name(scopes_of(frame.machine.tree, load), load.args[0]) == _OF_TRAINER:
        return True
    tree, others = frame.machine.tree, frame.machine.others
    at = Place(scopes_of(tree, load), "" if others is None else others.home, None if others is None else others.project)
    instead: list[tuple[Place, ast.expr | None]] = [(at, each) for each in _instead(frame.function or tree, load)]
    if isinstance(frame.function, ast.FunctionDef):
        instead += _given(at.around((tree,)), tree, frame.function, load)
    return bool(instead) and all(_makes_options(*each) for each in instead)


def _given(
    at: Place, tree: ast.Module, function: ast.FunctionDef, load: ast.Call
) -> Iterator[tuple[Place, ast.expr | None]]:
    """What the calls in a file give the parameter in whose place a load is put: ``opt = torch.load(..)``."""
    paths = [path for path, values in values_by_path(function).items() if load in values]
    for path in paths if parameter_names(function).issuperset(paths) else ():
        for site in own_call_sites(tree, function):
            given, scopes = site.argument(function, path), scopes_of(tree, site.call)
            if isinstance(given, ast.Name):
                around, bound = bound_to(scopes, given.id)
                before = (each.value for each in bound if each.value is not site.call)
                yield from ((at.around(around), each) for each in before)
            else:
                yield at.around(scopes), given


def _instead(scope: ast.AST, load: ast.Call) -> Iterator[ast.expr]:
    for choice in nodes_in(scope, ast.IfExp):
        if load in (choice.body, choice.orelse):
            yield choice.orelse if choice.body is load else choice.body
    for values in values_by_path(scope).values():
        if load in values:
            yield from (each for each in values if each is not load)


def _makes_options(at: Place, node: ast.expr | None, hops: int = _MOST_HOPS) -> bool:
    """``parser.parse_args()``, ``argparse.Namespace()``, a name for one, or a function that returns one."""
    if isinstance(node, ast.Name):
        scopes, values = bound_to(at.scopes, node.id)
        return bool(values) and all(
            each.place is None and hops > 0 and _makes_options(at.around(scopes), each.value, hops - 1)
            for each in values
        )
    if not isinstance(node, ast.Call):
        return False
    if public_path(node.func) == "argparse.Namespace":
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr in _PARSES:
        return is_parser(at, node.func.value)
    path = dotted_path(node.func)
    return path is not None and hops > 0 and _returns_options(at, path, hops - 1)


def is_parser(at: Place, node: ast.expr) -> bool:
    """``argparse.ArgumentParser()``, or a name for it."""
    values = [each.value for each in bound_to(at.scopes, node.id)[1]] if isinstance(node, ast.Name) else [node]
    made = [each for each in values if isinstance(each, ast.Call)]
    return 0 < len(made) == len(values) and all(last_name(each.func).endswith("ArgumentParser") for each in made)


def _returns_options(at: Place, path: str, hops: int) -> bool:
    tree = at.scopes[-1]
    functions = (each for each in getattr(tree, "body", ()) if isinstance(each, _FUNCTIONS))
    function = next((each for each in functions if each.name == path), None)
    if function is None:
        found = at.elsewhere(path) if hops > 0 else None
        return found is not None and _returns_options(found[0], found[1], hops - 1)
    values = [each.value for each in own_nodes_in(function, ast.Return)]
    inside = at.around((function, tree))
    return bool(values) and all(_makes_options(inside, each, hops) for each in values)
