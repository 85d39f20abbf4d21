"""The functions and classes of one program: their methods, bases and code, by file and line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchdevlint.flow.programs.reached.running import Running
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

PLACED = "placed"
Definition = tuple[str, int]
"""A function or class, by its file and line."""


class Object(NamedTuple):
    """An object of a class."""

    of: Definition


Token = str | Definition | Object
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CONSTANTS = frozenset(f"enum.{each}" for each in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))


class Definitions:
    """What a program comes to, once `running` knows it."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.scope_of: dict[Definition, tuple[Scope, FunctionNode]] = {}
        """The functions, each with the method or function of the top level that it stands in."""
        self.bases: dict[Definition, list[Definition]] = {}
        """The classes, with those of the program that they are derived from."""
        self._methods: defaultdict[str, list[Definition]] = defaultdict(list)
        self._of_class: defaultdict[Definition, dict[str, Definition]] = defaultdict(dict)
        self._derived: dict[Definition, list[Definition]] = {}
        self._class_of: dict[Definition, Definition] = {}
        self._own: defaultdict[Definition, set[str]] = defaultdict(set)
        """The attributes that the methods of a class set of its objects."""
        self._constants: set[Definition] = set()
        """The classes whose objects are constants: `Enum`."""
        for scope, node in running.scopes:
            self._register(scope, node)

    def is_method(self, function: Token) -> bool:
        """Whether a function is a method."""
        return function in self._class_of

    def _register(self, scope: Scope, node: ast.stmt) -> None:
        path = scope.file.path
        for each in (node, *functions_in(node)):
            if isinstance(each, _FUNCTIONS):
                self.scope_of[path, each.lineno] = scope, each
        if scope.owner is None:
            return
        owner = path, scope.owner.lineno
        if owner not in self.bases:
            bases = (dotted_path(each) for each in scope.owner.bases)
            found = [each for base in bases if base for each in self._running.bound(scope.file, base)]
            if any(public_path(each) in _CONSTANTS for each in scope.owner.bases):
                self._constants.add(owner)
            self.bases[owner] = [(home.path, each.lineno) for home, each in found if isinstance(each, ast.ClassDef)]
            for held in self.bases[owner]:
                self._derived.setdefault(held, []).append(owner)
        self._own[owner] |= own_attributes_set_in(node)
        if isinstance(node, _FUNCTIONS):
            self._methods[node.name].append((path, node.lineno))
            self._of_class[owner][node.name] = path, node.lineno
            self._class_of[path, node.lineno] = owner

    def line_of(self, owner: Definition) -> set[Definition]:
        """A class, and those of the program that it is derived from."""
        found, level = {owner}, [owner]
        while level:
            level = [each for one in level for each in self.bases.get(one, ()) if each not in found]
            found.update(level)
        return found

    def related(self, owner: Definition) -> set[Definition]:
        """The classes of which an object may be that runs a method of a class, and all that these are derived from."""
        return {each for derived in self._derived_from(owner) for each in self.line_of(derived)}

    def _derived_from(self, owner: Definition) -> set[Definition]:
        """A class, and those that are derived from it."""
        found, level = {owner}, [owner]
        while level:
            level = [each for one in level for each in self._derived.get(one, ()) if each not in found]
            found.update(level)
        return found

    def methods_above(self, owner: Definition, name: str) -> set[Token]:
        """What ``super()`` has of a name in a class: of what it, or one that is derived from it, is derived from."""
        above = self.related(owner) - self._derived_from(owner)
        return {self._of_class[each][name] for each in above if name in self._of_class[each]}

    def fields(self, owner: Definition) -> set[str]:
        """The attributes that a class, or one that it is derived from, sets of its objects."""
        return {name for each in self.line_of(owner) for name in self._own[each]}

    def keeps(self, owner: Definition, name: str) -> bool:
        """Whether a method of a class sets an attribute of its own object, or the class does."""
        return name in self._own[owner]

    def may_hold_placed(self, each: Object) -> bool:
        """Whether an object may be moved with what it holds: no data that others read item by item, and no constant."""
        return each.of not in self._constants and not self.methods_of([each], "__getitem__")

    def kept_by(self, owner: Definition) -> set[str]:
        """The attributes that objects of a class are given by its methods, and those of the classes around it."""
        names: set[str] = set()
        seen: set[Definition] = set()
        level = [owner]
        while level:
            each = level.pop()
            seen.add(each)
            for method in self._of_class[each].values():
                names |= attributes_set_in(self.scope_of[method][1])
            level += [other for other in (*self.bases.get(each, ()), *self._derived.get(each, ())) if other not in seen]
        return names

    def called_of(self, each: Object) -> list[Token]:
        """The methods that a call of an object leads to."""
        return [method for name in ("forward", "__call__") for method in self.methods_of([each], name)]

    def methods_of(self, base: Iterable[Token], name: str) -> set[Token]:
        """The methods of a name that an object may have: those of its classes, or of any where these are not known."""
        level = [each.of if isinstance(each, Object) else each for each in base if each != PLACED]
        level = [each for each in level if each in self.bases]
        name = "forward" if name == "apply" else name
        if not level:
            return set() if any(each in self.scope_of for each in base) else set(self._methods[name])
        found: set[Token] = set()
        seen: set[Token] = set()
        while level:
            each = level.pop()
            seen.add(each)
            if name in self._of_class[each]:  # type: ignore[index]
                found.add(self._of_class[each][name])  # type: ignore[index]
            level += [base for base in self.bases.get(each, ()) if base not in seen]  # type: ignore[arg-type]
        derived = (other for each in seen for other in self._derived.get(each, ()))  # type: ignore[arg-type]
        found.update(self._of_class[each][name] for each in derived if name in self._of_class[each])
        return found


