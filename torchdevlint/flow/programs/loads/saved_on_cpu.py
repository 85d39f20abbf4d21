"""Whether all that the programs of an application save, and a load may read, is on the CPU: then so is what it reads.

Each program that saves is followed from its first line, as for what meets on different devices, unless what it saves
is sent to the CPU right before. What a class saves under the path that another method of it reads, as both are given
it, is that file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.checks.loads.brought_back import SAVES_BY_ITSELF, saves_of_cpu
from torchdevlint.flow.checks.loads.file_names import Place, class_around, file_names, path_as_written, scopes_of
from torchdevlint.flow.checks.loads.saved_names import values_in
from torchdevlint.flow.checks.loads.telling_names import HOLE, may_be_equal
from torchdevlint.flow.checks.loads.writers import writes_in
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.loads.of_library_models import is_of_library_model
from torchdevlint.flow.programs.placed.on_accelerators import MOST_CODE, scope_of
from torchdevlint.flow.programs.placed.placed_parts import may_have_parts_placed
from torchdevlint.flow.programs.placed.placed_values import PlacedValues
from torchdevlint.flow.programs.reached.coming import Programs
from torchdevlint.flow.programs.reached.running import Running
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.scope.names import parameter_names, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import keyword_of, nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_MOST_FILES = 24
_MOST_SAVES = 8
"""Where more files save something, or more calls may have written what is read, nobody is asked."""
_OF_TORCH = (".pt", ".pth", ".tar", ".ckpt", ".bin", ".pkl", ".model")


class SavedOnCpu:
    """What is saved by the programs of one project, each of which is followed once for all that is asked of it."""

    def __init__(self) -> None:
        self._programs: dict[str, tuple[Programs, Project]] = {}
        self._values: dict[Running, PlacedValues] = {}

    def is_read_by(self, own: ModuleFile, project: Project, load: ast.Call) -> bool:
        """Whether programs of the project write what a load reads, and none may have it on an accelerator.

        Or it is what a library has published, and was not written here.
        """
        if is_of_library_model(own.tree, load):
            return True
        changes = sorted(torch_api.CHANGES_DEFAULT)
        if any(word in own.source.text or project.saying((word,)) != () for word in changes):
            return False
        saves = _beside(own, load) or _saves_of(own, project, load)
        if saves is None or not 0 < len(saves) <= _MOST_SAVES:
            return False
        beside = project.saying(("torch", "save"), beside_code=True)
        are_all_here = beside is not None and not any(each.endswith(NOTEBOOK) for each in beside)
        is_seen = False
        for file, save in saves:
            is_of_cpu = are_all_here and saves_of_cpu(file.tree, save)
            answer = not is_of_cpu and self._may_be_placed(file, project, save)
            if answer:
                return False
            is_seen = is_seen or answer is False
        return is_seen

    def _may_be_placed(self, file: ModuleFile, project: Project, save: ast.Call) -> bool | None:
        """Whether a program may save what is on an accelerator; None where none is seen to come to a call."""
        if file.path not in self._programs:
            asked = Project(file.path, project.library)
            self._programs[file.path] = Programs(file, asked, Callers(file.tree, asked, lambda *_: {})), asked
        programs, asked = self._programs[file.path]
        try:
            return self._is_placed_by(file, asked, save, programs)
        finally:
            project.add(asked)

    def _is_placed_by(self, file: ModuleFile, asked: Project, save: ast.Call, programs: Programs) -> bool | None:
        coming = programs.coming_to(save.lineno)
        value = save.args[0] if save.args else keyword_of(save, "obj")
        if coming is None or value is None or any(len(each.scopes) > MOST_CODE for each in coming):
            return True
        scope = scope_of(file, asked, save.lineno)
        known: list[PlacedValues] = []
        for each in coming:
            known.append(self._followed(each))
            if known[-1].placing.places_nothing:
                continue
            if not known[-1].is_complete or may_have_parts_placed(known[-1], scope, value):
                return True
        is_run = scope.function is None or any(each.calls.come_to((file.path, scope.function.lineno)) for each in known)
        return False if known and is_run else None

    def _followed(self, program: Running) -> PlacedValues:
        if program not in self._values:
            self._values[program] = PlacedValues(program)
        return self._values[program]


def _beside(own: ModuleFile, load: ast.Call) -> list[tuple[ModuleFile, ast.Call]] | None:
    """What other methods of the class around a load save, all under the path that both are given, by the same name."""
    scopes = scopes_of(own.tree, load)
    owner = class_around(scopes)
    if owner is None or not _is_given(scopes[0], load.args[:1]):
        return None
    saves = [each for each in nodes_in(owner, ast.Call) if _is_save(each)]
    is_read = all(_is_same(each.args[1:2], load.args[:1]) for each in saves)
    is_read = is_read and all(_is_given(scopes_of(own.tree, each)[0], each.args[1:2]) for each in saves)
    return [(own, each) for each in saves] if is_read and saves else None


def _is_given(function: ast.AST, path: list[ast.expr]) -> bool:
    """Whether a path is an argument of a function, as it came."""
    if not path or not isinstance(path[0], ast.Name) or not isinstance(function, ast.FunctionDef):
        return False
    return path[0].id in parameter_names(function) and path[0].id not in values_in(function)


def _is_same(one: list[ast.expr], other: list[ast.expr]) -> bool:
    return list(map(ast.dump, one)) == list(map(ast.dump, other))


def _saves_of(own: ModuleFile, project: Project, load: ast.Call) -> list[tuple[ModuleFile, ast.Call]] | None:
    """The calls that may have written what a load reads; None where that is not known.

    Where its name is not written down, all that save something may have, and what libraries save by themselves.
    """
    at = Place(scopes_of(own.tree, load), own.path, project)
    names = file_names(at, load.args[0], ends=True) if load.args else (None,)
    paths = project.saying(("save",))
    if paths is None or len(paths) > _MOST_FILES:
        return None
    found, others, is_open = [], [], None in names
    for file in (own, *_parsed(project, paths)):
        if file is None or (is_open and SAVES_BY_ITSELF.search(file.source.text)):
            return None
        written = [(call, [each for each in known if each is not None]) for call, known in writes_in(file.tree)]
        same = [call for call, known in written if any(_may_be(each, names) for each in known)]
        if any(not _is_save(call) for call in same):
            return None
        unknown = [(file, call) for call, known in written if not known and _is_save(call)]
        found += [(file, call) for call in same] + (unknown if same or is_open else [])
        others += unknown
    return found or _put_together_alike(at, load, (own, *_parsed(project, paths)), project) or others


def _put_together_alike(
    at: Place, load: ast.Call, files: Iterable[ModuleFile | None], project: Project
) -> list[tuple[ModuleFile, ast.Call]]:
    """The calls that save into the folder that is read from, under a path of the same shape: ``f"runs/{name}-9.pt"``.

    What stands for the rest may have been another one when it was written.
    """
    read = path_as_written(at, load.args[0]) if load.args else None
    folder = "" if read is None else read.partition(HOLE)[0]
    if read is None or "/" not in folder or read == folder:
        return []
    saves = [(each, call) for each in files if each is not None for call in nodes_in(each.tree, ast.Call)]
    found = []
    for file, call in saves:
        path = call.args[1] if _is_save(call) and len(call.args) > 1 else None
        place = Place(scopes_of(file.tree, call), file.path, project)
        written = None if path is None else path_as_written(place, path)
        if written is not None and written.startswith(folder) and may_be_equal(written, read):
            found.append((file, call))
    return found


def _may_be(name: str, names: tuple[str | None, ...]) -> bool:
    """Whether a file that is written may be read, in what is called like files of torch where the name is open."""
    return any(name.endswith(_OF_TORCH) if each is None else may_be_equal(name, each) for each in names)


def _parsed(project: Project, paths: tuple[str, ...]) -> Iterator[ModuleFile | None]:
    for path in paths:
        text = project.text_of(path)
        if text is None or "save" in text.text:
            module = project.module(path)
            yield module


def _is_save(call: ast.Call) -> bool:
    return public_path(call.func) == "torch.save"
