"""Lost moves that nobody misses, since whatever reads the value brings it to a device itself.

It is moved where it is read, or with what is made of it alone (``Uniform(-x, x).rsample().to(device)``), or given to a
function of the project that does so in the arms which that call takes; or it is copied into a slice, or is an index,
from any device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.lost.moved_results import later_reads, moves_to_device, statements_behind
from torchdevlint.flow.programs.texts.asked_tests import asked_before
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import defaults, dotted_path, has_stars, positional_names, public_path, whole_of
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignment_of, inside, nodes_in

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TOLD = frozenset({"shape", "size", "dim", "ndim", "dtype", "numel"})
"""What is asked of a tensor wherever it is."""
_COUNTS = frozenset({"range", "len", "int", "enumerate"})
_DRAWN = frozenset(
    "torch.randperm torch.arange torch.randint range slice random.sample numpy.random.permutation".split()
)
"""What gives indices, on the CPU unless it is told a device."""
_MOST_HOPS = 3
_Given = Mapping[str, ast.expr | None]
_Known = Mapping[str, object]
"""The parameters that a call gives as constants."""


def is_moved_by_readers(tree: ast.Module, fact: DiscardedMove, project: Project) -> bool:
    """Whether each read of what a function makes, and moves in vain, moves it from there on, or needs it nowhere."""
    function = first_holding(nodes_in(tree, ast.FunctionDef), fact.at.row)
    later = later_reads(tree, fact)
    own = project.library.get(project.path) if later else None
    if function is None or own is None or not later:
        return False
    readers = Readers(own, project, function, {})
    return all(map(readers.move, _until_bound_anew(tree, fact, later)))


def _until_bound_anew(tree: ast.Module, fact: DiscardedMove, later: list[ast.Name]) -> list[ast.Name]:
    """The reads behind a lost move up to the statement of its block that binds the name to something else."""
    behind = statements_behind(tree, fact)
    last = next((at for at, each in enumerate(behind) if _binds_alone(each, fact.receiver)), None)
    if last is None:
        return later
    reached = {id(each) for statement in behind[: last + 1] for each in nodes_in(statement, ast.Name)}
    return [each for each in later if id(each) in reached]


def _binds_alone(statement: ast.stmt, name: str) -> bool:
    bound = assignment_of(statement)
    return bound is not None and bound.value is not None and [dotted_path(each) for each in bound.targets] == [name]


class Readers:
    """What is done in one function with what a name stands for, where a call gives it what is `known`."""

    def __init__(
        self,
        file: ModuleFile,
        project: Project,
        function: FunctionNode | ast.Module,
        known: _Known,
        hops: int = _MOST_HOPS,
    ) -> None:
        self._file = file
        self._project = project
        self._function = function
        self._known = known
        self._hops = hops
        self._around = {id(part): node for node in inside(function) for part in ast.iter_child_nodes(node)}

    def move_argument(self, name: str) -> bool:
        """Whether the function moves an argument wherever it reads it, until it binds the name to what was moved."""
        is_read = False
        for statement in self._function.body:
            named = (each for each in nodes_in(statement, ast.Name) if each.id == name)
            reads = [each for each in named if self._is_taken(each)]
            if any(map(_is_bound, reads)):
                return _binds_alone(statement, name) and all(self.move(each) for each in reads if not _is_bound(each))
            if not all(self.move(each) for each in reads):
                return False
            is_read = is_read or bool(reads)
        return is_read

    def move(self, read: ast.Name | ast.Attribute) -> bool:
        """Whether what is read, a name or what an object keeps, is moved there, or does not have to be."""
        node: ast.AST = read
        parent = self._around.get(id(read))
        if isinstance(parent, ast.Attribute) and parent.attr == "data":
            node, parent = parent, self._around.get(id(parent))
        if isinstance(parent, ast.Assign) and node is parent.value:
            return all(isinstance(each, ast.Subscript) for each in parent.targets)
        if self._is_asked(node):
            return True
        if self._is_an_index(read):
            return True
        return self._is_moved_with_all(read) or self._is_given_to_what_moves(node, parent)

    def _is_asked(self, node: ast.AST) -> bool:
        """Whether only its size or the like is asked for, be it behind methods: ``labels.unique().shape[0]``."""
        parent = self._around.get(id(node))
        while isinstance(parent, ast.Attribute) and torch_api.is_of_tensors(parent.attr) and parent.attr not in TOLD:
            call = self._around.get(id(parent))
            if not isinstance(call, ast.Call) or call.func is not parent or call.args or call.keywords:
                return False
            parent = self._around.get(id(call))
        return isinstance(parent, ast.Attribute) and parent.attr in TOLD

    def _is_an_index(self, read: ast.expr) -> bool:
        """Whether it, or a part of it, is what a tensor is indexed by: from the CPU it goes with any."""
        node: ast.AST = read
        parent = self._around.get(id(node))
        while isinstance(parent, ast.Subscript) and parent.value is node:
            node, parent = parent, self._around.get(id(parent))
        return isinstance(parent, ast.Subscript) and parent.slice is node

    def _is_taken(self, read: ast.Name) -> bool:
        """Whether the function comes to a place, as far as what it is given decides."""
        asked = asked_before(self._function.body, read.lineno)
        return all(_outcome(test, self._known) in (outcome, None) for test, outcome in asked)

    def _is_moved_with_all(self, read: ast.expr) -> bool:
        """Whether an expression around what is read is moved as a whole, and made of nothing else but numbers."""
        node: ast.AST = read
        while isinstance(node, (ast.expr, ast.keyword)):
            parent = self._around.get(id(node))
            call = self._around.get(id(parent)) if isinstance(parent, ast.Attribute) else None
            if isinstance(call, ast.Call) and parent is call.func and moves_to_device(call):
                return isinstance(node, ast.expr) and self.is_made_of(node, read)
            if not isinstance(parent, (ast.expr, ast.keyword)):
                return False
            node = parent
        return False

    def is_made_of(self, node: ast.expr, read: ast.expr) -> bool:
        """Whether an expression is made of nothing but what is read, numbers, and what is imported."""
        path = dotted_path(read)
        parts = [each for each in (node, *inside(node)) if isinstance(each, (ast.Name, ast.Attribute))]
        own = {id(each.value) for each in parts if isinstance(each, ast.Attribute) and dotted_path(each) == path}
        names = {each.id for each in parts if isinstance(each, ast.Name) and id(each) not in own}
        plain = (each for each in names if each != path and not self._is_imported(each))
        return all(self._is_number(each) or self._is_on_cpu(each, node) for each in plain)

    def _is_on_cpu(self, name: str, node: ast.expr) -> bool:
        """Whether a name is read in an index alone, and bound to what was drawn or counted on the CPU, or kept so."""
        slices = [each.slice for each in (node, *inside(node)) if isinstance(each, ast.Subscript)]
        indices = {id(each) for index in slices for each in (index, *inside(index))}
        read = [each for each in (node, *inside(node)) if isinstance(each, ast.Name) and each.id == name]
        values = [whole_of(each) for each in values_by_path(self._function).get(name, [])]
        kept = values_by_path(self._file.tree)
        made = [one for each in values for one in kept.get(dotted_path(each) or "", [each])]
        return bool(made) and all(id(each) in indices for each in read) and all(map(_is_drawn, made))

    def _is_imported(self, name: str) -> bool:
        statements = self._file.bindings.get(name, ())
        is_local = any(each.id == name for each in nodes_in(self._function, ast.Name) if _is_bound(each))
        return bool(statements) and all(map(_is_import, statements)) and not is_local

    def _is_number(self, name: str) -> bool:
        """Whether a name is that of a count, of one constant, or a parameter that is a number where nobody gives it."""
        if isinstance(self._known.get(name), (int, float)):
            return True
        by_default = {} if isinstance(self._function, ast.Module) else dict(defaults(self._function))
        if isinstance(by_default.get(name), ast.Constant):
            return True
        values = values_by_path(self._function).get(name, [])
        bound = [each for each in nodes_in(self._function, ast.Name) if each.id == name and _is_bound(each)]
        if len(values) == len(bound) == 1 and isinstance(values[0], ast.Constant):
            return True
        loops = [each for each in nodes_in(self._function, ast.For) if dotted_path(each.target) == name]
        counted = [each.iter.func for each in loops if isinstance(each.iter, ast.Call)]
        return bool(loops) and len(counted) == len(loops) and all(dotted_path(each) in _COUNTS for each in counted)

    def _is_given_to_what_moves(self, given: ast.AST, parent: ast.AST | None) -> bool:
        """Whether it is an argument of a function of the project, which moves it; or only counted."""
        if isinstance(parent, ast.keyword):
            given, parent = parent.value, self._around.get(id(parent))
        if not isinstance(parent, ast.Call) or given is parent.func or has_stars(parent) or self._hops == 0:
            return False
        if dotted_path(parent.func) == "len":
            return True
        called = self._called(parent)
        if called is None:
            return False
        file, function = called
        names = positional_names(function)
        values = {name: argument_of(parent, function, name, is_bound=False) for name in names}
        name = next((name for name, value in values.items() if value is given), None)
        known = dict(_constants(values, dict(defaults(function))))
        return name is not None and Readers(file, self._project, function, known, self._hops - 1).move_argument(name)

    def _called(self, call: ast.Call) -> tuple[ModuleFile, FunctionNode] | None:
        """The function of the top level that a call is of, in this file or another one."""
        path = dotted_path(call.func) or ""
        led = defined(self._project, self._file.path, self._file.tree, path) if path else None
        file, name = (self._file, path) if led is None else led
        found = [each for each in file.tree.body if isinstance(each, _FUNCTIONS) and each.name == name]
        return (file, found[0]) if len(found) == 1 and not found[0].decorator_list else None


def _is_drawn(node: ast.expr) -> bool:
    """``torch.randperm(n)`` and the like, of no device."""
    is_made = isinstance(node, ast.Call) and public_path(node.func) in _DRAWN
    return is_made and all(each.arg not in (None, "device") for each in nodes_in(node, ast.keyword))


def _is_bound(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _constants(values: _Given, left: _Given) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        said = left.get(name) if value is None else value
        if isinstance(said, ast.Constant):
            yield name, said.value


def _outcome(test: ast.expr, known: _Known) -> bool | None:
    """What a test says of parameters that are known: ``if l:``, ``if l == False:``, ``if l or depth == 0:``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = _outcome(test.operand, known)
        return None if found is None else not found
    if isinstance(test, ast.BoolOp):
        ends = isinstance(test.op, ast.Or)
        outcomes = [_outcome(each, known) for each in test.values]
        return ends if ends in outcomes else None if None in outcomes else not ends
    if isinstance(test, ast.Name):
        return bool(known[test.id]) if test.id in known else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        name, value = dotted_path(test.left), test.comparators[0].value
        if name is not None and name in known and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
            return (known[name] == value) is isinstance(test.ops[0], (ast.Eq, ast.Is))
    return None