class Calls:
    """Which functions of a program call which, as far as it is seen what they call."""

    def __init__(self) -> None:
        self._callers: defaultdict[Token, set[Definition]] = defaultdict(set)

    def add(self, caller: Scope, function: Token) -> None:
        """Some code calls a function."""
        line = 0 if caller.function is None else caller.function.lineno
        self._callers[function].add((caller.file.path, line))

    def come_to(self, function: Definition) -> bool:
        """Whether calls lead from the top level to a function."""
        seen: set[Token] = {function}
        level: list[Token] = [function]
        while level:
            callers = self._callers[level.pop()] - seen
            if any(line == 0 for _, line in callers):
                return True
            seen |= callers
            level += callers
        return False


def handed_to(
    node: FunctionNode,
    given: list[frozenset[Token]],
    named: dict[str | None, frozenset[Token]],
    *,
    is_bound: bool,
) -> Iterator[tuple[str, Iterable[Token]]]:
    """The parameters of a function with what a call gives them; behind a star it may be any."""
    places = positional_names(node)[is_bound and not is_decorated(node, "staticmethod") :]
    rest = [each.arg for each in (node.args.vararg, node.args.kwarg) if each is not None]
    for index, tokens in enumerate(given):
        yield from ((name, tokens) for name in places[index : index + 1] or rest)
    for key, tokens in named.items():
        is_own = key in (*places, *(each.arg for each in node.args.kwonlyargs))
        yield from ((str(name), tokens) for name in ([key] if is_own else rest))
    stars: set[Token] = set(named.get(None, ()))
    if stars or len(given) > len(places):
        yield from ((name, stars) for name in places)


def is_decorated(node: ast.AST, name: str) -> bool:
    return any(last_name(each) == name for each in getattr(node, "decorator_list", ()))


@once_a_node
def bound_in(function: ast.AST) -> frozenset[str]:
    """The names that a function binds, with its arguments and those of what is in it; not what is global."""
    names = {each.id for each in nodes_in(function, ast.Name) if not isinstance(each.ctx, ast.Load)}
    names.update(each.arg for each in nodes_in(function, ast.arg))
    names.update(each.name for each in nodes_in(function, ast.FunctionDef))
    return frozenset(names.difference(name for each in nodes_in(function, ast.Global) for name in each.names))


def is_super(node: ast.expr) -> bool:
    """Whether it is ``super()``, or with what it is told, as in Python 2."""
    return isinstance(node, ast.Call) and dotted_path(node.func) == "super"


def is_import(file: ModuleFile, path: str) -> bool:
    statements = file.bindings.get(path.partition(".")[0], ())
    return any(isinstance(part, (ast.Import, ast.ImportFrom)) for each in statements for part in inside(each))


def is_of_class(owner: ast.ClassDef, path: str) -> bool:
    """Whether a path of names that leads to a class is of one of its methods: ``Files.save``."""
    name = path.rpartition(".")[2]
    return "." in path and any(isinstance(each, _FUNCTIONS) and each.name == name for each in owner.body)


@once_a_node
def attributes_set_in(method: ast.AST) -> frozenset[str]:
    """The attributes that a method binds, of whatever object."""
    return frozenset(each.attr for each in nodes_in(method, ast.Attribute) if not isinstance(each.ctx, ast.Load))


@once_a_node
def own_attributes_set_in(node: ast.stmt) -> frozenset[str]:
    """The attributes that a method sets of its own object, or a statement of a class of the class."""
    receiver = receiver_of(node)
    if receiver is None:
        return frozenset(each.id for each in nodes_in(node, ast.Name) if not isinstance(each.ctx, ast.Load))
    held = (each for each in nodes_in(node, ast.Attribute) if not isinstance(each.ctx, ast.Load))
    return frozenset(each.attr for each in held if isinstance(each.value, ast.Name) and each.value.id == receiver)


def receiver_of(node: ast.AST | None) -> str | None:
    """What a method calls its own object, or its class; "" for a static one, None for what is no function."""
    if not isinstance(node, _FUNCTIONS):
        return None
    names = [] if is_decorated(node, "staticmethod") else positional_names(node)
    return names[0] if names else ""
