"""Batches that are on a device when a loader gives them: its data set, or its collate function, puts them there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.call_sites import calls_of, given_to
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_cpu_spec,
    is_dtype_name,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
)
from torchdevlint.flow.state.devices import Origin, on_cpu
from torchdevlint.flow.state.values import (
    Choice,
    Func,
    Library,
    Map,
    Obj,
    Partial,
    Record,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import arguments_of, inside, is_inside, nodes_in, once_a_node

_LOADER = "DataLoader"
_ANYWHERE = (Origin.TOP, Origin.ARGUMENT)
_SAID = (Origin.LITERAL, Origin.EXPRESSION)
"""Places that the code names, where it moves something."""
_MOST_HOPS = 4
_OF_CONVERSIONS = frozenset({"dtype", "device", "copy", "non_blocking"})
"""Arguments of ``to`` that a call may name."""


def places(tree: ast.Module, value: Value, surely: bool = False) -> bool:
    """Whether a data set holds what is on an accelerator, or a data set or collate function of the project moves it.

    Tensors that may be anywhere are no sure sign. A data set of the project is looked at for sure signs alone: for what
    it was made of, as lists are for what they hold.
    """
    if isinstance(value, Library):
        return any(places(tree, each, surely) for each in value.children) or _keeps_moved(tree, value, value.children)
    if isinstance(value, Tensor):
        return not on_cpu(value.device) and not (surely and value.device.origin in _ANYWHERE)
    if isinstance(value, Unknown):
        return value.given is not None and value.given.origin in _SAID and not on_cpu(value.given)
    if isinstance(value, Obj):
        made_of = _arguments(value)
        handed = _moves_any(value.info.node) or any(_hands_on(tree, each) for each in made_of)
        return handed or _keeps_moved(tree, value, made_of)
    if isinstance(value, Func):
        return _moves_any(value.node)
    return any(places(tree, each, surely=True) for each in _held(value))


def _arguments(made: Obj) -> list[Value]:
    """What an object was made of: as the function that made it knows it, and as the caller of that one does."""
    positional, by_name = made.made_of or ((), ())
    return [*positional, *(each for _, each in by_name), *(each for _, each in made.given or ())]


def _hands_on(tree: ast.Module, argument: Value) -> bool:
    """Whether what a data set is made of is on an accelerator, or moves what the data set gives it: a transform.

    An object that knows a device may be the options of a program. It moves something if it does where it is called.
    """
    if not isinstance(argument, Obj):
        return places(tree, argument, surely=True)
    if argument.info.is_module:
        return False
    called = argument.info.method("__call__", None)
    moves = called is not None and _moves_any(called.node)
    return moves or any(_hands_on(tree, each) for each in _arguments(argument))


def _keeps_moved(tree: ast.Module, data: Library | Obj, made_of: Iterable[Value]) -> bool:
    """Whether a data set is made of attributes of which little is known, and that the class around it moves.

    Several methods may write them: one moves, ``self.rows = rows.to(device)``, and another one shuffles what is there.
    """
    made = data.made_at
    if not isinstance(made, ast.Call) or not any(map(_is_open, made_of)):
        return False
    paths = [path for each in arguments_of(made) if (path := dotted_path(each)) and path.startswith("self.")]
    around = [each for each in nodes_in(tree, ast.ClassDef) if is_inside(made, each)] if paths else []
    return any(_moves_any(each) for held in around for path in paths for each in values_by_path(held).get(path, ()))


def _is_open(value: Value) -> bool:
    return isinstance(value, Unknown) or (isinstance(value, Tensor) and value.device.origin is Origin.TOP)


def _held(value: Value) -> Iterator[Value]:
    """What a container holds, or may hold, and what a choice may be."""
    if isinstance(value, Seq):
        yield from (*(value.items or ()), *value.members, value.element)
    elif isinstance(value, Map):
        yield from (*(each for _, each in value.items), value.element)
    elif isinstance(value, (Choice, Record)):
        yield from (each for _, each in (value.alternatives if isinstance(value, Choice) else value.items))
    elif isinstance(value, Partial):
        yield value.function


@once_a_node
def _moves_any(node: ast.AST) -> bool:
    """Whether code asks for a place, or moves to another one than the CPU: ``mask.to(torch.bool)`` stays."""
    left = {id(call.func) for call in (node, *nodes_in(node, ast.Call)) if _leaves_there(call)}
    return any(_speaks_of_place(each) and id(each) not in left for each in inside(node))


def _leaves_there(call: ast.AST) -> TypeGuard[ast.Call]:
    """``x.to(torch.float32)``, ``x.to(dtype=torch.long)``, ``x.to("cpu")``."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
        return False
    given = [*call.args, *(each.value for each in call.keywords if each.arg in ("dtype", "device"))]
    said = bool(given) and all(is_dtype_name(public_path(each)) or is_cpu_spec(each) for each in given)
    return said and all(each.arg in _OF_CONVERSIONS for each in call.keywords)


