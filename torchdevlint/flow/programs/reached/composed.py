"""Classes that a project only builds as transforms of its data: they run in loaders, where tensors are on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls
from torchdevlint.flow.scope.input_pipeline import GIVEN_AS_TRANSFORM
from torchdevlint.flow.scope.names import last_name
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_FILLING = frozenset({"append", "insert", "extend"})


def is_transform_alone(own: ModuleFile, project: Project, line: int) -> bool:
    """Whether the class that holds a line is built somewhere, and each time to be composed, or as ``transform=``."""
    owner = first_holding(nodes_in(own.tree, ast.ClassDef), line)
    if owner is None or owner not in own.tree.body:
        return False
    built = ProjectCalls(own, project).of(own.path, owner.name)
    return bool(built) and all(_is_composed(file.tree, call) for file, call in built or ())


def _is_composed(tree: ast.Module, call: ast.Call) -> bool:
    """Whether what a call gives is composed at once, or by the name of a list that nothing else reads."""
    if id(call) in _given(tree):
        return True
    scope = first_holding(nodes_in(tree, ast.FunctionDef), call.lineno) or tree
    names = set(_keepers(scope, call))
    return len(names) == 1 and _is_only_given(tree, scope, names.pop())


def _is_only_given(tree: ast.Module, scope: ast.AST, name: str) -> bool:
    reads = [each for each in nodes_in(scope, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)]
    filled = {id(each.func.value) for each in nodes_in(scope, ast.Call) if _fills(each)}  # type: ignore[attr-defined]
    others = [each for each in reads if id(each) not in filled]
    return bool(others) and all(id(each) in _given(tree) for each in others)


def _keepers(scope: ast.AST, call: ast.Call) -> Iterator[str]:
    """The names that a call is bound to, or put in the list of."""
    for each in assignments_in(scope):
        if any(part is call for part in _parts(each.value)):
            yield from (target.id if isinstance(target, ast.Name) else "" for target in each.targets)
    for other in nodes_in(scope, ast.Call):
        if _fills(other) and any(part is call for each in other.args for part in _parts(each)):
            keeper = other.func.value  # type: ignore[attr-defined]
            yield keeper.id if isinstance(keeper, ast.Name) else ""


def _fills(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _FILLING


@once_a_node
def _given(tree: ast.Module) -> frozenset[int]:
    """The expressions that are composed, or given to data sets as their transforms."""
    found: list[ast.expr] = []
    for call in nodes_in(tree, ast.Call):
        found += call.args if last_name(call.func) == "Compose" else []
        found += [each.value for each in call.keywords if each.arg in GIVEN_AS_TRANSFORM]
    return frozenset(id(part) for each in found for part in _parts(each))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and what it gives or lists."""
    yield node
    if isinstance(node, ast.IfExp):
        for each in (node.body, node.orelse):
            yield from _parts(each)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for each in node.elts:
            yield from _parts(each)
