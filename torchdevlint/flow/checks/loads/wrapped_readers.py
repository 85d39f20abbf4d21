"""Whether whatever a project fills from one of its files is wrapped before, so that the keys have to be as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.file_names import Place, file_names, scopes_of
from torchdevlint.flow.checks.loads.saved_names import before
from torchdevlint.flow.checks.loads.telling_names import may_be_equal
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.names import dotted_path, last_name, names_one_of, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import assignment_of, nodes_in


def is_read_by_wrapped(own: ModuleFile, save: ast.Call, readers: list[ModuleFile], project: Project) -> bool:
    """Whether each load of a file that has the name which a call saves under fills a model that is wrapped right there.

    One of an unknown name may read that file.
    """
    if len(save.args) < 2:
        return False
    written = file_names(Place(scopes_of(own.tree, save), own.path, project), save.args[1], ends=True)
    reading = [each for reader in (own, *readers) for each in _reading(reader, written, project)]
    return None not in written and bool(reading) and all(_fills_wrapped(*each) for each in reading)


def _reading(
    reader: ModuleFile, written: tuple[str | None, ...], project: Project
) -> Iterator[tuple[ast.AST, ast.Call]]:
    """The loads of a file that may read one of those written, each with the scope that it is in."""
    for load in nodes_in(reader.tree, ast.Call):
        if public_path(load.func) != "torch.load" or not load.args:
            continue
        scopes = scopes_of(reader.tree, load)
        read = file_names(Place(scopes, reader.path, project), load.args[0], ends=True)
        if any(one is None or other is None or may_be_equal(one, other) for one in read for other in written):
            yield scopes[0], load


def _fills_wrapped(scope: ast.AST, load: ast.Call) -> bool:
    """Whether what is loaded goes into models alone that were bound to a wrapper right before, on every way."""
    bound = [each for each in nodes_in(scope, ast.Assign) if each.value is load]
    names = {dotted_path(target) for each in bound for target in each.targets}
    filled = [
        each
        for each in nodes_in(scope, ast.Call)
        if last_name(each.func) == "load_state_dict"
        and any(given is load or dotted_path(given) in names - {None} for given in each.args)
    ]
    return bool(filled) and all(_is_wrapped(scope, each) for each in filled)


def _is_wrapped(scope: ast.AST, fill: ast.Call) -> bool:
    model = dotted_path(fill.func.value) if isinstance(fill.func, ast.Attribute) else None
    for statement in before(scope, fill) if model is not None else ():
        bound = assignment_of(statement)
        if bound is not None and names_one_of(model, bound.targets):
            value = module_in(bound.value)
            if value is not bound.value and dotted_path(value) == model:
                continue
            return isinstance(value, ast.Call) and last_name(value.func) == "DataParallel"
        if any(each.id == model and isinstance(each.ctx, ast.Store) for each in nodes_in(statement, ast.Name)):
            return False
    return False
