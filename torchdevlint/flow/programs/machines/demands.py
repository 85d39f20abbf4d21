"""What a program demands: how often it sends something to CUDA without a question, and to a device that was chosen.

A question in one place (``if use_cuda: x = x.cuda()``) is theory where another place that the program comes to asks
nothing: on a machine without CUDA it ends there. A device that was chosen, and that most places take, is another thing:
there what names CUDA is the mistake.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from torchdevlint.flow.programs.texts.cuda_habit import asks_for_devices
from torchdevlint.flow.programs.texts.handed_devices import HandedDevices
from torchdevlint.flow.programs.texts.leading_names import CALLED_BY_TORCH, is_of_a_reader
from torchdevlint.flow.programs.texts.places import holds
from torchdevlint.flow.scope.cuda_literals import Scope, is_settled, needs_cuda
from torchdevlint.flow.scope.decorators import is_of_class
from torchdevlint.flow.scope.names import places_in
from torchdevlint.project.modules import ModuleFile, asks_for_main, is_main_guard
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import once_a_node

_MOST_FILES = 120
"""Where a program imports more files of its project, nothing is known of it."""
_FEWEST, _FOR_EACH_CHOSEN = 5, 2
"""A program names CUDA throughout by so many places, and if they are more than so many for each that was chosen."""
_ASKED, _OPEN, _SURE = range(3)
"""What a test for a device decides, what another one does or a later call, and what is run whenever its function is."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_LATER = (*_DEFINITIONS, ast.Lambda)
_LEAVING = (ast.Return, ast.Continue)

Function = tuple[str, int]
"""The file and the line of a function; 0 for the top level."""


class Demanded(Struct, frozen=True):
    """The functions that send something to CUDA whenever they are run, and how many places do so at all.

    `chosen` is the number of places for which somebody has chosen a device, in the functions `choosing`; `asked` that
    of places that name CUDA where a test for a device decides.
    """

    functions: frozenset[Function] = frozenset()
    cuda: int = 0
    chosen: int = 0
    choosing: frozenset[Function] = frozenset()
    asked: int = 0

    def is_made(self, around: Function, everywhere: bool) -> bool:
        """Whether CUDA is demanded, and not in one function alone; what was chosen must not be of more weight.

        What the function `around` a place demands counts if it is asked for `everywhere`, unless it takes a device that
        was chosen as well, and names CUDA for a few: there that is the mistake, and the place is another one.
        """
        counts = everywhere and (self.is_throughout or around not in self.choosing)
        return self.chosen < self.cuda and any(counts or each != around for each in self.functions)

    @property
    def is_mostly_asked(self) -> bool:
        """Whether more places that name CUDA are decided by a test for a device than are not."""
        return self.asked > self.cuda

    @property
    def is_throughout(self) -> bool:
        """Whether so many places send something to CUDA that one of them is no matter, whichever GPU is chosen."""
        return self.cuda >= _FEWEST and self.cuda > _FOR_EACH_CHOSEN * self.chosen


