"""What one program of a project runs: the functions and methods that it comes to, from its first line on.

This is rapid type analysis. A name means what it resolves to, be it through imports; a method counts where the program
comes to its class and reads an attribute of that name. What may be called otherwise, by a library or a text, counts.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from torchdevlint.flow.programs.reached.unseen_calls import is_called_unseen, is_of_modules, phases_of
from torchdevlint.flow.programs.texts.leading_names import LIGHTNING
from torchdevlint.flow.programs.texts.looked_up import looked_up_in
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.programs.texts.reads import read_by
from torchdevlint.flow.programs.texts.wrapping import may_be_found
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.imported_names import definitions, gives_library
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.patterns import LinePattern
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_MOST_FILES = 120
"""Where a program imports more files of its project, what it runs is not known."""
_MOST_HOPS = 6
"""How many modules hand a name on, and how many bases a class has."""
_SHORTEST = 3
"""So many letters of a name that is put together are written down."""
LOOKING_UP = frozenset({"eval", "exec", "getattr", "globals", "locals", "vars"})
"""What may give anything that a text names."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set)
_CALLING_NOTHING = frozenset(
    "object torch.nn.Module abc.ABC torch.utils.data.Dataset torch.utils.data.dataset.Dataset enum.Enum dict list "
    "torch.utils.data.IterableDataset Exception ValueError typing.NamedTuple typing.Protocol typing.Generic".split()
)
"""Bases that call no method but those which the language or torch calls of every object."""
_CALLING_NO_OTHERS = _CALLING_NOTHING | LIGHTNING
_BUILT_IN = frozenset(vars(builtins))
_DERIVED = LinePattern(r"__(?:init_subclass|subclasses)__", "__init_subclass__ __subclasses__")
"""What hears of each class that is derived from another one."""


_Class = tuple[str, int]


