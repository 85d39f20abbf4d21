"""The calls of a function in its file or in all files of an application, as far as they are made by its name."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import takewhile

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import (
    given_by_default,
    has_stars,
    last_name,
    mentions_cuda,
    mentions_device,
    positional_names,
    words_in,
)
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.model import Frozen
from torchdevlint.project.packaging import has_users
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import (
    arguments_of,
    assignments_in,
    dropped_by,
    inside,
    is_below,
    is_inside,
    is_name,
    nodes_in,
    once_a_node,
    own_nodes_in,
)

MOST_FILES = 40
"""Where more files of a project say the name of a function, its callers are not known."""
_YIELDS = (ast.Yield, ast.YieldFrom)


class CallSite(Frozen, frozen=True):
    """A call, and the module that it stands in."""

    tree: ast.Module
    call: ast.Call

    def argument(self, function: FunctionNode, name: str) -> ast.expr | None:
        """What a parameter of `function` is given here, or its default; None where that cannot be told."""
        if has_stars(self.call):
            return None
        given = argument_of(self.call, function, name, is_bound=function.name == "__init__")
        return given or dict(given_by_default(function.args)).get(name)


def argument_of(call: ast.Call, function: FunctionNode, name: str, *, is_bound: bool) -> ast.expr | None:
    """What a call gives a parameter, by name or by place, the first of which it leaves out where it `is_bound`.

    None for nothing, and for what comes behind a star.
    """
    by_name = {each.arg: each.value for each in call.keywords}
    if name in by_name:
        return by_name[name]
    places = positional_names(function)[is_bound:]
    given = takewhile(lambda each: not isinstance(each, ast.Starred), call.args)
    return dict(zip(places, given, strict=False)).get(name)


def call_sites(tree: ast.Module, function: FunctionNode, project: Project) -> list[CallSite]:
    """All calls of a function of the top level, or of the class whose ``__init__`` it is; none where not all are known.

    All are known in a project without users elsewhere where the name is read for nothing but to be called. Which
    function a call of that name means is not asked: those of others of that name are among them.
    """
    name = _public_name(tree).get(function)
    if name is None or project.path.endswith(".ipynb") or has_users(project):
        return []
    paths = project.saying((name,))
    if paths is None or len(paths) > MOST_FILES:
        return []
    found = []
    for each in (tree, *_trees(project, paths)):
        sites = sites_in(each, name)
        if sites is None:
            return []
        found += sites
    return found


def own_call_sites(tree: ast.Module, function: FunctionNode) -> list[CallSite]:
    """The calls of a function of the top level in its own file; none where its name is read for something else."""
    return sites_in(tree, function.name) or []


def is_called_before(tree: ast.Module, function: FunctionNode, node: ast.AST) -> bool:
    """Whether the top level of a file alone runs a function, in statements before the one that `node` is in.

    Also where a test of a setting leaves the call out: nothing in the file comes to the function later.
    """
    at = next((at for at, each in enumerate(tree.body) if is_below(node, each)), None)
    calls = [site.call for site in own_call_sites(tree, function)]
    if at is None or not calls or node not in own_nodes_in(tree, type(node)):
        return False
    early = {id(each) for statement in tree.body[:at] for each in nodes_in(statement, ast.Call)}
    own = {id(each) for each in own_nodes_in(tree, ast.Call)}
    return all(id(each) in early & own for each in calls)


def gets_batches(tree: ast.Module, function: FunctionNode, name: str) -> bool:
    """Whether each call of its name in a file gives a parameter what a loop binds, as it came.

    So it is in ``for batch in loader: self.step(batch)``, unless the loop binds `batch` anew. True where none calls it.
    """
    return all(_gives_round(tree, call, function, name) for call in _called_by_name(tree).get(function.name, ()))


def is_given_by_generator(tree: ast.Module, function: FunctionNode, name: str) -> bool:
    """Whether a call in a file gives a parameter what a generator of that file makes: its ``yield`` says what that is.

    So it is in ``total(rows(loader))``, and by a name: ``stream = rows(loader)``, ``total(stream)``.
    """
    calls = _called_by_name(tree).get(function.name, ())
    return any(_is_of_generator(tree, given_to(call, function, name)) for call in calls)


def given_to(call: ast.Call, function: FunctionNode, name: str) -> ast.expr | None:
    """What a call gives a parameter, be it one of a method."""
    is_bound = isinstance(call.func, ast.Attribute) and positional_names(function)[:1] == ["self"]
    return argument_of(call, function, name, is_bound=is_bound)


def _is_of_generator(tree: ast.Module, given: ast.expr | None) -> bool:
    made = values_by_path(tree).get(given.id, []) if isinstance(given, ast.Name) else [given]
    return any(isinstance(each, ast.Call) and last_name(each.func) in _generators(tree) for each in made)


@once_a_node
def _generators(tree: ast.Module) -> frozenset[str]:
    """The functions and methods of a file that yield."""
    functions = nodes_in(tree, ast.FunctionDef)
    return frozenset(each.name for each in functions if any(own_nodes_in(each, kind) for kind in _YIELDS))


def _gives_round(tree: ast.Module, call: ast.Call, function: FunctionNode, name: str) -> bool:
    """Whether a call gives a parameter what the innermost loop around it that binds the name got."""
    given = given_to(call, function, name)
    if not isinstance(given, ast.Name):
        return False
    around = (loop for loop in nodes_in(tree, ast.For) if is_inside(call, loop))
    rounds = [loop for loop in around if given.id in _bound_by(loop) and given.id not in values_by_path(loop)]
    return bool(rounds) and not any(_moves_parts(loop, given.id, call) for loop in rounds)


def _moves_parts(loop: ast.For, name: str, call: ast.Call) -> bool:
    """Whether a loop brings what a name holds anywhere in place, or a part of it.

    ``batch.y = batch.y.to(d)``, ``batch.to(d)``, or ``send(batch, device)`` besides the `call` that is asked about.
    """
    stores = [each for each in assignments_in(loop) if any(_is_part_of(one, name) for one in each.targets)]
    changed = any(_says_place(each.value) for each in stores)
    done = (one for each in nodes_in(loop, ast.Expr) for one in dropped_by(each.value) if isinstance(one, ast.Call))
    sends = (each for each in done if each is not call and _says_place(each))
    given = (one for each in sends for one in (getattr(each.func, "value", each.func), *arguments_of(each)))
    return changed or any(is_name(one, name) for one in given)


def _is_part_of(target: ast.expr, name: str) -> bool:
    """``batch["y"]``, ``batch.y``."""
    if not isinstance(target, (ast.Attribute, ast.Subscript)):
        return False
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return is_name(target, name)


def _says_place(node: ast.expr) -> bool:
    words = set(words_in(node))
    moves = not torch_api.MOVE_METHODS.isdisjoint(words)
    return moves or any(mentions_device(each) or mentions_cuda(each) for each in words)


def _bound_by(loop: ast.For) -> set[str]:
    return {each.id for each in inside(loop.target) if isinstance(each, ast.Name)}


def sites_in(tree: ast.Module, name: str) -> list[CallSite] | None:
    """The calls of a name in one file; None where it is read for something else there."""
    calls = calls_of(tree, name)
    return None if is_read_otherwise(tree, name, len(calls)) else [CallSite(tree, call) for call in calls]


def calls_of(tree: ast.Module, name: str) -> list[ast.Call]:
    """The calls by a name, or by that of an attribute, in one file, whatever else reads it."""
    return _called_by_name(tree).get(name, [])


def are_moved_at_once(sites: Iterable[CallSite]) -> bool:
    """Whether each call is moved, or converted, where it stands: ``f(x).to(device)``."""
    return all(id(each.call) in _moved(each.tree) for each in sites)


def are_sent_to_cuda(sites: Iterable[CallSite]) -> bool:
    """Whether what each call gives is sent to CUDA by name where it stands: ``Net().cuda()``."""
    return all(id(each.call) in _sent_to_cuda(each.tree) for each in sites)


@once_a_node
def _sent_to_cuda(tree: ast.Module) -> frozenset[int]:
    calls = [each for each in nodes_in(tree, ast.Call) if names_cuda(each) is not None]
    return frozenset(id(each.func.value) for each in calls if isinstance(each.func, ast.Attribute))


@once_a_node
def _moved(tree: ast.Module) -> frozenset[int]:
    calls = (each.func for each in nodes_in(tree, ast.Call) if isinstance(each.func, ast.Attribute))
    return frozenset(id(each.value) for each in calls if each.attr in torch_api.CONVERSIONS)


def _trees(project: Project, paths: tuple[str, ...]) -> Iterator[ast.Module]:
    for path in paths:
        module = project.module(path)
        if module is not None:
            yield module.tree


@once_a_node
def _public_name(tree: ast.Module) -> dict[ast.AST, str]:
    """The names by which functions of the top level, and constructors, are called."""
    found: dict[ast.AST, str] = {}
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[statement] = statement.name
        elif isinstance(statement, ast.ClassDef):
            found.update({each: statement.name for each in statement.body if getattr(each, "name", "") == "__init__"})
    return found


@once_a_node
def _called_by_name(tree: ast.Module) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for call in nodes_in(tree, ast.Call):
        if isinstance(call.func, (ast.Name, ast.Attribute)):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
            found.setdefault(name, []).append(call)
    return found


def is_read_otherwise(tree: ast.Module, name: str, calls: int) -> bool:
    """Whether a module reads a name more often than it calls it, or gives it another one, or says it as a text."""
    if any(each.name == name and each.asname not in (None, name) for each in nodes_in(tree, ast.alias)):
        return True
    return reads_of(tree, name) > calls


def reads_of(tree: ast.Module, name: str) -> int:
    """How often a module reads a name, be it for a call, or says it as a text."""
    names, texts = _read_names(tree)
    return names.get(name, 0) + texts.get(name, 0)


def texts_of(tree: ast.Module, name: str) -> int:
    """How often a module says a name as a text."""
    return _read_names(tree)[1].get(name, 0)


@once_a_node
def renamed_by(tree: ast.Module) -> list[tuple[ast.ImportFrom, str, str]]:
    """What a module imports under other names, each with its own: ``from nets import Net as Small``."""
    imported = ((node, each) for node in nodes_in(tree, ast.ImportFrom) for each in node.names)
    return [(node, each.name, each.asname) for node, each in imported if each.asname not in (None, each.name)]


@once_a_node
def _read_names(tree: ast.Module) -> tuple[Counter[str], Counter[str]]:
    """How often each name is read, be it as a name or an attribute, and how often as a text.

    A class that names itself reads nothing, nor does what says or asks of which type something is.
    """
    typed = [each.annotation for each in nodes_in(tree, ast.arg)]
    typed += [each.annotation for each in nodes_in(tree, ast.AnnAssign)]
    typed += [each.returns for each in functions_in(tree)]
    own = {id(part) for each in typed if each is not None for part in inside(each)}
    own |= {id(call.args[0]) for call in _called_by_name(tree).get("super", ()) if call.args}
    asked = (call.args[1] for call in _called_by_name(tree).get("isinstance", ()) if len(call.args) > 1)
    own |= {id(part) for each in asked for part in inside(each)}
    read = [each for each in nodes_in(tree, ast.Name) if isinstance(each.ctx, ast.Load) and id(each) not in own]
    names = [each.id for each in read]
    others = [each for each in nodes_in(tree, ast.Attribute) if isinstance(each.ctx, ast.Load)]
    names += [each.attr for each in others if id(each) not in own]
    texts = (each.value for each in nodes_in(tree, ast.Constant) if id(each) not in own)
    return Counter(names), Counter(each for each in texts if isinstance(each, str))