@once_a_node
def collates_in_place(tree: ast.Module) -> bool:
    """Whether a file builds loaders, and each of them has a collate function that is told a device, or asks for one.

    So a loader that comes to a function of the file as an argument gives batches that are there already.
    """
    built = builds_loaders(tree)
    return bool(built) and all(has_placing_collate(tree, each) for each in built)


def defines_placed_data(tree: ast.Module) -> bool:
    """Whether a data set of a file, which gives its rows one by one, moves them, or speaks of their place."""
    return any(_gives_rows(each) and _moves_any(each) for each in nodes_in(tree, ast.ClassDef))


def _gives_rows(owner: ast.ClassDef) -> bool:
    names = {each.name for each in owner.body if isinstance(each, ast.FunctionDef)}
    return "__getitem__" in names and "forward" not in names


def builds_loaders(tree: ast.Module) -> list[ast.Call]:
    """The calls of a file that build a loader."""
    return [each for each in nodes_in(tree, ast.Call) if last_name(each.func) == _LOADER]


def has_placing_collate(tree: ast.Module, loader: ast.Call) -> bool:
    """Whether a loader is given ``Collator(device)``, ``partial(pad, device=device)``, or a method that reads one."""
    given = [each.value for each in loader.keywords if each.arg == "collate_fn"]
    said = [each for value in given for each in _said_by(tree, value)]
    return any(_speaks_of_place(each) for node in said for each in (node, *inside(node)))


def is_told_device(tree: ast.Module, scope: ast.AST, node: ast.expr, hops: int = _MOST_HOPS) -> bool:
    """Whether a loader comes out of a call that is told a device: ``train_loader, _ = loaders_of(rows, device)``.

    So does an argument, where a call in the file gives such a loader. What builds it may put its batches there.
    """
    path = dotted_path(node)
    if path is None or hops == 0:
        return False
    bound = [*values_by_path(scope).get(path, ()), *(each for _, each in unpacked_to(scope, path))]
    if bound or not isinstance(scope, ast.FunctionDef) or path not in parameter_names(scope):
        bound = bound or values_by_path(tree).get(path, []) or [each for _, each in unpacked_to(tree, path)]
        return any(isinstance(each, ast.Call) and _is_told(each) for each in bound)
    calls = [(given, call) for call in calls_of(tree, scope.name) if (given := given_to(call, scope, path)) is not None]
    around = ((given, _around(tree, call)) for given, call in calls)
    return any(is_told_device(tree, outer, given, hops - 1) for given, outer in around)


def _is_told(call: ast.Call) -> bool:
    """Whether a call gives a device to what it calls."""
    given = arguments_of(call)
    return any(mentions_device((dotted_path(each) or "").rpartition(".")[2]) for each in given)


def _around(tree: ast.Module, call: ast.Call) -> ast.AST:
    """The function of a file that makes a call, or the file."""
    functions = [each for each in nodes_in(tree, ast.FunctionDef) if is_inside(call, each)]
    return max(functions, key=lambda each: each.lineno, default=tree)


def _said_by(tree: ast.Module, given: ast.expr) -> Iterator[ast.AST]:
    """What a collate function is written as: itself, what its name is bound to, and its definition in the file."""
    yield given
    path = last_name(given)
    bound = values_by_path(tree).get(path, []) if path else []
    yield from bound
    names = {last_name(each.func if isinstance(each, ast.Call) else each) for each in (given, *bound)}
    defined: list[ast.ClassDef | ast.FunctionDef] = [*nodes_in(tree, ast.ClassDef), *nodes_in(tree, ast.FunctionDef)]
    yield from (each for each in defined if each.name in names)


def _speaks_of_place(node: ast.AST) -> bool:
    """``x.to(..)`` and ``x.device``, and a device that is handed on: ``lambda samples: collate(samples, device)``."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("to", "cuda", "device")
    return isinstance(node, ast.Name) and mentions_device(node.id)
