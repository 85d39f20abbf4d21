"""Who writes a file that is loaded, here or elsewhere in the project, and whether that is surely data of the CPU."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from torchdevlint.flow.checks.loads.file_names import (
    Place,
    class_around,
    file_name,
    file_names,
    scopes_of,
)
from torchdevlint.flow.checks.loads.saved_values import is_of_cpu
from torchdevlint.flow.checks.loads.telling_names import (
    is_for_cpu,
    is_telling,
    may_be_equal,
    parts_of,
    path_key,
    words_of,
)
from torchdevlint.flow.scope.imported_accelerators import imports_accelerators
from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.flow.scope.programs import mentions_accelerators
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Const, Value
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import arguments_of, keyword_of, nodes_in, once_a_node

Names = tuple[str | None, ...]
"""The names that a file may have, with holes; None among them for one that is not known."""
_MOST_FILES = 40
"""With more files of the project that may write a file, none is looked into."""


def is_written_from_cpu(frame: Frame, load: ast.Call, path: Value) -> bool:
    """Whether the project writes files of this name, and nothing that it writes under it is, or may be, elsewhere.

    In a file that has the name, what is written under an unknown name counts as well. What is called a file for the CPU
    is taken for one.
    """
    names = _names_of(frame, load, path)
    if None in names:
        return _is_written_by_class(frame, load)
    return all(is_for_cpu(each) or _is_only_written_from_cpu(frame, each) for each in names if each is not None)


def _names_of(frame: Frame, load: ast.Call, path: Value) -> tuple[str | None, ...]:
    name = name_of(frame.machine.tree, load, path)
    if name is not None or not load.args or isinstance(path, Const):
        return (name,)
    return file_names(_place(frame, own_file(frame), load), load.args[0])


def _place(frame: Frame, module: ModuleFile, call: ast.Call) -> Place:
    others = frame.machine.others
    return Place(scopes_of(module.tree, call), module.path, None if others is None else others.project)


def _is_only_written_from_cpu(frame: Frame, name: str) -> bool:
    verdicts = {_verdict(frame, own_file(frame), name)}
    for search in (_saying, _handed_name):
        for module in search(frame, name):
            verdicts.add(module is not None and _verdict(frame, module, name))
            if False in verdicts:
                return False
        if True in verdicts:
            return True
    return False


def _is_written_by_class(frame: Frame, load: ast.Call) -> bool:
    """Whether methods of the same class save under the same path, as it is written, and nothing but data of the CPU."""
    owner = frame.owner
    if owner is None or owner.is_module or owner.node not in frame.machine.classes or not load.args:
        return False
    path = path_key(load.args[0])
    saves = [call for call in nodes_in(owner.node, ast.Call) if _is_torch_save(call)]
    if any(len(call.args) < 2 for call in saves):
        return False
    pairs = [call for call in saves if path_key(call.args[1]) == path]
    own = own_file(frame)
    moves_nothing = bool(pairs) and _moves_nothing(frame, own) and _is_left_alone(frame, own, pairs[0])
    found = {_saves_of_cpu(own.tree, call, moves_nothing) for call in pairs}
    return True in found and False not in found


def is_written(frame: Frame, name: str) -> bool:
    """Whether the project writes files of this name, or may do so as far as is known."""
    modules = (own_file(frame), *_saying(frame, name))
    return any(each is None or _verdict(frame, each, name) is not None for each in modules)


def is_written_otherwise(frame: Frame, name: str, is_so: Callable[[ast.AST, ast.expr], bool]) -> bool:
    """Whether the project saves something under a name of which this is so, in the function that saves it."""
    modules = (each for each in (own_file(frame), *_saying(frame, name)) if each is not None)
    for module in modules:
        for call, names in writes_in(module.tree):
            known = [each for each in names if each and is_telling(each)]
            if _may_be(known, name) and call.args and is_so(scopes_of(module.tree, call)[0], call.args[0]):
                return True
    return False


def _saying(frame: Frame, name: str) -> Iterator[ModuleFile | None]:
    """The other files of the project that save something and have a name, None for one that is not known."""
    others = frame.machine.others
    if others is not None:
        yield from _modules(others.project, others.project.saying(("save", *words_of(name))))


def _handed_name(frame: Frame, name: str) -> Iterator[ModuleFile | None]:
    """The other files that save something, and may put the name together, or import what says it."""
    others = frame.machine.others
    if others is None:
        return
    project, words = others.project, parts_of(name)
    saving = project.saying(("save",))
    naming = project.saying(words)
    if saving is None or naming is None:
        yield None
        return
    found = {each for each in naming if each in saving}
    for path in naming[:_MOST_FILES]:
        found.update(each for each in project.importers(path) if each in saving)
    yield from _modules(project, tuple(sorted(found)))


def _modules(project: Project, paths: tuple[str, ...] | None) -> Iterator[ModuleFile | None]:
    if paths is None or len(paths) > _MOST_FILES:
        yield None
        return
    for path in paths:
        module = project.module(path)
        yield module


def own_file(frame: Frame) -> ModuleFile:
    machine = frame.machine
    return ModuleFile(machine.others.home if machine.others is not None else "", machine.reading.source, machine.tree)


def name_of(tree: ast.Module, load: ast.Call, path: Value) -> str | None:
    """The last part of the path that a load reads, with holes; None for one that is not written down."""
    if isinstance(path, Const) and isinstance(path.value, str):
        name = path.value.rpartition("/")[2]
        return name if is_telling(name) else None
    return file_name(scopes_of(tree, load), load.args[0]) if load.args else None


def _verdict(frame: Frame, module: ModuleFile, name: str) -> bool | None:
    """Whether all that a file writes under a name is of the CPU; None if it writes nothing new of that name."""
    writes = [(call, _written_to(frame, module, call, names)) for call, names in writes_in(module.tree)]
    if not any(_may_be([each for each in names if each and is_telling(each)], name) for _, names in writes):
        return None
    moves_nothing = _moves_nothing(frame, module)
    found = {
        _saves_of_cpu(module.tree, call, moves_nothing and _is_left_alone(frame, module, call))
        for call, names in writes
        if None in names or _may_be(names, name)
    }
    return None if found == {None} else False not in found


def _written_to(frame: Frame, module: ModuleFile, call: ast.Call, names: Names) -> Names:
    """The names of the files that a call writes; those that the file alone does not tell may be imported."""
    known = all(each is not None and is_telling(each) for each in names)
    if known or not _is_of_torch(call) or len(given := arguments_of(call)) < 2:
        return names
    return file_names(_place(frame, module, call), given[1], ends=True)


def _may_be(names: Iterable[str | None], name: str) -> bool:
    return any(each is not None and may_be_equal(each, name) for each in names)


def _moves_nothing(frame: Frame, module: ModuleFile) -> bool:
    """Whether neither a file nor what it imports of the project has to do with accelerators."""
    others = frame.machine.others
    if mentions_accelerators(module.source.text):
        return False
    return others is None or not imports_accelerators(module, others.project)


def _is_left_alone(frame: Frame, module: ModuleFile, call: ast.Call) -> bool:
    """Whether no importer of a file can move what its classes keep, and methods of these save."""
    others = frame.machine.others
    if others is None or class_around(scopes_of(module.tree, call)) is None:
        return True
    for path in others.project.importers(module.path):
        importer = others.project.module(path)
        if importer is None or mentions_accelerators(importer.source.text):
            return False
    return True


def _saves_of_cpu(tree: ast.Module, call: ast.Call, moves_nothing: bool) -> bool | None:
    """Whether a call saves nothing but data of the CPU; None if that is what it loads from there."""
    value = call.args[0] if call.args else keyword_of(call, "obj")
    return is_of_cpu(tree, value, call, moves_nothing) if _is_torch_save(call) and value is not None else False


@once_a_node
def writes_in(tree: ast.Module) -> list[tuple[ast.Call, Names]]:
    """The calls of `torch.save`, and others that are named so and get the name of a file, each with what it may be."""
    found = []
    for call in nodes_in(tree, ast.Call):
        if "save" in last_name(call.func):
            at = Place(scopes_of(tree, call))
            ends = _is_of_torch(call)
            given = (file_names(at, each, ends) for each in (arguments_of(call)[1:2] if ends else arguments_of(call)))
            names = next((names for names in given if names != (None,)), (None,))
            if names != (None,) or _is_torch_save(call):
                found.append((call, names))
    return found


def _is_torch_save(call: ast.Call) -> bool:
    return _is_of_torch(call) or public_path(call.func) == "save"


def _is_of_torch(call: ast.Call) -> bool:
    return public_path(call.func) == "torch.save"
