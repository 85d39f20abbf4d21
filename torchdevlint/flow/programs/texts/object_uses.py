"""What the files of a project do with the objects of a class: followed by their names, as arguments and as results."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.places import first_holding, parents_in
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls, around
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, has_stars, last_name, parameter_names, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in

_WHOLE = torch_api.MODULE_ATTRIBUTES - {"forward", "training", "extra_repr", "dump_patches", "T_destination"}
_PLAIN_BASES = frozenset("object torch.nn.Module abc.ABC".split())
_LOOKED_AT = frozenset("isinstance issubclass print len repr str id type super hasattr callable".split())
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASKED = (ast.Expr, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.If, ast.While, ast.Assert, ast.FormattedValue)
"""What an object may stand in that is only looked at."""
_MOST_USES = 200


class ObjectUses:
    """The uses of the objects of one class of a file, and of those that are derived from it."""

    def __init__(self, own: ModuleFile, project: Project) -> None:
        self._own = own
        self._project = project
        self._calls = ProjectCalls(own, project)
        self._classes: list[ast.ClassDef] = []
        self._left: list[tuple[ModuleFile, ast.AST]] = []

    def ask_whole(self, owner: ast.ClassDef) -> bool:
        """Whether something may ask an object for what a Module does with all its parts, or it is not known what does.

        A method of that name in the class is another one, which may ask it itself.
        """
        seen: set[int] = set()
        is_known = self._add_class(self._own, owner)
        while is_known and self._left and len(seen) < _MOST_USES:
            file, node = self._left.pop()
            if id(node) not in seen:
                seen.add(id(node))
                is_known = self._follow(file, node)
        return not is_known or bool(self._left)

    def _add_class(self, file: ModuleFile, owner: ast.ClassDef) -> bool:
        """Whether it is known where a class is read, and it asks itself for nothing as a whole."""
        if owner in self._classes:
            return True
        self._classes.append(owner)
        files = self._calls.files_saying(owner.name)
        if files is None or self._project.saying((owner.name,), True) != () or not self._is_plain(file, owner):
            return False
        return all(self._read_class(each, read) for each in files for read in _reads(each.tree, owner.name))

    def _is_plain(self, file: ModuleFile, owner: ast.ClassDef) -> bool:
        """Whether neither a class nor its bases, which are those of the project, ask an object as a whole."""
        if owner.keywords and any(each.arg != "metaclass" for each in owner.keywords):
            return False
        if any(self._asks_whole(call) for call in nodes_in(owner, ast.Call)) or _hands_itself_on(file, owner):
            return False
        for base in owner.bases:
            found = self._class_of(file, dotted_path(base) or "")
            if found is None and public_path(base) not in _PLAIN_BASES:
                return False
            if found is not None and found[1] not in self._classes and not self._is_plain(*found):
                return False
        return True

    def _asks_whole(self, call: ast.Call) -> bool:
        """Whether a method asks its own object, or the base of its class."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _WHOLE:
            return False
        asked = call.func.value
        if isinstance(asked, ast.Call):
            return last_name(asked.func) == "super"
        return dotted_path(asked) == "self" and not self._defines(call.func.attr)

    def _defines(self, name: str) -> bool:
        return any(getattr(each, "name", "") == name for owner in self._classes for each in owner.body)

    def _read_class(self, file: ModuleFile, read: ast.expr) -> bool:
        """Whether it is known what a read of a class is for: to derive from it, to build an object, a name for it."""
        parent = parents_in(file.tree).get(read)
        if isinstance(parent, ast.ClassDef) and read in parent.bases:
            return self._add_class(file, parent)
        if isinstance(parent, ast.Call):
            if parent.func is read:
                self._left.append((file, parent))
                return True
            return last_name(parent.func) in _LOOKED_AT
        if isinstance(parent, ast.Assign) and [type(each) for each in parent.targets] == [ast.Name]:
            reads = list(self._reads_of_name(file, parent, parent.targets[0].id))  # type: ignore[attr-defined]
            return bool(reads) and all(self._read_class(file, each) for each in reads)
        return isinstance(parent, (ast.arg, ast.AnnAssign, *_FUNCTIONS)) and read not in getattr(parent, "body", ())

    def _follow(self, file: ModuleFile, node: ast.AST) -> bool:
        """Whether it is known what becomes of an object at a place, and that asks it for nothing as a whole."""
        parent = parents_in(file.tree).get(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr not in _WHOLE or self._defines(parent.attr)
        if isinstance(parent, ast.Call):
            return parent.func is node or last_name(parent.func) in _LOOKED_AT or self._hand_on(file, parent, node)
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
            return self._keep(file, parent)
        if isinstance(parent, ast.keyword):
            call = parents_in(file.tree).get(parent)
            return isinstance(call, ast.Call) and self._hand_on(file, call, node)
        if isinstance(parent, ast.Return):
            return self._give(file, parent)
        return isinstance(parent, _ASKED)

    def _keep(self, file: ModuleFile, assign: ast.Assign) -> bool:
        target = assign.targets[0]
        if isinstance(target, ast.Name):
            self._left += [(file, each) for each in self._reads_of_name(file, assign, target.id)]
            is_global = any(target.id in each.names for each in nodes_in(file.tree, ast.Global))
            return not is_global and (bool(around(file, assign.lineno)) or not self._is_imported(target.id))
        owner = first_holding(nodes_in(file.tree, ast.ClassDef), assign.lineno)
        if not isinstance(target, ast.Attribute) or dotted_path(target) != f"self.{target.attr}" or owner is None:
            return False
        files = self._calls.files_saying(target.attr)
        if files is None or self._project.saying((target.attr,), True) != ():
            return False
        for each in files:
            if "getattr(" in each.source.text:
                return False
            self._left += [(each, read) for read in _reads_of_attribute(each, target.attr, owner)]
        return True

    def _is_imported(self, name: str) -> bool:
        """Whether a file of the project may import a name of the top level of another one."""
        files = self._calls.files_saying(name)
        imported = (alias.name for each in files or () for alias in nodes_in(each.tree, ast.alias))
        return files is None or not {name, "*"}.isdisjoint(imported)

    def _give(self, file: ModuleFile, statement: ast.Return) -> bool:
        """A function gives the object to those that call it."""
        held = around(file, statement.lineno)
        function = held[0][1] if len(held) == 1 and held[0][2] is None else None
        sites = None if function is None else self._calls.of(file.path, function.name)
        self._left += sites or ()
        return sites is not None

    def _hand_on(self, file: ModuleFile, call: ast.Call, node: ast.AST) -> bool:
        """A call gives it to a function of the project, which reads it by the name of a parameter."""
        callee = None if has_stars(call) else self._callee(file, call)
        if callee is None:
            return False
        home, function, is_bound = callee
        names = [
            each for each in parameter_names(function) if argument_of(call, function, each, is_bound=is_bound) is node
        ]
        reads = (each for each in nodes_in(function, ast.Name) if each.id in names and _is_load(each))
        self._left += [(home, each) for each in reads]
        return bool(names)

    def _callee(self, file: ModuleFile, call: ast.Call) -> tuple[ModuleFile, FunctionNode, bool] | None:
        path = dotted_path(call.func) or ""
        if path.startswith("self."):
            owner = first_holding(nodes_in(file.tree, ast.ClassDef), call.lineno)
            method = None if owner is None else _function_in(owner.body, path.removeprefix("self."))
            return None if method is None else (file, method, True)
        if (found := self._class_of(file, path)) is not None:
            init = _function_in(found[1].body, "__init__")
            return None if init is None else (found[0], init, True)
        own = _function_in(file.tree.body, path)
        led = (None if own is not None else defined(self._project, file.path, file.tree, path)) or (file, path)
        self._project.used(led[0].path, "", led[0])
        function = _function_in(led[0].tree.body, led[1])
        return None if function is None else (led[0], function, False)

    def _class_of(self, file: ModuleFile, path: str) -> tuple[ModuleFile, ast.ClassDef] | None:
        """The class of the project that a path of names means in a file."""
        here = [each for each in file.tree.body if isinstance(each, ast.ClassDef) and each.name == path]
        found = (file, path) if here else defined(self._project, file.path, file.tree, path)
        if not path or found is None:
            return None
        self._project.used(found[0].path, "", found[0])
        held = [each for each in found[0].tree.body if isinstance(each, ast.ClassDef) and each.name == found[1]]
        return (found[0], held[0]) if len(held) == 1 else None

    @staticmethod
    def _reads_of_name(file: ModuleFile, assign: ast.Assign, name: str) -> Iterator[ast.Name]:
        held = around(file, assign.lineno)
        scope = held[0][1] if held else file.tree
        return (each for each in nodes_in(scope, ast.Name) if each.id == name and _is_load(each))


def _is_load(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _reads(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    """What reads the name of a class, be it as an attribute of its module, or says it as a text."""
    yield from (each for each in nodes_in(tree, ast.Name) if each.id == name and _is_load(each))
    yield from (each for each in nodes_in(tree, ast.Attribute) if each.attr == name and _is_load(each))
    yield from (each for each in nodes_in(tree, ast.Constant) if each.value == name)


def _reads_of_attribute(file: ModuleFile, name: str, owner: ast.ClassDef) -> Iterator[ast.Attribute]:
    """What reads an attribute that a class keeps; another class that keeps one of that name means its own."""
    classes = nodes_in(file.tree, ast.ClassDef)
    for read in nodes_in(file.tree, ast.Attribute):
        if read.attr != name or not _is_load(read):
            continue
        around_it = first_holding(classes, read.lineno) if dotted_path(read) == f"self.{name}" else None
        if around_it is None or around_it is owner or not _keeps(around_it, name):
            yield read


def _keeps(owner: ast.ClassDef, name: str) -> bool:
    kept = (each for each in nodes_in(owner, ast.Attribute) if not _is_load(each))
    return any(dotted_path(each) == f"self.{name}" for each in kept)


def _hands_itself_on(file: ModuleFile, owner: ast.ClassDef) -> bool:
    """Whether a class does anything with its own object but to ask it for something."""
    for read in nodes_in(owner, ast.Name):
        parent = parents_in(file.tree).get(read) if read.id == "self" and _is_load(read) else None
        is_looked_at = isinstance(parent, ast.Call) and (parent.func is read or last_name(parent.func) in _LOOKED_AT)
        if parent is not None and not isinstance(parent, ast.Attribute) and not is_looked_at:
            return True
    return False


def _function_in(body: Iterable[ast.stmt], name: str) -> FunctionNode | None:
    found = [each for each in body if isinstance(each, _FUNCTIONS) and each.name == name]
    return found[0] if len(found) == 1 else None
