"""What the text of a class, or of its callers, says of the device that an object has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.mapped_moves import moved_in_parts
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name, whole_of
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignment_of, assignments_in, inside, nodes_in, once_a_node


@once_a_node
def has_device(node: ast.ClassDef) -> bool:
    """Whether objects of a class have a device of their own: ``self.device = ..``, or a property of that name."""
    names = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    written = (each.attr for each in nodes_in(node, ast.Attribute) if isinstance(each.ctx, ast.Store))
    return not {"device", "_device"}.isdisjoint((*names, *written))


@once_a_node
def makes_there(method: FunctionNode) -> bool:
    """Whether a method makes a tensor at the place of its object: ``torch.zeros(n, device=self.w.device)``."""
    return any(_is_own_place(each) for each in _placing(method))


def _placing(method: ast.AST) -> Iterator[ast.expr]:
    """The devices that a method names for what it makes, and what ``.to(..)`` and ``.new_zeros(..)`` follow."""
    for call in nodes_in(method, ast.Call):
        yield from (each.value for each in call.keywords if each.arg == "device")
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr in ("to", "type_as"):
            yield from call.args[:1]
        elif call.func.attr in torch_api.NEW_METHODS:
            yield call.func.value


@once_a_node
def moves_itself(node: ast.ClassDef) -> bool:
    """Whether a method says ``self.to(device)`` and drops the result, as only what moves in place is told."""
    calls = (each.value for each in nodes_in(node, ast.Expr) if isinstance(each.value, ast.Call))
    return any(dotted_path(each.func) in ("self.to", "self.cuda") for each in calls)


@once_a_node
def is_in_stages(node: ast.ClassDef) -> bool:
    """Whether a class puts parts of itself on several accelerators by their numbers: nobody moves it as a whole."""
    moves = (each for each in nodes_in(node, ast.Call) if isinstance(each.func, ast.Attribute))
    named = {ast.unparse(each.args[0]) for each in moves if each.func.attr in ("to", "cuda") and len(each.args) == 1}  # type: ignore[attr-defined]
    numbers = (_NUMBERED.search(text) for text in named)
    return len({number.group(1) for number in numbers if number is not None}) > 1


_NUMBERED = regex(r"^(?:(?:\w+\.)?device\()?['\"]?(?:cuda:|xpu:|npu:)?(\d+)['\"]?\)?$")


def _is_own_place(node: ast.expr) -> bool:
    """Whether it is what `self` has: its device, that of a parameter, or the parameter itself."""
    roots = (each for each in inside(node) if isinstance(each, ast.Name) and each.id == "self")
    return next(roots, None) is not None


@once_a_node
def _moved_names(tree: ast.Module) -> frozenset[str]:
    """The names, attributes and items that a file moves, and what it loops over to move the parts."""
    found: set[str] = set()
    for call in nodes_in(tree, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.MOVE_METHODS:
            found.update(filter(None, [dotted_path(whole_of(call.func.value))]))
    loops: list[ast.For | ast.comprehension] = [*nodes_in(tree, ast.comprehension), *nodes_in(tree, ast.For)]
    for loop in loops:
        if (dotted_path(loop.target) or "") in found:
            found.update(filter(None, [dotted_path(loop.iter)]))
    found.update(filter(None, map(dotted_path, _moved_in_parts(tree))))
    return frozenset(found)


@once_a_node
def _moved_in_parts(tree: ast.Module) -> list[ast.expr]:
    """What a file moves item by item: ``[h.to(device) for h in net.init_hidden(3)]``."""
    mapping = [*nodes_in(tree, ast.ListComp), *nodes_in(tree, ast.GeneratorExp), *nodes_in(tree, ast.DictComp)]
    given = (each for node in (*mapping, *_given_lambdas(tree)) for each in moved_in_parts(node, _moves))
    return list(given)


def _given_lambdas(tree: ast.Module) -> Iterator[ast.Call]:
    calls = nodes_in(tree, ast.Call) if nodes_in(tree, ast.Lambda) else ()
    return (each for each in calls if any(isinstance(one, ast.Lambda) for one in each.args))


def _moves(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.MOVE_METHODS


def brings(method: FunctionNode, name: str) -> bool:
    """Whether a method moves a parameter before it reads it for anything else: ``state = state.to(x.device)``."""
    reads = (each for each in nodes_in(method, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load))
    first = min(reads, key=lambda each: (each.lineno, each.col_offset), default=None)
    bound = (each for each in map(assignment_of, method.body) if each is not None)
    moves = (each.value for each in bound if [dotted_path(target) for target in each.targets] == [name])
    return first is not None and any(_is_moved_by(first, each) for each in moves)


def _is_moved_by(node: ast.Name, call: ast.expr) -> bool:
    """``node.to(device)``, ``node.cuda()``: not what converts the dtype alone."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.value is not node:
        return False
    places = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "device")]
    told = any(not is_dtype(each) for each in places) or call.func.attr != "to"
    return told and call.func.attr in torch_api.PLACING_METHODS


def is_placed_by_callers(tree: ast.Module, name: str) -> bool:
    """Whether a file moves what a method gives where it calls it: ``h = net.init_hidden(3).to(device)``."""
    calls = [each for each in nodes_in(tree, ast.Call) if last_name(each.func) == name]
    if not calls:
        return False
    moves = (each.func for each in nodes_in(tree, ast.Call) if isinstance(each.func, ast.Attribute))
    held = {id(each.value) for each in moves if each.attr in torch_api.CONVERSIONS}
    held |= set(map(id, _moved_in_parts(tree)))
    if any(id(each) in held for each in calls):
        return True
    bound = [each for each in assignments_in(tree) if any(one in nodes_in(each.node, ast.Call) for one in calls)]
    targets = (one for each in bound for target in each.targets for one in inside(target))
    return any((dotted_path(each) or "") in _moved_names(tree) for each in targets if isinstance(each, ast.expr))
