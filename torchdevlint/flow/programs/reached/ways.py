"""What surely happens on each way of a program to a place: followed through what it calls, in all files of its project.

A program needs CUDA for a load if what is run before it, or surely right on from there, sends something to CUDA, be it
three calls away. It has written the file itself if it saves under that name before, on each way.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.blocks import (
    LOOPS,
    blocks_of,
    defined_within,
    ends,
    heads,
    is_counted,
    is_endless,
    is_every_so_often,
    is_left,
    leaves,
)
from torchdevlint.flow.programs.texts.cuda_habit import asks_for_devices
from torchdevlint.flow.programs.texts.evaluated import surely_called, surely_read
from torchdevlint.flow.programs.texts.leading_names import leads
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.decorators import is_of_class
from torchdevlint.flow.scope.handled_errors import goes_on
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, is_below, nodes_in, own_nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_MOST_FUNCTIONS = 400
"""So many functions are followed for one program; what more of them do is not known."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_SAME_OBJECT = (
    torch_api.MODULE_MODES | torch_api.MODULE_DTYPES | frozenset(torch_api.DEVICE_METHODS) | {"to", "DataParallel"}
)
"""What gives, or wraps, the object that it is called with."""


class Ways:
    """The ways through the programs of one project, and where `happens` is true of a call on them.

    What comes `after` the place counts as well if it surely does. With `loosely`, what a condition decides in a
    function that is called, or in a loop, counts: the epoch that was best is saved in one of them. An object whose
    class is not known, and that is asked for the `method` with the place, is one of the class which has that. A place
    that the first round of a counted loop leaves out (`in_rounds`) comes after what another round does. It happens as
    well where a name is read of which `reads` is true, or where what follows a statement `requires` it, be it that it
    returns else. With `switched`, what a test for a device decides counts, since it decides over the rest as well.
    """

    def __init__(
        self,
        project: Project,
        happens: Callable[[Scope, ast.Call], bool],
        after: bool = False,
        loosely: bool = False,
        method: Scope | None = None,
        in_rounds: bool = False,
        reads: Callable[[Scope, ast.Name], bool] | None = None,
        switched: bool = False,
        requires: Callable[[ast.stmt, bool], bool] | None = None,
    ) -> None:
        self._project = project
        self._happens = happens
        self._after = after
        self._loosely = loosely
        self._method_there = method
        self._in_rounds = in_rounds
        self._reads = reads
        self._switched = switched
        self._requires = requires
        self._known: dict[ast.AST, bool] = {}
        self._on_the_way: dict[ast.AST | None, bool] = {}

    def are_all_so(self, program: ModuleFile, names: frozenset[str], place: ast.AST | None) -> bool:
        """Whether it happens on each way of a program to a `place`, or by `names` to the functions that lead there."""
        self._on_the_way.clear()
        return self._is_so(Scope(program, self._project), top_level(program.tree), names, place)

    def is_so_within(self, file: ModuleFile, place: ast.AST) -> bool:
        """Whether it happens on each way through the function that holds a `place`, or where its object is made.

        Then it does in all programs that come there, be it known how they do.
        """
        self._on_the_way.clear()
        outer = next((each for each in file.tree.body if is_below(place, each)), None)
        if isinstance(outer, _FUNCTIONS):
            return self._is_so(Scope(file, self._project, outer), outer.body, frozenset(), place)
        if not isinstance(outer, ast.ClassDef):
            return False
        methods = [each for each in outer.body if isinstance(each, _FUNCTIONS)]
        inner = next((each for each in methods if is_below(place, each)), None)
        if inner is None:
            return False
        init = next((each for each in methods if each.name == "__init__"), None)
        is_made_before = init is not None and inner is not init and not is_of_class(inner)
        if is_made_before and init is not None and self._block(Scope(file, self._project, init, outer), init.body):
            return True
        return self._is_so(Scope(file, self._project, inner, outer), inner.body, frozenset(), place)

    def are_so_in(self, scope: Scope, block: Sequence[ast.stmt]) -> bool:
        """Whether it happens on each way through the code of a function, or of a top level."""
        return self._body(scope, scope.function, block) if scope.function is not None else self._block(scope, block)

    def is_so_in_call(self, file: ModuleFile, call: ast.Call) -> bool:
        """Whether it happens in what a call runs, which is called by its name or as a method of an object."""
        outer = next((each for each in file.tree.body if isinstance(each, _DEFINITIONS) and is_below(call, each)), None)
        if not isinstance(outer, ast.ClassDef):
            return self._expression(Scope(file, self._project, outer), call)
        inner = next((each for each in outer.body if isinstance(each, _FUNCTIONS) and is_below(call, each)), None)
        return inner is not None and self._expression(Scope(file, self._project, inner, outer), call)

    def _is_so(self, scope: Scope, block: Sequence[ast.stmt], names: frozenset[str], place: ast.AST | None) -> bool:
        """Whether a block comes to the place, and it happens on each way.

        A function that calls something of its own name, of which nothing is known (``model.train()`` in ``train``),
        comes to the place by another statement, if there is one.
        """
        ways = [number for number, each in enumerate(block) if leads(each, names, place)]
        own = {getattr(scope.function, "name", "")}
        if not own.isdisjoint(names):
            others = [each for each in ways if leads(block[each], names - own, place)]
            ways = others or ways
        return bool(ways) and all(self._is_way_so(scope, block, number, names, place) for number in ways)

    def _is_way_so(
        self, scope: Scope, block: Sequence[ast.stmt], number: int, names: frozenset[str], place: ast.AST | None
    ) -> bool:
        statement = block[number]
        if any(self._is_passed(scope, each) for each in block[:number]):
            return True
        if not scope.file.path.endswith(NOTEBOOK) and any(map(is_endless, block[:number])):
            return True  # no way leads on; cells are run after one that was interrupted
        if self._in_rounds and is_counted(statement) and self._block(scope, statement.body):  # type: ignore[attr-defined]
            return True  # in another round
        if self._after and not leaves(statement):
            after = takewhile(lambda each: not leaves(each), block[number + 1 :])
            if any(self._statement(scope, each) for each in (statement, *after)):
                return True
        inner = [each for each in blocks_of(statement) if any(leads(one, names, place) for one in each)]
        if inner:
            return all(self._is_so(scope, each, names, place) for each in inner)
        return self._is_called_so(scope, statement, names, place)

    def _is_passed(self, scope: Scope, statement: ast.stmt) -> bool:
        """Whether it happens in a statement on each of its ways that lead on, which none does that returns."""
        if self._statement(scope, statement):
            return True
        if not isinstance(statement, ast.If):
            return False
        if self._requires is not None and self._requires(statement, True):
            return True
        arms = [each for each in (statement.body, statement.orelse) if not is_left(each)]
        return bool(arms) and all(any(self._is_passed(scope, each) for each in arm) for arm in arms)

    def _is_called_so(self, scope: Scope, statement: ast.stmt, names: frozenset[str], place: ast.AST | None) -> bool:
        """Whether it happens on the ways through the functions that a statement calls, and that lead on."""
        if place is not None and is_below(place, statement):
            return False
        bodies = [each for call in nodes_in(statement, ast.Call) for each in (self.callee(scope, call),) if each]
        leading = [each for each in bodies if any(leads(one, names, place) for one in each.body)]
        return bool(leading) and all(self._is_led_so(each, names, place) for each in leading)

    def _is_led_so(self, scope: Scope, names: frozenset[str], place: ast.AST | None) -> bool:
        """The same of one function, which several calls may run; one that calls itself is not known."""
        if scope.function not in self._on_the_way:
            self._on_the_way[scope.function] = False
            self._on_the_way[scope.function] = self._is_so(scope, scope.body, names, place)
        return self._on_the_way[scope.function]

    def _block(self, scope: Scope, block: Iterable[ast.stmt], in_some_round: bool = False) -> bool:
        """Whether it surely happens in a block, up to where that may be left, be it in one round of a loop."""
        for each in block:
            loosely = self._loosely or (in_some_round and is_every_so_often(each))
            if self._statement(scope, each, loosely):
                return True
            is_left = leaves(each, in_some_round=in_some_round) or isinstance(each, ast.Continue)
            if is_left and not self._loosely:
                return False
        return False

    def _statement(self, scope: Scope, statement: ast.stmt, loosely: bool = False) -> bool:
        """Whether it happens in a statement in any case; a loop is taken to run."""
        if isinstance(statement, _DEFINITIONS):
            return False
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return self._import(scope, statement)
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Constant):
            return self._block(scope, statement.body if statement.test.value else statement.orelse)
        if self._requires is not None and self._requires(statement, False):
            return True
        if isinstance(statement, ast.If):
            is_open = loosely or (self._switched and asks_for_devices(statement.test))
            blocks = statement.body, statement.orelse
            arms = (self._block(scope, each) or (not is_open and ends(each)) for each in blocks)
            return self._expression(scope, statement.test) or (any(arms) if is_open else all(arms))
        if isinstance(statement, ast.Try):
            caught = [each.body for each in statement.handlers if goes_on(each)]
            tried = statement.body if all(self._block(scope, each) for each in caught) else ()
            return self._block(scope, [*tried, *statement.finalbody])
        if isinstance(statement, (*LOOPS, ast.With, ast.AsyncWith)):
            in_head = any(self._expression(scope, each) for each in heads(statement))
            return in_head or self._block(scope, statement.body, isinstance(statement, LOOPS))
        return not isinstance(statement, ast.Match) and self._expression(scope, statement)

    def _import(self, scope: Scope, statement: ast.Import | ast.ImportFrom) -> bool:
        """Whether it happens as soon as a module of the project is imported."""
        modules = [each.name for each in statement.names]
        level = 0
        if isinstance(statement, ast.ImportFrom):
            modules, level = [statement.module or ""], statement.level
        paths = (self._project.locate(scope.file.path, each, level) for each in modules)
        return any(self._happens_in(each) for each in paths if each is not None and each.endswith(".py"))

    def _happens_in(self, path: str) -> bool:
        module = self._project.module(path)
        if module is None:
            return False
        return self._body(Scope(module, self._project), module.tree, module.importable)

    def _expression(self, scope: Scope, node: ast.AST) -> bool:
        if self._reads is not None and any(self._reads(scope, each) for each in surely_read(node)):
            return True
        for call in surely_called(node):
            if self._happens(scope, call):
                return True
            callee = self.callee(scope, call)
            if callee is not None and callee.function and self._body(callee, callee.function, callee.body):
                return True
        choices = (each for each in inside(node) if isinstance(each, ast.IfExp))
        return any(all(self._expression(scope, arm) for arm in (each.body, each.orelse)) for each in choices)

    def _body(self, scope: Scope, node: ast.AST, body: Sequence[ast.stmt]) -> bool:
        """Whether it happens in a function, or a module that is imported, on every path."""
        if node not in self._known:
            if len(self._known) > _MOST_FUNCTIONS:
                return False
            self._known[node] = False
            self._known[node] = self._block(scope, body)
        return self._known[node]

    def callee(self, scope: Scope, call: ast.Call) -> Scope | None:
        """The function that a call runs, by its name or by the class of the object, where that is of the project.

        ``mp.spawn(worker, ..)`` runs the one that it is given.
        """
        function = call.func
        if last_name(function) == "spawn" and call.args:
            return self._definition(scope, dotted_path(call.args[0]) or "")
        found = self._definition(scope, dotted_path(function) or "")
        if found is not None:
            return self._method(found, "__init__") if isinstance(found.function, ast.ClassDef) else found
        if isinstance(function, ast.Attribute):
            owner = self._class_of(scope, function.value) or self._class_there(scope, function.value)
            method = None if owner is None else self._method(owner, function.attr)
            if method is not None:
                return method
        owner = self._class_of(scope, function)
        return None if owner is None else self._method(owner, "forward") or self._method(owner, "__call__")

    def _class_of(self, scope: Scope, node: ast.expr, hops: int = 4) -> Scope | None:
        """The class of an object: of ``self``, of what is made there, of what a name or attribute alone holds."""
        if hops == 0:
            return None
        path = dotted_path(node)
        if path == "self" and scope.owner is not None:
            return Scope(scope.file, self._project, scope.owner, scope.owner)
        if path is not None:
            values = next((held for each in scope.around if (held := values_by_path(each).get(path))), [])
            return self._class_of(scope, values[0], hops - 1) if len(values) == 1 else None
        if not isinstance(node, ast.Call):
            return None
        found = self._definition(scope, dotted_path(node.func) or "")
        if found is not None:
            return found if isinstance(found.function, ast.ClassDef) else self._class_of_result(found, hops)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_OBJECT:
            wrapped = node.args[:1] if node.func.attr == "DataParallel" else []
            return self._class_of(scope, [node.func.value, *wrapped][-1], hops - 1)
        return None

    def _class_there(self, scope: Scope, node: ast.expr) -> Scope | None:
        """The class that has the method with the place, if an object is asked for that in the same function."""
        there, path = self._method_there, dotted_path(node)
        if there is None or there.owner is None or path is None:
            return None
        asked = f"{path}.{getattr(there.function, 'name', '')}"
        around = scope.function or scope.tree
        if not any(dotted_path(each.func) == asked for each in nodes_in(around, ast.Call)):
            return None
        return Scope(there.file, self._project, there.owner, there.owner)

    def _class_of_result(self, function: Scope, hops: int) -> Scope | None:
        """The class of what a function makes and returns, where it returns one thing alone."""
        returned = [] if function.function is None else own_nodes_in(function.function, ast.Return)
        value = returned[0].value if len(returned) == 1 else None
        return None if value is None else self._class_of(function, value, hops - 1)

    def _definition(self, scope: Scope, path: str) -> Scope | None:
        """The function in this one, the function or class of the top level, or the method, that a path means."""
        if not path or path.startswith("self."):
            return None
        inner = defined_within(scope.body if isinstance(scope.function, _FUNCTIONS) else (), path)
        if inner is not None:
            return Scope(scope.file, self._project, inner, scope.owner)
        file, name = scope.file, path
        if path.partition(".")[0] not in _defined_in(file.tree):
            led = defined(self._project, file.path, file.tree, path)
            if led is None:
                return None
            file, name = led
        first, _, method = name.partition(".")
        node = _defined_in(file.tree).get(first)
        if node is None:
            return None
        if not isinstance(node, ast.ClassDef):
            return None if method else Scope(file, self._project, node)
        found = Scope(file, self._project, node, node)
        return self._method(found, method) if method else found

    def _method(self, owner: Scope, name: str, hops: int = 6) -> Scope | None:
        """A method of a class, or of the nearest base of the project that has it."""
        node = owner.function
        if not isinstance(node, ast.ClassDef) or hops == 0:
            return None
        for each in node.body:
            if isinstance(each, _FUNCTIONS) and each.name == name:
                return Scope(owner.file, self._project, each, owner.owner)
        bases = (self._definition(owner, dotted_path(each) or "") for each in node.bases)
        methods = (self._method(each, name, hops - 1) for each in bases if each is not None)
        return next((each for each in methods if each is not None), None)


def _defined_in(tree: ast.Module) -> dict[str, ast.stmt]:
    return {each.name: each for each in tree.body if isinstance(each, _DEFINITIONS)}


def top_level(tree: ast.Module) -> list[ast.stmt]:
    """What the program of a file runs, one after the other."""
    return [inner for each in tree.body for inner in (each.body if is_main_guard(each) else (each,))]  # type: ignore[attr-defined]
