"""Batches that are on a device when a loader gives them: its data set, or its collate function, puts them there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.call_sites import calls_of, given_to
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_dtype_name,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
)
from torchdevlint.flow.state.devices import Origin, on_cpu
from torchdevlint.flow.state.values import Func, Library, Obj, Tensor, Value
from torchdevlint.source.nodes import arguments_of, inside, is_inside, nodes_in, once_a_node

_LOADER = "DataLoader"
_ANYWHERE = (Origin.TOP, Origin.ARGUMENT)
_MOST_HOPS = 4


def places(value: Value, surely: bool = False) -> bool:
    """Whether a data set holds tensors of an accelerator, or a data set or collate function of the project moves them.

    Tensors that may be anywhere are no sure sign.
    """
    if isinstance(value, Library):
        return any(places(each, surely) for each in value.children)
    if isinstance(value, Tensor):
        return not on_cpu(value.device) and not (surely and value.device.origin in _ANYWHERE)
    node = value.info.node if isinstance(value, Obj) else value.node if isinstance(value, Func) else None
    return node is not None and _moves_any(node)


@once_a_node
def _moves_any(node: ast.AST) -> bool:
    """Whether a class or function asks for a place, or converts by more than a dtype: ``mask.to(torch.bool)`` stays."""
    converted = {id(call.func) for call in nodes_in(node, ast.Call) if _converts_alone(call)}
    return any(_speaks_of_place(each) and id(each) not in converted for each in inside(node))


def _converts_alone(call: ast.Call) -> bool:
    """``x.to(torch.float32)``, ``x.to(dtype=torch.long)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
        return False
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "dtype")]
    return bool(given) and all(is_dtype_name(public_path(each)) for each in given) and _names_only_dtype(call)


def _names_only_dtype(call: ast.Call) -> bool:
    return all(each.arg in ("dtype", "copy", "non_blocking") for each in call.keywords)


@once_a_node
def collates_in_place(tree: ast.Module) -> bool:
    """Whether a file builds loaders, and each of them has a collate function that is told a device, or asks for one.

    So a loader that comes to a function of the file as an argument gives batches that are there already.
    """
    built = builds_loaders(tree)
    return bool(built) and all(has_placing_collate(tree, each) for each in built)


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
