"""The other files of the project, as one analysis uses them: names that are bound when something asks for them.

What another file defines is a value like any other: its functions are run with the arguments of the call, its classes
are bases whose methods are known. Only what is asked for is looked at, each statement once, and nothing is recorded
meanwhile. All of it belongs to one analysis; only the parsed files are shared between analyses, so that no result
depends on what was analysed before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from torchdevlint.flow.scope.fallbacks import gives_an_argument
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import CPU, TOP, literal
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import UNKNOWN, Closure, Const, Dev, Func, Map, Number, Ref, Seq, Value
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import (
    assignment_of,
    ids_below,
    inside,
    is_bare_constant,
    is_below,
    nodes_in,
    once_a_node,
)
from torchdevlint.source.text import Source

MOST_HOPS = 8
"""How many files a name is followed through that each import it from another."""
_MOST_STATEMENTS = 3
"""Of a method that only hands out what its object keeps: a docstring and two more."""


class Imported(Ref, frozen=True):
    """Something imported from a file of the project, which says what it is once it is asked.

    `path` is the file of the module that it comes from, `member` the name there, empty for the module itself.
    """

    path: str
    member: str


_NOTHING = ast.Module([], type_ignores=[])
_NOWHERE = ModuleFile("", Source("", _NOTHING), _NOTHING)


class OtherNames(dict[str, Value]):
    """The names of another file, bound on first use; a name that is being bound is not there yet."""

    def __init__(self, module: ModuleFile, others: OtherFiles) -> None:
        super().__init__()
        self.module = module
        self._others = others
        self._asked: set[str] = set()
        self._ran: set[ast.stmt] = set()

    def bound(self, name: str) -> Value | None:
        """`get`, for code that knows that this is no plain dict: compiled, it would not come to the methods below."""
        if name not in self._asked:
            self._bind(name)
        return super().get(name)

    def get(self, name: str, default: Value | None = None) -> Value | None:  # type: ignore[override]
        if name not in self._asked:
            self._bind(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        if name not in self._asked:
            self._bind(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Value:
        if name not in self._asked:
            self._bind(name)
        return super().__getitem__(name)

    def _bind(self, name: object) -> None:
        if not isinstance(name, str):
            return
        self._asked.add(name)
        statements = self.module.bindings.get(name)
        if statements:
            ran = self._ran.issuperset(statements)
            self._ran.update(statements)
            self._others.run(self, name, () if ran else statements)
            if name in self.module.rebound:
                forget_rebound(self, [name])
            open_settings(self, [name])


def forget_rebound(names: dict[str, Value], rebound: Iterable[str]) -> None:
    """Let go of what names of a module are where its functions bind them as well, by ``global``: None until one has."""
    for each in rebound:
        if isinstance(names.get(each), (Const, Dev, Number)):
            names[each] = UNKNOWN


def forget_filled(names: dict[str, Value], tree: ast.Module) -> None:
    """Let go of what containers of a module hold under keys that its functions write: None until one of them has."""
    if not any(isinstance(each, (Map, Seq)) for each in names.values()):
        return
    functions = functions_in(tree)
    for target in nodes_in(tree, ast.Subscript):
        if isinstance(target.ctx, ast.Store) and isinstance(target.value, ast.Name):
            held = names.get(target.value.id)
            if not isinstance(held, (Map, Seq)) or not any(is_below(target, each) for each in functions):
                continue
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            if isinstance(held, Map):
                items = tuple((at, _unless_said(each) if key in (None, at) else each) for at, each in held.items)
                names[target.value.id] = Map(items, held.element, held.closed)
            elif isinstance(held, Seq) and held.items is not None:
                names[target.value.id] = Seq(tuple(map(_unless_said, held.items)), held.element, held.members)


def _unless_said(value: Value) -> Value:
    return UNKNOWN if isinstance(value, (Const, Dev, Number)) else value


def settings_of(names: Iterable[str], tree: ast.Module, names_cuda: bool) -> list[str]:
    """The names of a module that users edit where they say CPU.

    Where the file names CUDA, it is only what a constant of the module has chosen: ``"cuda" if USE_CUDA else "cpu"``.
    """
    if not names_cuda:
        return list(names)
    bound = (each for each in map(assignment_of, tree.body) if each is not None)
    chosen = (each for each in bound if any(isinstance(part, ast.IfExp) for part in inside(each.value)))
    return [target.id for each in chosen for target in each.targets if isinstance(target, ast.Name)]


def open_settings(names: dict[str, Value], which: Iterable[str]) -> None:
    """Let go of where the names of a module say CPU: ``DEVICE = "cpu"`` is what users edit, and may be any device."""
    for each in which:
        value = names.get(each)
        named = literal(value.value) if type(value) is Const and isinstance(value.value, str) else value
        if (named.device if type(named) is Dev else named) == CPU:
            names[each] = Dev(TOP)


class OtherFiles:
    """What one analysis knows of the files that its file imports from, directly or not.

    `run` executes statements of the top level of one of them, and gives the touch of CUDA that they left.
    """

    def __init__(self, run: Callable[[OtherNames, Sequence[ast.stmt]], Touch | None], project: Project) -> None:
        self._run: Callable[[OtherNames, Sequence[ast.stmt]], Touch | None] | None = run
        self.project = project
        self.home = project.path
        self.names: dict[str, OtherNames] = {}
        self._touches: dict[str, Touch | None] = {}

    def let_go(self) -> None:
        """Cut the references that run in circles."""
        for names in self.names.values():
            names.clear()
            names.module = _NOWHERE
        self.names.clear()
        self.project = Project(self.home, self.project.library)  # functions inside of functions hold on to this
        self._run = None

    def locate(self, names: Closure, module: str, level: int) -> str | None:
        """The file that an import leads to, in a frame with these names."""
        other = owner_of(names)
        importer = self.home if other is None else other.module.path
        found = self.project.locate(importer, module, level)
        return None if found == self.home else found

    def value(self, imported: Imported) -> Value | None:
        """What an import brings, be it a module of a package, or None where that is not known."""
        found: Value | None = imported
        for _ in range(MOST_HOPS):
            if not isinstance(found, Imported):
                return found
            if not found.member:
                return None if found is imported else found
            found = self.member(found.path, found.member, found.name)
        return None

    def member(self, path: str, name: str, full: str) -> Value | None:
        """A name of the module at `path`: what it binds, what it has from a star, or a module below it."""
        names = self.of(path)
        if names is not None:
            self.project.used(path, name, names.module)
            found = names.bound(name)
            if found is not None or name in names.module.bindings:
                return found
            for module, level in names.module.stars:
                found = self._from_star(path, module, level, name, full)
                if found is not None:
                    return found
        below_it = self.project.submodule(path, name)
        return None if below_it is None or below_it == self.home else Imported(full, below_it, "")

    def _from_star(self, importer: str, module: str, level: int, name: str, full: str) -> Value | None:
        path = self.project.locate(importer, module, level)
        names = self.of(path) if path is not None and path not in (importer, self.home) else None
        if path is None or names is None or not self.is_exported(names, name):
            return None
        return Imported(full, path, name) if names.module.bindings.get(name) or names.module.stars else None

    def is_exported(self, names: OtherNames, name: str) -> bool:
        """Whether ``import *`` brings it."""
        self.project.used(names.module.path, "__all__", names.module)
        listed = names.module.exported
        return name in listed if listed is not None else not name.startswith("_")

    def of(self, path: str) -> OtherNames | None:
        """The names of the file at `path`, or None for a folder and for what cannot be read."""
        found = self.names.get(path)
        if found is None and path.endswith(".py"):
            module = self.project.library.get(path)
            if module is None:
                self.project.used(path, "", None)
                return None
            found = self.names[path] = OtherNames(module, self)
        return found

    def run(self, names: OtherNames, name: str, statements: tuple[ast.stmt, ...]) -> None:
        """Run what binds `name` at the top level of another file, of which nothing may be left."""
        self.project.used(names.module.path, name, names.module)
        if statements:
            self._run_elsewhere(names, statements)

    def touch_of(self, path: str) -> Touch | None:
        """The call that makes CUDA read the visible devices when the file at `path` is imported."""
        if path not in self._touches:
            self._touches[path] = None
            names = self.of(path)
            if names is not None:
                self.project.used(path, "", names.module)
                self._touches[path] = self._run_elsewhere(names, names.module.importable)
        return self._touches[path]

    def _run_elsewhere(self, names: OtherNames, statements: Sequence[ast.stmt]) -> Touch | None:
        assert self._run is not None, "the analysis has ended"
        return self._run(names, statements)

    def texts_used(self) -> Iterator[str]:
        """The texts of what was used of these files so far."""
        for module, names in self.project.names.values():
            if module is not None:
                yield from (module.text_of(name) for name in names)

    def holding(self, node: ast.AST) -> ModuleFile | None:
        """The file that a node stands in, if it is one of these."""
        return next((each.module for each in self.names.values() if holds(each.module.tree, node)), None)


def resolved(value: Value | None, others: OtherFiles | None) -> Value | None:
    """What was imported, where a file of the project says it."""
    return others.value(value) if others is not None and isinstance(value, Imported) else value


def named(value: Value | None, node: ast.expr, others: OtherFiles | None) -> Value | None:
    """What a chain of names means, of which `value` is the first: ``Stack``, ``layers.Stack`` of another file.

    ``from . import layers`` names a file as well.
    """
    for name in (dotted_path(node) or "").split(".")[1:]:
        module = resolved(value, others)
        if others is None or not isinstance(module, Imported):
            return None
        value = others.member(module.path, name, f"{module.name}.{name}")
    return resolved(value, others)


def owner_of(closure: Closure) -> OtherNames | None:
    """The other file whose code sees these names; None for code of the file that is analysed."""
    last = closure.scopes[-1] if closure.scopes else None
    return last if isinstance(last, OtherNames) else None


def is_elsewhere(function: Func) -> bool:
    """Whether a function is defined in another file."""
    return owner_of(function.closure) is not None


def is_worth_running(function: Func) -> bool:
    """Whether a function is one of the file that is analysed, or has anything to do with tensors.

    One that does nothing in a class is there for others to override; one inside of a function that is run is a part
    of that.
    """
    if function.owner is not None and _does_nothing(function.node):
        return False
    names = owner_of(function.closure)
    of_module = function.owner is not None and function.owner.is_module
    if names is None or of_module or function.closure.scopes[0] is not names:
        return True
    worth = names.module.speaks_of_tensors(function.node) or _hands_out(function, names.module)
    return worth or gives_an_argument(function.node)


def _hands_out(function: Func, module: ModuleFile) -> bool:
    """Whether a method of one or two statements reads an attribute of `self` that a method makes of tensors."""
    body = getattr(function.node, "body", None)
    if function.owner is None or not isinstance(body, list) or len(body) > _MOST_STATEMENTS:
        return False
    writers = function.owner.writers
    read = {each.attr for each in nodes_in(function.node, ast.Attribute) if dotted_path(each.value) == "self"}
    made = (writer for name in read for writer in writers.get(name, ()))
    return any(isinstance(writer, ast.stmt) and module.speaks_of_tensors(writer) for writer in made)


@once_a_node
def _does_nothing(function: ast.AST) -> bool:
    """Whether a body is ``pass``, ``...`` or a docstring."""
    body = getattr(function, "body", None)
    return isinstance(body, list) and all(isinstance(each, ast.Pass) or is_bare_constant(each) for each in body)


def holds(tree: ast.Module, node: ast.AST) -> bool:
    """Whether the very node is one of the tree."""
    return node is tree or id(node) in _ids_in(tree)


_ids_in = once_a_node(ids_below)