class Demands:
    """What programs of one project demand; names decide which code they come to."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[str, frozenset[str]], Demanded] = {}

    def of(self, program: ModuleFile, names: frozenset[str] = frozenset()) -> Demanded:
        """What a program demands; with `names`, whoever uses what is called so in a file."""
        key = program.path, names
        if key not in self._known:
            self._known[key] = self._demanded(program, names)
        return self._known[key]

    def are_made(
        self, own: ModuleFile, line: int, made: list[Demanded], everywhere: bool, throughout: bool = False
    ) -> bool:
        """Whether all demand CUDA that come to a line of a file, or if nothing is `made`, whoever uses the code there.

        See `Demanded.is_made` for `everywhere`. Where they may run on another GPU than the current one, they have to
        name CUDA `throughout`.
        """
        around = [each for each in own.tree.body if holds(each, line)]
        inner = [each for outer in around for each in getattr(outer, "body", ()) if holds(each, line)]
        functions = [each for each in (*inner, *around) if isinstance(each, _FUNCTIONS)]
        place = own.path, functions[0].lineno if functions else 0
        if not made and around and isinstance(around[0], _DEFINITIONS) and not any(map(is_of_class, functions)):
            made = [self.of(own, frozenset({around[0].name}))]
        are_many = not throughout or all(each.is_throughout for each in made)
        return bool(made) and are_many and all(each.is_made(place, everywhere) for each in made)

    def _demanded(self, program: ModuleFile, used: frozenset[str]) -> Demanded:
        files = self._with_imported(program)
        if files is None:
            return Demanded()
        tops = [(Scope(each, self._project), _run_by(each, each is program and not used)) for each in files]
        defined = [each for file in files for each in self._defined_in(file)]
        names = set(used).union(*(_names_of(each) for _, block in tops for each in block))
        reached = [(scope, block, 0) for scope, block in tops]
        while hit := [each for each in defined if _is_named(each, names)]:
            defined = [each for each in defined if not _is_named(each, names)]
            names.update(*(_names_of(node) for each in hit for node in _read_with(each)))
            reached += [(each, [each.function], each.function.lineno) for each in hit if each.function is not None]
        return _demanded_in(reached)

    def _with_imported(self, program: ModuleFile) -> list[ModuleFile] | None:
        """The file and what it imports of its project, directly or not; None for too many."""
        paths = self._project.import_closure([program.path], _MOST_FILES)
        if paths is None:
            return None
        found = [program]
        for path in paths[1:]:
            module = self._project.module(path)
            if module is not None:
                found.append(module)
        return found

    def _defined_in(self, file: ModuleFile) -> Iterator[Scope]:
        for each in file.tree.body:
            if isinstance(each, _FUNCTIONS):
                yield Scope(file, self._project, each)
            elif isinstance(each, ast.ClassDef):
                methods = (inner for inner in each.body if isinstance(inner, _FUNCTIONS))
                yield from (Scope(file, self._project, inner, each) for inner in methods)


def _demanded_in(reached: list[tuple[Scope, list[ast.stmt], int]]) -> Demanded:
    handed = HandedDevices((scope, call) for scope, block, _ in reached for call, _ in _calls_within(block))
    functions: set[Function] = set()
    choosing: set[Function] = set()
    cuda = chosen = asked = 0
    for scope, block, line in reached:
        speaks = scope.function is None or scope.file.speaks_of_devices(scope.function)
        for call, kind in _calls_within(block) if speaks else ():
            places = [each for each in places_in(call) if not is_settled(each)]
            if needs_cuda(scope, call) or any(handed.is_so(scope, each) for each in places):
                cuda += kind != _ASKED
                asked += kind == _ASKED
                if kind == _SURE:
                    functions.add((scope.file.path, line))
            elif places:
                chosen += 1
                choosing.add((scope.file.path, line))
    return Demanded(frozenset(functions), cuda, chosen, frozenset(choosing), asked)


def demands_before(scope: Scope, line: int) -> bool:
    """Whether a function, or else the top level of a program, surely sends something to CUDA before a line of it."""
    block = _run_by(scope.file, as_program=True) if scope.function is None else [scope.function]
    calls = (each for each, kind in _calls_within(block) if kind == _SURE and each.lineno < line)
    return any(needs_cuda(scope, each) for each in calls)


def _calls_within(block: list[ast.stmt]) -> Iterator[tuple[ast.Call, int]]:
    return ((node, kind) for each in block for node, kind in _within(each) if isinstance(node, ast.Call))


def _run_by(file: ModuleFile, as_program: bool) -> list[ast.stmt]:
    """The statements that run when a file is started, or imported."""
    return [
        each
        for each in file.tree.body
        if not isinstance(each, _DEFINITIONS) and (as_program or not is_main_guard(each))
    ]


def _is_named(scope: Scope, names: set[str]) -> bool:
    """Whether some names lead to a function, or to a method of a class that they lead to."""
    name: str = scope.function.name  # type: ignore[union-attr]
    if scope.owner is None:
        return name in names
    return scope.owner.name in names and (name in names or name in CALLED_BY_TORCH or name.startswith("__"))


def _read_with(scope: Scope) -> Iterator[ast.stmt]:
    """What is read where a function is reached: itself, and what its class says outside of its methods."""
    if scope.function is not None:
        yield scope.function
    if scope.owner is not None:
        yield from (each for each in scope.owner.body if not isinstance(each, _LATER))
        yield from (ast.Expr(each) for each in scope.owner.bases)


@once_a_node
def _names_of(statement: ast.stmt) -> frozenset[str]:
    """The names and attributes that are read in a statement, but for what a test for a device decides."""
    return frozenset(name for node, kind in _within(statement) if kind != _ASKED for name in _names_at(node))


def _names_at(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute) and not is_of_a_reader(node):
        yield node.attr
    elif isinstance(node, ast.alias) and node.asname:
        yield node.name


@once_a_node
def _within(statement: ast.stmt) -> list[tuple[ast.AST, int]]:
    """The nodes of a statement, or of a function without those that it defines, with what decides over them."""
    found: list[tuple[ast.AST, int]] = []
    level: list[tuple[ast.AST, int]] = [(statement, _SURE)]
    while level:
        found += level
        level = [part for node, kind in level for part in _parts(node, kind, node is statement)]
    return found


def _parts(node: ast.AST, kind: int, is_outermost: bool) -> Iterator[tuple[ast.AST, int]]:
    if isinstance(node, _LATER) and not is_outermost:
        kind = min(kind, _OPEN)
    for name in node._fields:
        value = getattr(node, name, None)
        decides = _decides(node, name, kind)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield each, decides
            if isinstance(each, ast.If) and isinstance(each.body[-1], _LEAVING) and asks_for_devices(each.test):
                decides = _ASKED  # ``if not use_cuda: return x``


def _decides(node: ast.AST, name: str, kind: int) -> int:
    """What decides whether the part of a node under a `name` is run."""
    if isinstance(node, (ast.If, ast.IfExp)) and name in ("body", "orelse"):
        return min(kind, _kind_below(node.test))
    if isinstance(node, ast.BoolOp):
        return min(kind, _kind_below(node.values[0]))
    may_end = isinstance(node, (ast.Try, ast.ExceptHandler, ast.match_case)) and name in ("body", "handlers")
    return min(kind, _OPEN) if may_end else kind


def _kind_below(test: ast.expr) -> int:
    """What a test decides; that something is not there yet is so the first time."""
    if asks_for_devices(test):
        return _ASKED
    is_none = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot))
    return _SURE if is_none or asks_for_main(test) else _OPEN
