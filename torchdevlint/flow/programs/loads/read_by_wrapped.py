"""Files whose keys carry the prefix of a wrapper, and that the project reads into wrapped models alone: they match."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.file_names import Place, Texts, file_names, scopes_of
from torchdevlint.flow.checks.loads.saved_names import blocks_around
from torchdevlint.flow.checks.loads.telling_names import may_be_equal
from torchdevlint.flow.facts.checkpoints import WrappedStateDict
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.names import dotted_path, names_one_of, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in, own_assignments_in

_FILLING = "load_state_dict"
_OTHERWISE = ("load_from_checkpoint", "load_checkpoint")
"""How files are read into models by what the project does not show."""
_FETCHED = ("load_url", "load_state_dict_from_url")
_MOST_FILES = 24


def is_read_by_wrapped(fact: WrappedStateDict, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether a state dict is saved with a prefix on every path, and all that may fill a model from it wrap that first.

    A file of another name is another one, and so is another part of the same file.
    """
    if own is None or project is None or fact.direction != "save" or fact.conditional:
        return False
    save, files = save_of(fact, own), _filling_files(project)
    if save is None or files is None:
        return False
    written, key = _names(own, project, save, 1), _key_of(fact.model, save)
    answers = [
        _is_wrapped(file, call, fact.prefix)
        for file in files
        for call in nodes_in(file.tree, ast.Call)
        if is_filling(call) and _may_read(file, project, call, written, key)
    ]
    return bool(answers) and all(answers)


def _filling_files(project: Project) -> list[ModuleFile] | None:
    """The files of a project that fill models from others; None where it is not known which do."""
    paths = project.saying((_FILLING,))
    if paths is None or len(paths) > _MOST_FILES or any(project.saying((each,)) != () for each in _OTHERWISE):
        return None
    own = project.library.get(project.path)
    found = [own] if own is not None else []
    for path in paths:
        module = project.module(path)
        if module is None:
            return None
        found.append(module)
    return found


def save_of(fact: WrappedStateDict, own: ModuleFile) -> ast.Call | None:
    """The call of `torch.save` that writes a state dict, if it is one."""
    saves = [each for each in nodes_in(own.tree, ast.Call) if _is_save(each) and _holds(each, fact.at.row)]
    return saves[0] if len(saves) == 1 else None


def is_filling(call: ast.Call) -> bool:
    """Whether a call fills what has a state from one."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == _FILLING and bool(call.args)


def _is_save(call: ast.Call) -> bool:
    return public_path(call.func) == "torch.save" and len(call.args) > 1


def _holds(call: ast.Call, row: int) -> bool:
    return call.lineno <= row <= (call.end_lineno or call.lineno)


def _names(file: ModuleFile, project: Project, call: ast.Call, at: int) -> Texts:
    return file_names(Place(scopes_of(file.tree, call), file.path, project), call.args[at])


def _key_of(model: str, save: ast.Call) -> object:
    """The key under which a call saves the state dict of a model; None if it saves that alone, or this is not seen."""
    held = save.args[0]
    pairs = zip(held.keys, held.values, strict=True) if isinstance(held, ast.Dict) else ()
    there = [
        key for key, value in pairs if isinstance(value, ast.Call) and dotted_path(value.func) == f"{model}.state_dict"
    ]
    return there[0].value if len(there) == 1 and isinstance(there[0], ast.Constant) else None


def _may_read(file: ModuleFile, project: Project, call: ast.Call, written: Texts, key: object) -> bool:
    """Whether what fills a model may come from a file of these names, and from under that key."""
    read, last = source_of(file, call)
    if key is not None and last is not None and key != last:
        return False
    if read is None or not read.args:
        return True
    if public_path(read.func).rpartition(".")[2] in _FETCHED:
        return False
    names = _names(file, project, read, 0) if public_path(read.func) == "torch.load" else (None,)
    if None in names or None in written:
        return True
    return any(may_be_equal(one, other) for one in names for other in written if one is not None and other is not None)


def source_of(file: ModuleFile, call: ast.Call) -> tuple[ast.Call | None, object]:
    """The call that has read what fills a model, as far as it is seen, and the key that is taken out of it."""
    value: ast.expr = call.args[0]
    key: object = None
    for _ in range(3):
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            key = value.slice.value
            value = value.value
        elif isinstance(value, ast.Name):
            bound = list(_bound_before(file, call, value.id))
            if not bound:
                return None, key
            value = bound[-1][1]
    return (value if isinstance(value, ast.Call) else None), key


def _is_wrapped(file: ModuleFile, call: ast.Call, prefix: str) -> bool:
    """Whether the model that a call fills was wrapped by a statement before it that is run whenever the call is."""
    assert isinstance(call.func, ast.Attribute)
    path = dotted_path(call.func.value)
    around = blocks_around(scopes_of(file.tree, call)[0], call)
    always = [statement for block, place, _ in around for statement in block[:place]]
    bound = [] if path is None else list(_bound_before(file, call, path))
    while bound and bound[-1][0] in always and _is_moved_in_place(path, bound[-1][1]):
        bound.pop()
    if not bound or bound[-1][0] not in always:
        return False
    value = module_in(bound[-1][1])
    return isinstance(value, ast.Call) and torch_api.WRAPPER_MODULES.get(public_path(value.func)) == prefix


def _is_moved_in_place(path: str | None, value: ast.expr) -> bool:
    """``net.cuda()``, which `net` is bound to."""
    moved = module_in(value)
    return moved is not value and dotted_path(moved) == path


def _bound_before(file: ModuleFile, call: ast.Call, path: str) -> Iterator[tuple[ast.stmt | ast.expr, ast.expr]]:
    """What a path of names is bound to above a call in the same function, with the statements."""
    for each in own_assignments_in(scopes_of(file.tree, call)[0]):
        if each.lineno < call.lineno and names_one_of(path, each.targets):
            yield each.node, each.value