class Running:
    """One program, which is started as the file `program`, or as one of its `commands`.

    Nothing of a file is run that `ends` when it is imported.
    """

    def __init__(
        self,
        program: ModuleFile,
        project: Project,
        ends: Callable[[ModuleFile], bool],
        commands: Iterable[str] = (),
    ) -> None:
        self.program = program
        self._project = project
        self._ends = ends
        self.commands = commands
        self._files: dict[str, ModuleFile] = {}
        self._come_to: set[tuple[str, int]] = set()
        """The definitions, by their file and line, that it comes to."""
        self.scopes: list[tuple[Scope, ast.stmt]] = []
        """The code that it runs: functions, and statements of the top level and of classes."""
        self.looked_up: set[tuple[str, int]] = set()
        """The definitions that it may look up by a text."""
        self._waiting: defaultdict[str, list[tuple[Scope, ast.stmt]]] = defaultdict(list)
        """The methods of the classes that it comes to, by their names, which nothing has read so far."""
        self._read: set[str] = set()
        """The attributes that are read of what is not known."""
        self._asked: defaultdict[str, set[_Class]] = defaultdict(set)
        """The classes that are asked for an attribute, or their objects."""
        self._lines: dict[_Class, frozenset[_Class]] = {}
        """The classes that it comes to, each with those that it is derived from, and itself."""
        self._texts: set[str] = set()
        self._bound: dict[tuple[str, str], list[tuple[ModuleFile, ast.stmt]]] = {}
        self._left: list[tuple[Scope, ast.stmt]] = []

    @cached_property
    def is_known(self) -> bool:
        """Whether all that it runs is seen."""
        looked_up: list[tuple[ModuleFile, str]] = []
        left = [self.program]
        while left:
            more = self._brought_by(left)
            if more is None:
                return False
            looked_up += more
            left = [each for each, _ in more if each.path not in self._files]
        self._follow_all(looked_up)
        return True

    def _brought_by(self, files: list[ModuleFile]) -> list[tuple[ModuleFile, str]] | None:
        """What is looked up by a text in some files and all that these import; None where that is not known."""
        found: list[tuple[ModuleFile, str]] = []
        paths = self._project.import_closure([each.path for each in files], _MOST_FILES)
        new = [each for each in paths or () if each not in self._files]
        for path in new:
            module = self.program if path == self.program.path else self._project.library.get(path)
            self._project.used(path, "", module)
            looked_up = None if module is None else looked_up_in(module, self._project)
            if module is None or looked_up is None:
                return None
            self._files[path] = module
            found += looked_up
        return None if paths is None or len(self._files) > _MOST_FILES else found

    def file(self, path: str) -> ModuleFile | None:
        """One of the files that it is made of, once `is_known` is asked."""
        return self._files.get(path)

    def comes_to(self, home: str, line: int) -> bool:
        """Whether it runs a line of the file at `home`, once `is_known` is asked."""
        file = self._files.get(home)
        if file is None:
            return False
        around = first_holding(file.tree.body, line)
        if not isinstance(around, _DEFINITIONS):
            return around is None or not is_main_guard(around) or file is self.program
        inner = first_holding(around.body, line) if isinstance(around, ast.ClassDef) else None
        held = [around, *([inner] if isinstance(inner, _FUNCTIONS) else [])]
        return all((home, each.lineno) in self._come_to for each in held)

    def _follow_all(self, looked_up: list[tuple[ModuleFile, str]]) -> None:
        for module, beginning in looked_up:
            self._come_to_names(module, beginning)
        for name in self.commands:
            for home, definition in self.bound(self.program, name):
                self._come(home, definition)
        for file in [each for each in self._files.values() if not self._ends(each)]:
            for statement in file.tree.body:
                self._begin(file, statement)
        while self._left or (self._texts and "getattr" in self._read):
            if not self._left:
                texts = tuple(each for each in self._texts if len(each) >= _SHORTEST)
                self._read_attributes([each for each in self._waiting if each.startswith(texts)])
                self._texts = set()
                continue
            scope, node = self._left.pop()
            self._follow(scope, node)

    def _begin(self, file: ModuleFile, statement: ast.stmt) -> None:
        """What an import of the file, or its start, runs of a statement of the top level."""
        if is_main_guard(statement) and file is not self.program:
            return
        if isinstance(statement, _DEFINITIONS):
            for each in statement.decorator_list:
                self._leave(Scope(file, self._project), ast.Expr(each))
            if may_be_found(statement, file, self._project) or (
                isinstance(statement, ast.ClassDef) and self._finds_derived(statement)
            ):
                self._come(file, statement)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)) and not _is_table(statement):
            self._leave(Scope(file, self._project), statement)

    def _finds_derived(self, owner: ast.ClassDef) -> bool:
        """Whether the program may find a class by one that it is derived from: ``Base.__subclasses__()``."""
        made = any(last_name(each.value) != "ABCMeta" for each in owner.keywords)
        return made or (bool(owner.bases) and self._asks_for_derived)

    @cached_property
    def _asks_for_derived(self) -> bool:
        return any(_DERIVED.is_in(each.source.text) for each in self._files.values())

    def _come(self, file: ModuleFile, statement: ast.stmt) -> None:
        """What is bound by a statement of the top level is read."""
        if (file.path, statement.lineno) in self._come_to:
            return
        self._come_to.add((file.path, statement.lineno))
        if isinstance(statement, ast.ClassDef):
            self._come_to_class(file, statement)
        elif isinstance(statement, _FUNCTIONS):
            self._leave(Scope(file, self._project, statement), statement)
        elif _is_table(statement):
            self._leave(Scope(file, self._project), statement)

    def _come_to_class(self, file: ModuleFile, owner: ast.ClassDef) -> None:
        scope = Scope(file, self._project, None, owner)
        for read in (*owner.bases, *(each.value for each in owner.keywords)):
            self._leave(scope, ast.Expr(read))
        bases = set(self._library_bases(file, owner))
        is_open, of_lightning = not bases <= _CALLING_NO_OTHERS, not bases.isdisjoint(LIGHTNING)
        line = self._lines[file.path, owner.lineno] = frozenset(self._line_of(file, owner))
        self._ask_again(line)
        for each in owner.body:
            if not isinstance(each, _FUNCTIONS):
                self._leave(scope, each)
                continue
            method = Scope(file, self._project, each, owner)
            if (
                is_open
                or is_called_unseen(each, file, self._project, phases=self._phases, of_lightning=of_lightning)
                or self._is_asked(method, each.name)
            ):
                self._come_to_method(method, each)
            else:
                self._waiting[each.name].append((method, each))

    def _come_to_method(self, scope: Scope, method: ast.stmt) -> None:
        self._come_to.add((scope.file.path, method.lineno))
        self._leave(scope, method)

    def _library_bases(self, file: ModuleFile, owner: ast.ClassDef, hops: int = _MOST_HOPS) -> Iterator[str]:
        """The public names of the classes of libraries that a class is derived from; "" for what is not known."""
        for base in owner.bases if hops else ():
            path, public = dotted_path(base), public_path(base)
            if public in _CALLING_NO_OTHERS:
                yield public
                continue
            found = [] if path is None else list(self.bound(file, path))
            for home, each in found:
                yield from self._library_bases(home, each, hops - 1) if isinstance(each, ast.ClassDef) else ("",)
            if not found:
                yield ""
        if not hops:
            yield ""

    @cached_property
    def _phases(self) -> frozenset[str]:
        return phases_of(self._files.values())

    def _leave(self, scope: Scope, node: ast.stmt) -> None:
        """Put aside what is run, to be read in its turn."""
        self._left.append((scope, node))

    def _follow(self, scope: Scope, node: ast.stmt) -> None:
        self.scopes.append((scope, node))
        read = read_by(node)
        self._texts |= read.texts
        self._read_attributes(read.attributes)
        for path, name in read.asked:
            self._ask(scope, path, name)
        if "getattr" in read.paths:
            self._read.add("getattr")
        for path in read.paths:
            for home, statement in self.bound(scope.file, path):
                self._come(home, statement)

    def _read_attributes(self, names: Iterable[str]) -> None:
        for name in names:
            self._read.add(name)
            for scope, method in self._waiting.pop(name, ()):
                self._come_to_method(scope, method)

    def _ask(self, scope: Scope, path: str, name: str) -> None:
        """What goes by a path of names is asked for an attribute: methods of its class alone, where that is known."""
        if path == "self":
            classes = {(scope.file.path, scope.owner.lineno)} if scope.owner is not None else None
        elif is_of_modules(scope.file, path) or gives_library(self._project, scope.file.path, scope.file.tree, path):
            return
        else:
            bound = list(self.bound(scope.file, path))
            is_known = bool(bound) and all(isinstance(each, ast.ClassDef) for _, each in bound) and "." not in path
            classes = {(home.path, each.lineno) for home, each in bound} if is_known else None
        if classes is None:
            self._read_attributes([name])
        elif not classes <= self._asked[name]:
            self._asked[name] |= classes
            self._find_asked(name)

    def _find_asked(self, name: str) -> None:
        """Come to the methods of a name that have waited for one of the classes that are asked for it."""
        waiting = self._waiting.pop(name, [])
        for scope, method in waiting:
            if self._is_asked(scope, name):
                self._come_to_method(scope, method)
            else:
                self._waiting[name].append((scope, method))

    def _is_asked(self, scope: Scope, name: str) -> bool:
        """Whether a method is asked for: of what is not known, or of an object that may be of its class."""
        if name in self._read:
            return True
        own, asked = (scope.file.path, getattr(scope.owner, "lineno", 0)), self._asked.get(name, ())
        return any(own in line and not line.isdisjoint(asked) for line in self._lines.values()) if asked else False

    def _ask_again(self, line: frozenset[_Class]) -> None:
        """A class that comes late has what is asked of those that it is derived from."""
        for name in [each for each, classes in self._asked.items() if each in self._waiting and classes & line]:
            self._find_asked(name)

    def _line_of(self, file: ModuleFile, owner: ast.ClassDef, hops: int = _MOST_HOPS) -> Iterator[_Class]:
        """A class, and those of the project that it is derived from."""
        yield file.path, owner.lineno
        for path in map(dotted_path, owner.bases) if hops else ():
            for home, each in self.bound(file, path) if path is not None else ():
                if isinstance(each, ast.ClassDef):
                    yield from self._line_of(home, each, hops - 1)

    def _come_to_names(self, file: ModuleFile, beginning: str, hops: int = _MOST_HOPS) -> None:
        """All that a module binds under names which begin so, be it with all names of another one."""
        for name in [each for each in file.bindings if each.startswith(beginning)]:
            for home, statement in self.bound(file, name):
                self.looked_up.add((home.path, statement.lineno))
                self._come(home, statement)
        for star in file.stars if hops else ():
            path = self._project.locate(file.path, *star)
            if path in self._files:
                self._come_to_names(self._files[path], beginning, hops - 1)

    def bound(self, file: ModuleFile, path: str) -> list[tuple[ModuleFile, ast.stmt]]:
        """The statements that bind what a path of names means in a file."""
        known = self._bound.get((file.path, path))
        if known is None:
            known = self._bound[file.path, path] = list(self._binding(file, path))
        return known

    def _binding(self, file: ModuleFile, path: str) -> Iterator[tuple[ModuleFile, ast.stmt]]:
        first = path.partition(".")[0]
        statements = file.bindings.get(first, ())
        imported = not statements or any(_imports(each) for each in statements)
        yield from ((file, each) for each in statements if not isinstance(each, (ast.Import, ast.ImportFrom)))
        if imported and (statements or first not in _BUILT_IN):
            for home, name in definitions(self._project, file.path, file.tree, path):
                held = () if self._ends(home) else home.bindings.get(name.partition(".")[0], ())
                yield from ((home, each) for each in held)


@once_a_node
def _imports(statement: ast.stmt) -> bool:
    return any(isinstance(each, (ast.Import, ast.ImportFrom)) for each in inside(statement))


def _is_table(statement: ast.stmt) -> bool:
    """Whether a statement binds a display that calls nothing: whoever reads its name reads what is in there."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return isinstance(value, _TABLES) and not nodes_in(value, ast.Call)
