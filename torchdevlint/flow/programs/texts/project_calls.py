"""The calls of functions of one project by their names, and the functions that hold a place of a file."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePath

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.places import holds
from torchdevlint.flow.programs.texts.tables import calls_in
from torchdevlint.flow.scope.call_sites import MOST_FILES, calls_of, reads_of, renamed_by
from torchdevlint.flow.scope.imported_names import defined, definitions
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.packaging import declared_commands
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node
from torchdevlint.source.notebook import NOTEBOOK

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOADING = "import_module __import__ run_module run_path spec_from_file_location _target_".split()
"""How a file is come to that no import statement names."""
CalledPlace = tuple[ModuleFile, FunctionNode, "ast.ClassDef | None"]
"""A function, the file that it stands in, and the class that it is a method of."""
Sites = list[tuple[ModuleFile, ast.Call]]
Told = Callable[[ModuleFile, str], "tuple[Sites | None, int]"]
"""Further calls of a name that a file may mean, with how many of its reads are known; None for calls that are not."""


class ProjectCalls:
    """The calls in the files of a project, seen from one of them."""

    def __init__(self, own: ModuleFile, project: Project) -> None:
        self._own = own
        self._project = project
        self._sites: dict[tuple[str, str], Sites | None] = {}

    def of_method(self, name: str) -> Sites | None:
        """The calls ``x.name()`` in all files, whatever `x` is; None where `name` is read as an attribute otherwise."""
        key = "", name
        if key not in self._sites:
            files = self.files_saying(name)
            calls = None if files is None else [(each, _method_calls(each.tree, name)) for each in files]
            is_known = calls is not None and all(found is not None for _, found in calls)
            found = [(file, call) for file, each in calls or () for call in each or ()]
            self._sites[key] = found if is_known else None
        return self._sites[key]

    def of(self, home: str, name: str) -> Sites | None:
        """The calls of a name that the file at `home` binds, in all files that may mean that one, also out of tables.

        None where it is read for something else, or said beside code.
        """
        if (home, name) not in self._sites:
            self._sites[home, name] = self.found(home, name)
        return self._sites[home, name]

    def found(self, home: str, name: str, told: Told | None = None) -> Sites | None:
        """The same, where `told` tells of a file that may mean the name which reads call something else, or nothing."""
        files = [self._own] if home == self._own.path and self._is_apart else self._all_saying(name)
        if files is None:
            return None
        found: Sites = []
        for file in files:
            if self._means_another(file, home, name):
                continue
            more, known = ([], 0) if told is None else told(file, name)
            held = None if more is None else calls_in(file.tree, name, known)
            if held is None or any(each.is_shared and not self._is_private(file, each.name) for each in held[1]):
                return None
            renamed = self._calls_of_renamed(file, home, name)
            if renamed is None:
                return None
            found += [(file, each) for each in (*held[0], *renamed)] + (more or [])
        return found

    def _all_saying(self, name: str) -> list[ModuleFile] | None:
        """This file and the others, notebooks too, that say a name; None where others may mean it that are not seen."""
        files, beside = self.files_saying(name), self._project.saying((name,), beside_code=True)
        notebooks = self._notebooks_of(beside or ())
        return None if files is None or beside is None or notebooks is None else [*files, *notebooks]

    @cached_property
    def _is_apart(self) -> bool:
        """Whether only the file itself may call what it defines: no file or command leads to it, nor may a text.

        Then what others say by the same names is nothing to it: ``test``.
        """
        project = self._project
        if project.saying(()) is None or project.importers(self._own.path):
            return False
        commands = declared_commands(project)
        stem = PurePath(self._own.path).stem
        if commands is None or any(stem in module.split(".") for module, _ in commands):
            return False
        return not any(project.saying((each,)) or project.saying((each,), beside_code=True) for each in _LOADING)

    def _calls_of_renamed(self, file: ModuleFile, home: str, name: str) -> list[ast.Call] | None:
        """The calls of a name under another one that a file gives it; None where that is read for something else."""
        found: list[ast.Call] = []
        for node, own, given in renamed_by(file.tree):
            led = self._project.locate(file.path, node.module or "", node.level) if own == name else None
            if own != name or (led is not None and led != home and self._defines(led, name)):
                continue
            calls = calls_of(file.tree, given)
            if reads_of(file.tree, given) > len(calls):
                return None
            found += calls
        return found

    def _defines(self, path: str, name: str) -> bool:
        module = self._project.module(path) if path.endswith(".py") else None
        bound = () if module is None else module.bindings.get(name, ())
        return any(isinstance(each, (*_FUNCTIONS, ast.ClassDef)) for each in bound)

    def _notebooks_of(self, paths: Sequence[str]) -> list[ModuleFile] | None:
        """The notebooks among some files beside code; None where another one is no prose, or one is no code."""
        found: list[ModuleFile] = []
        for path in paths:
            module = self._project.library.get(path) if path.endswith(NOTEBOOK) else None
            if module is not None:
                self._project.used(path, "", module)
                found.append(module)
            elif not _is_prose(path):
                return None
        return None if len(found) > MOST_FILES else found

    def _is_private(self, file: ModuleFile, name: str) -> bool:
        """Whether no other file says a name of this one."""
        files = self.files_saying(name)
        return files is not None and all(each.path == file.path or name not in each.source.text for each in files)

    def _means_another(self, file: ModuleFile, home: str, name: str) -> bool:
        """Whether a name of the top level is that of another file."""
        if file.path == home:
            return False
        bound = file.bindings.get(name, ())
        if any(isinstance(each, (*_FUNCTIONS, ast.ClassDef)) for each in bound):
            return True
        if not bound:
            return self._is_brought_from_elsewhere(file, home, name)
        led = defined(self._project, file.path, file.tree, name)
        return led is None or led[0].path != home

    def _is_brought_from_elsewhere(self, file: ModuleFile, home: str, name: str) -> bool:
        """Whether ``from others import *`` brings a name, and from another file in any case."""
        if not any(each.names[0].name == "*" for each in nodes_in(file.tree, ast.ImportFrom)):
            return False
        if any(each.attr == name for each in nodes_in(file.tree, ast.Attribute)):
            return False
        led = list(definitions(self._project, file.path, file.tree, name))
        return bool(led) and all(each.path != home for each, _ in led)

    @cached_property
    def of_objects(self) -> Sites | None:
        """The calls in all files of what is no function or class there, but may be a Module; None for too many."""
        files = self.files_saying()
        return None if files is None else [(file, call) for file in files for call in object_calls(file)]

    def may_be_key(self, name: str) -> bool:
        """Whether some ``**kwargs`` may hold a name: a text or file says it, or a call for no such parameter."""
        files, beside = self.files_saying(name), self._project.saying((name,), beside_code=True)
        if files is None or beside is None or not all(map(_is_prose, beside)):
            return True
        taking = {each for file in files for each in _taking(file.tree, name)}
        named = (call for file in files for call in nodes_in(file.tree, ast.Call) if _names(call, name))
        texts = (each.value for file in files for each in nodes_in(file.tree, ast.Constant))
        return name in texts or not taking.issuperset(map(last_name, (each.func for each in named)))

    def files_saying(self, *names: str) -> list[ModuleFile] | None:
        """This file and the others that say all names; None for too many."""
        paths = self._project.saying(names)
        if paths is None or len(paths) > MOST_FILES:
            return None
        found = [self._own]
        for path in paths:
            module = self._project.module(path)
            if module is None:
                return None
            found.append(module)
        return found


def _method_calls(tree: ast.Module, name: str) -> list[ast.Call] | None:
    """The calls of methods of a name; ``self.name`` of objects that hold something under it is another thing."""
    read = [each for each in nodes_in(tree, ast.Attribute) if each.attr == name]
    kept = any(dotted_path(each) == f"self.{name}" and isinstance(each.ctx, ast.Store) for each in read)
    calls = [each for each in nodes_in(tree, ast.Call) if each.func in read]
    called = {id(each.func) for each in calls}
    others = [each for each in read if isinstance(each.ctx, ast.Load) and id(each) not in called]
    is_said = any(each.value == name for each in nodes_in(tree, ast.Constant))
    is_read = any(not (kept and dotted_path(each) == f"self.{name}") for each in others)
    return None if is_said or is_read else calls


def _names(call: ast.Call, name: str) -> bool:
    return any(each.arg == name for each in call.keywords)


def _taking(tree: ast.Module, name: str) -> Iterator[str]:
    """The names by which functions with a parameter are called."""
    for function, owner in _functions_in(tree):
        if name in parameter_names(function):
            yield owner.name if owner is not None and function.name == "__init__" else function.name


def object_calls(file: ModuleFile) -> list[ast.Call]:
    """``net(x)``, ``self.net(x)``, ``nets[0](x)``, ``Net()(x)``, ``net.forward(x)``."""
    functions = {function.name for function, _ in _functions_in(file.tree)}
    named = functions.union(file.bindings, vars(builtins))
    return [each for each in nodes_in(file.tree, ast.Call) if _is_of_object(each.func, named, functions)]


def _is_of_object(called: ast.expr, named: set[str], functions: set[str]) -> bool:
    if isinstance(called, ast.Name):
        return called.id not in named
    if isinstance(called, ast.Attribute):
        is_kept = isinstance(called.value, ast.Name) and called.value.id == "self" and called.attr not in functions
        return is_kept or called.attr == "forward"
    return True


def around(file: ModuleFile, line: int) -> list[CalledPlace]:
    """The functions that hold a line, the innermost first, each with its class; none for the top level."""
    return [(file, *each) for each in _functions_in(file.tree) if holds(each[0], line)]


@once_a_node
def _functions_in(tree: ast.Module) -> list[tuple[FunctionNode, ast.ClassDef | None]]:
    owners = {id(each): owner for owner in nodes_in(tree, ast.ClassDef) for each in owner.body}
    found = functions_in(tree)
    return sorted(((each, owners.get(id(each))) for each in found), key=lambda each: -each[0].lineno)


def called_by(function: FunctionNode, owner: ast.ClassDef | None) -> str | None:
    """The name by which a function is called; None for a method that torch or the language calls, as `forward`."""
    if owner is not None and function.name == "__init__":
        return owner.name
    is_called = not function.name.startswith("__") and function.name not in torch_api.MODULE_ATTRIBUTES
    return function.name if is_called else None


def _is_prose(path: str) -> bool:
    return path.endswith((".md", ".rst", ".txt"))
