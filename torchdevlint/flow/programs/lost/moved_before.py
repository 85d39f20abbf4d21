"""Values that are moved before a function gets them: a move which is lost there loses nothing.

A name is followed back through loops, lists, arguments and results of functions, generators, and own iterators, in one
file. What `pickle` reads comes back to where it was when it was written, which is asked of the files of the project
that write so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.lost.moved_results import place_in_words, statements_before
from torchdevlint.flow.programs.texts.places import expression_of, first_holding
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import MOST_FILES, CallSite, argument_of
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignment_of, nodes_in, own_assignments_in, own_nodes_in

_MOVED, _UNPICKLED, _OTHER = "moved", "unpickled", "other"
_UNKNOWN = frozenset({_OTHER})
_Origins = frozenset[str]
_SAME_PLACE = frozenset[str]().union(torch_api.METHOD_TENSOR, torch_api.DTYPE_METHODS)
_WRAPPING = frozenset("torch.nn.Parameter torch.nn.parameter.Parameter torch.autograd.Variable".split())
_JOINING = frozenset("torch.stack torch.cat torch.concat list tuple reversed sorted iter next".split())
_FILLING = frozenset({"append", "extend", "insert"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ITERATING = ("__next__", "__iter__", "__getitem__")
"""The methods that say what a loop over an object gets, the first that it has."""
_MOST_NAMES = 60
_MOST_OBJECTS = 2


def is_moved_before(tree: ast.Module, fact: DiscardedMove, project: Project) -> bool:
    """Whether all that a lost move may be of was moved in the very same words, here or before it was pickled."""
    move = expression_of(tree, fact.at)
    words = place_in_words(move) if isinstance(move, ast.Call) else ""
    if not words or not isinstance(move, ast.Call) or not isinstance(move.func, ast.Attribute):
        return False
    found = _Trail(tree, words).origins(move.func.value)
    if not found or _OTHER in found:
        return False
    return _UNPICKLED not in found or _is_pickled_after(words, project)


def is_made_there(tree: ast.Module, fact: DiscardedMove) -> bool:
    """Whether the block of a lost move has just made its tensor where it is to go, in the same words, or moved it so.

    A parameter is where the tensor is that it is made of.
    """
    move = expression_of(tree, fact.at)
    words = place_in_words(move) if isinstance(move, ast.Call) else ""
    before = statements_before(tree, fact)
    bound = next((each for each in reversed(before) if fact.receiver in _paths_bound_by(each)), None)
    made = assignment_of(bound)
    if not words or made is None or [dotted_path(each) for each in made.targets] != [fact.receiver]:
        return False
    since = before[before.index(bound) + 1 :] if bound is not None else []
    is_place_kept = not any(_may_bind(each, words) for each in since)
    return is_place_kept and _placed_in_words(made.value) == words


def _paths_bound_by(statement: ast.stmt) -> set[str | None]:
    kinds = (ast.Name, ast.Attribute)
    named = (each for kind in kinds for each in nodes_in(statement, kind))
    return {dotted_path(each) for each in named if not isinstance(each.ctx, ast.Load)}  # type: ignore[attr-defined]


def _may_bind(statement: ast.stmt, words: str) -> bool:
    return any(path is not None and path in words for path in _paths_bound_by(statement))


def _placed_in_words(value: ast.expr) -> str:
    """Where a value is made or moved to, as it is written; one that wraps it, or comes after, changes nothing."""
    while isinstance(value, ast.Call) and not place_in_words(value):
        is_method = isinstance(value.func, ast.Attribute) and value.func.attr in _SAME_PLACE
        if is_method and isinstance(value.func, ast.Attribute) and not public_path(value.func).startswith("torch."):
            value = value.func.value
        elif public_path(value.func) in _WRAPPING and value.args:
            value = value.args[0]
        else:
            return ""
    return place_in_words(value) if isinstance(value, ast.Call) else ""


def _is_pickled_after(words: str, project: Project) -> bool:
    """Whether a file of the project pickles what it has moved in these words."""
    paths = project.saying(("pickle", "dump"))
    if paths is None or len(paths) > MOST_FILES:
        return False
    for path in (project.path, *paths):
        module = project.module(path)
        if module is not None and any(each == {_MOVED} for each in _pickled(module.tree, words)):
            return True
    return False


def _pickled(tree: ast.Module, words: str) -> Iterator[_Origins]:
    """Where each value that a file pickles comes from."""
    dumps = (each for each in nodes_in(tree, ast.Call) if each.args and _of_pickle(each) == "dump")
    return (_Trail(tree, words).origins(each.args[0]) for each in dumps)


def _of_pickle(call: ast.Call) -> str | None:
    module, _, name = public_path(call.func).rpartition(".")
    return name if module == "pickle" else None


class _Trail:
    """What the values of one file come from, as far as it shows; `words` say where the moves go that count.

    Lists and tuples are what they hold; `part` is the place of what is unpacked. `objects` is how many iterators of the
    file are gone through.
    """

    def __init__(self, tree: ast.Module, words: str, objects: int = _MOST_OBJECTS) -> None:
        self._tree = tree
        self._words = words
        self._objects = objects
        self._seen: set[tuple[int, str]] = set()

    def origins(self, node: ast.expr) -> _Origins:
        return self._of(first_holding(nodes_in(self._tree, ast.FunctionDef), node.lineno), node)

    @cached_property
    def _functions(self) -> dict[str, FunctionNode]:
        return {each.name: each for each in self._tree.body if isinstance(each, _FUNCTIONS)}

    @cached_property
    def _classes(self) -> dict[str, ast.ClassDef]:
        return {each.name: each for each in self._tree.body if isinstance(each, ast.ClassDef)}

    def _of(self, function: FunctionNode | None, node: ast.expr, part: int | None = None) -> _Origins:
        if isinstance(node, ast.Name):
            return self._of_name(function, node.id)
        if isinstance(node, ast.Call):
            return self._of_call(function, node, part)
        if isinstance(node, (ast.List, ast.Tuple)):
            whole = part is None or part >= len(node.elts)
            return _union(self._of(function, each) for each in (node.elts if whole else [node.elts[part or 0]]))
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self._of(function, node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _union(self._of(function, each) for each in (node.left, node.right))
        if isinstance(node, ast.IfExp):
            return _union(self._of(function, each, part) for each in (node.body, node.orelse))
        return _UNKNOWN

    def _of_call(self, function: FunctionNode | None, call: ast.Call, part: int | None) -> _Origins:
        if place_in_words(call) == self._words:
            return frozenset({_MOVED})
        if _of_pickle(call) == "load":
            return frozenset({_UNPICKLED})
        path = dotted_path(call.func) or ""
        called = self._functions.get(path)
        if called is not None:
            return self._of_results(called, part)
        if path in self._classes:
            return self._of_object(self._classes[path], call, part)
        if path in ("zip", "enumerate") and call.args:
            return self._of_pair(function, call, part)
        if public_path(call.func) in _JOINING and call.args:
            return self._of(function, call.args[0])
        if isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_PLACE:
            return self._of(function, call.func.value)
        return _UNKNOWN

    def _of_results(self, called: FunctionNode, part: int | None) -> _Origins:
        """What a function returns, or each round of a loop over a generator gets."""
        results: list[ast.Return | ast.Yield] = [*own_nodes_in(called, ast.Return), *own_nodes_in(called, ast.Yield)]
        given = [each.value for each in results if each.value is not None]
        return _union(self._of(called, each, part) for each in given) if given else _UNKNOWN

    def _of_object(self, owner: ast.ClassDef, built: ast.Call, part: int | None) -> _Origins:
        """What each round of a loop over an object of the file gets, which may keep the device that it is told."""
        methods = {each.name: each for each in owner.body if isinstance(each, _FUNCTIONS)}
        gives = next((methods[name] for name in _ITERATING if name in methods), None)
        if gives is None or self._objects == 0:
            return _UNKNOWN
        words = (self._words, _kept_as(methods.get("__init__"), built, self._words))
        inner = [_Trail(self._tree, each, self._objects - 1) for each in words if each is not None]
        found = [each._of_results(gives, part) for each in inner]
        return next((each for each in found if each and _OTHER not in each), _UNKNOWN)

    def _of_pair(self, function: FunctionNode | None, call: ast.Call, part: int | None) -> _Origins:
        """``zip(x, y)``; ``enumerate(x)``, whose first part is a number."""
        places = call.args if last_name(call.func) == "zip" else [call.func, *call.args[:1]]
        return self._of(function, places[part]) if part is not None and part < len(places) else _UNKNOWN

    def _of_name(self, function: FunctionNode | None, name: str) -> _Origins:
        scope: ast.AST = self._tree if function is None else function
        if (id(scope), name) in self._seen:
            return frozenset()
        self._seen.add((id(scope), name))
        if len(self._seen) > _MOST_NAMES or any(name in each.names for each in nodes_in(self._tree, ast.Global)):
            return _UNKNOWN
        found = [self._of_unpacked(function, target, value, name) for target, value in _bound(scope, name)]
        found += [self._of(function, each) for each in _filled(scope, name)]
        if function is not None and name in parameter_names(function):
            found.append(self._of_argument(function, name))
        if not found and function is not None:
            return self._of_name(None, name)
        return _union(found) if found else _UNKNOWN

    def _of_unpacked(self, function: FunctionNode | None, target: ast.expr, value: ast.expr, name: str) -> _Origins:
        """What a name gets of a value, be it a part of it, or a part of a part."""
        if isinstance(target, ast.Name):
            return self._of(function, value)
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        place = next((at for at, each in enumerate(parts) if _binds(each, name)), None)
        if place is None or isinstance(parts[place], ast.Starred):
            return _UNKNOWN
        if isinstance(parts[place], ast.Name):
            return self._of(function, value, place)
        inner = value.args[0] if isinstance(value, ast.Call) and dotted_path(value.func) == "enumerate" else None
        return _UNKNOWN if inner is None or place != 1 else self._of_unpacked(function, parts[place], inner, name)

    def _of_argument(self, function: FunctionNode, name: str) -> _Origins:
        """What all calls in the file give, of a function that is called and nothing else."""
        sites = _sites_of(self._tree, function) if self._functions.get(function.name) is function else []
        return _union(self._of_given(each, function, name) for each in sites) if sites else _UNKNOWN

    def _of_given(self, site: CallSite, function: FunctionNode, name: str) -> _Origins:
        given = site.argument(function, name)
        return _UNKNOWN if given is None else self.origins(given)


def _kept_as(init: FunctionNode | None, built: ast.Call, words: str) -> str | None:
    """The attribute in which an object keeps the device that it is given where it is built: ``self.device``."""
    for path, values in values_by_path(init).items() if init is not None else ():
        if path.startswith("self.") and len(values) == 1 and isinstance(values[0], ast.Name) and init is not None:
            given = argument_of(built, init, values[0].id, is_bound=True)
            if given is not None and ast.unparse(given) == words:
                return path
    return None


def _sites_of(tree: ast.Module, function: FunctionNode) -> list[CallSite]:
    """The calls of a function by its name; none where that is read otherwise. An argument of that name is another."""
    taking = [each for each in nodes_in(tree, ast.FunctionDef) if function.name in parameter_names(each)]
    others = {id(each) for node in taking for each in nodes_in(node, ast.Name)}
    names = [each for each in nodes_in(tree, ast.Name) if each.id == function.name and id(each) not in others]
    calls = [each for each in nodes_in(tree, ast.Call) if each.func in names]
    return [CallSite(tree, each) for each in calls] if len(calls) == len(names) else []


def _union(found: Iterable[_Origins]) -> _Origins:
    return frozenset().union(*found)


def _bound(scope: ast.AST, name: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets that bind a name in a scope, with what is bound to them, or gone through by a loop."""
    pairs = [(target, each.value) for each in own_assignments_in(scope) for target in each.targets]
    pairs += [(each.target, each.iter) for each in own_nodes_in(scope, ast.For)]
    return ((target, value) for target, value in pairs if _binds(target, name))


def _binds(target: ast.expr, name: str) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_binds(each, name) for each in target.elts)
    if isinstance(target, ast.Starred):
        return _binds(target.value, name)
    return isinstance(target, ast.Name) and target.id == name


def _filled(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What is put into a list: ``xs.append(x)``, ``xs[i] = x``."""
    for call in own_nodes_in(scope, ast.Call):
        path, _, method = (dotted_path(call.func) or "").rpartition(".")
        if call.args and path == name and method in _FILLING:
            yield call.args[-1]
    for each in own_assignments_in(scope):
        if any(isinstance(target, ast.Subscript) and dotted_path(target.value) == name for target in each.targets):
            yield each.value
