"""Who writes a file that is loaded, here or elsewhere in the project, and whether that is surely data of the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.file_names import file_name, is_telling, may_be_equal, scopes_of, words_of
from torchdevlint.flow.checks.saved_values import is_of_cpu
from torchdevlint.flow.kinds.imported import imports_accelerators
from torchdevlint.flow.kinds.programs import mentions_accelerators
from torchdevlint.flow.names import dotted_path, last_name
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Const, Value
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.nodes import nodes_in, once_a_node

_MOST_FILES = 40
"""With more files of the project that may write a file, none is looked into."""


def is_written_from_cpu(frame: Frame, load: ast.Call, path: Value) -> bool:
    """Whether the project writes files of this name, and nothing that it writes under it is, or may be, elsewhere.

    In a file that has the name, what is written under an unknown name counts as well.
    """
    tree = frame.machine.tree
    name = name_of(tree, load, path)
    if name is None:
        return _is_written_by_class(frame, load)
    found = False
    for verdict in _verdicts(frame, name):
        if verdict is False:
            return False
        found = found or verdict is True
    return found


def _is_written_by_class(frame: Frame, load: ast.Call) -> bool:
    """Whether methods of the same class save under the same path, as it is written, and nothing but data of the CPU."""
    owner = frame.owner
    if owner is None or owner.is_module or owner.node not in frame.machine.classes or not load.args:
        return False
    path = ast.dump(load.args[0])
    saves = [call for call in nodes_in(owner.node, ast.Call) if _is_torch_save(call)]
    if any(len(call.args) < 2 for call in saves):
        return False
    pairs = [call for call in saves if ast.dump(call.args[1]) == path]
    moves_nothing = bool(pairs) and _moves_nothing(frame, _own_file(frame))
    return bool(pairs) and all(_saves_of_cpu(frame.machine.tree, call, moves_nothing) for call in pairs)


def is_written(frame: Frame, name: str) -> bool:
    """Whether the project writes files of this name, or may do so as far as is known."""
    return any(verdict is not None for verdict in _verdicts(frame, name))


def _verdicts(frame: Frame, name: str) -> Iterator[bool | None]:
    """What this file and the others of the project that have a name say of it."""
    others = frame.machine.others
    yield _verdict(frame, _own_file(frame), name)
    if others is None:
        return
    paths = others.project.saying(("save", *words_of(name)))
    if paths is None or len(paths) > _MOST_FILES:
        yield False
        return
    for path in paths:
        module = others.project.library.get(path)
        others.project.used(path, "", module)
        yield module is not None and _verdict(frame, module, name)


def _own_file(frame: Frame) -> ModuleFile:
    machine = frame.machine
    return ModuleFile(machine.others.home if machine.others is not None else "", machine.reading.source, machine.tree)


def name_of(tree: ast.Module, load: ast.Call, path: Value) -> str | None:
    """The last part of the path that a load reads, with holes; None for one that is not written down."""
    if isinstance(path, Const) and isinstance(path.value, str):
        name = path.value.rpartition("/")[2]
        return name if is_telling(name) else None
    return file_name(scopes_of(tree, load), load.args[0]) if load.args else None


def _verdict(frame: Frame, module: ModuleFile, name: str) -> bool | None:
    """Whether all that a file writes under a name is of the CPU; None if it writes nothing of that name."""
    writes = _writes(module.tree)
    if not any(written is not None and may_be_equal(written, name) for _, written in writes):
        return None
    moves_nothing = _moves_nothing(frame, module)
    return all(
        _saves_of_cpu(module.tree, call, moves_nothing)
        for call, written in writes
        if written is None or may_be_equal(written, name)
    )


def _moves_nothing(frame: Frame, module: ModuleFile) -> bool:
    """Whether neither a file nor what it imports of the project has to do with accelerators."""
    others = frame.machine.others
    if mentions_accelerators(module.source.text):
        return False
    return others is None or not imports_accelerators(module, others.project)


def _saves_of_cpu(tree: ast.Module, call: ast.Call, moves_nothing: bool) -> bool:
    value = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "obj"), None)
    return _is_torch_save(call) and value is not None and is_of_cpu(tree, value, call, moves_nothing)


@once_a_node
def _writes(tree: ast.Module) -> list[tuple[ast.Call, str | None]]:
    """The calls of `torch.save`, and others that are named so and get the name of a file, each with that name."""
    found = []
    for call in nodes_in(tree, ast.Call):
        if "save" not in last_name(call.func):
            continue
        scopes = scopes_of(tree, call)
        given = [*call.args, *(each.value for each in call.keywords)]
        name = next((name for each in given if (name := file_name(scopes, each)) is not None), None)
        if name is not None or _is_torch_save(call):
            found.append((call, name))
    return found


def _is_torch_save(call: ast.Call) -> bool:
    return dotted_path(call.func) in ("torch.save", "save")
