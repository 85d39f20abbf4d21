"""Whether what a name holds is used with tensors that a function has moved, and is left alone by the host."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.model_names import is_named_like_a_loss, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device, public_path, root_name, stem_of
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, below, inside, nodes_in, once_a_node, own_assignments_in

_Scope = FunctionNode | ast.Module
_ON_HOST = torch_api.MOVE_METHODS | frozenset(
    "cpu numpy tolist item type_as data_ptr pin_memory is_cuda device detach_ share_memory_ items keys values".split()
)
_BUILT_IN = frozenset(
    """
    len print int float str list tuple set dict sorted enumerate zip range isinstance hasattr getattr bool min max sum
    """.split()
)
_GATHERS = frozenset({"append", "extend", "add", "update", "insert", "put", "write", "log", "info", "debug"})


def is_used_with(scope: _Scope, name: str, bound: ast.expr, beside: frozenset[str]) -> bool:
    """Whether a name that is bound to `bound` goes into a calculation, with one of the others where nobody knows it.

    Nothing moves it, or what is made of it alone, reads that on the host, or is given it who may do so.
    """
    reads = [each for each in nodes_in(scope, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)]
    reads = [each for each in reads if not _is_within(each, bound) and each.lineno >= bound.lineno]
    uses = [_use(scope, each, beside) for each in reads]
    return "with" in uses and "host" not in uses and all(is_left_alone(scope, *each) for each in _made_of(scope, reads))


def _made_of(scope: _Scope, reads: list[ast.Name]) -> Iterator[tuple[str, int]]:
    """The names that are bound to what is made of a name alone, with the lines: `mask` in ``mask = labels > 0``."""
    own = {id(each) for each in reads}
    for each in own_assignments_in(scope):
        target = each.targets[0]
        called = {id(part) for call in nodes_in(each.node, ast.Call) for part in inside(call.func)}
        names = [part for part in inside(each.value) if isinstance(part, ast.Name) and id(part) not in called]
        alone = names and own.issuperset(map(id, names)) and not _is_reduced(each.value)
        if alone and isinstance(target, ast.Name):
            yield target.id, each.value.lineno


def is_left_alone(scope: _Scope, name: str, behind: int = 0) -> bool:
    """Whether nothing moves what a name holds, or reads it on the host, by a method or attribute of its own.

    Only what is `behind` a line counts, where the name is bound anew there.
    """
    reads = (each for each in nodes_in(scope, ast.Attribute) if isinstance(each.value, ast.Name))
    reads = (each for each in reads if each.lineno > behind)
    return not any(each.value.id == name and each.attr in _ON_HOST for each in reads)  # type: ignore[attr-defined]


def is_used_together(scope: _Scope, name: str, bound: ast.expr, other: str) -> bool:
    """Whether one operation, or a call that nobody knows, gets both what is bound to `name` and what `other` is."""
    if not is_used_with(scope, name, bound, frozenset({other})):
        return False
    met = [*nodes_in(scope, ast.BinOp), *nodes_in(scope, ast.Compare), *nodes_in(scope, ast.Call)]
    return any({name, other} <= {last_name(part) for part in _operands(each)} for each in met)


def _operands(node: ast.AST) -> list[ast.expr]:
    """What an operation or a call is given as it is, or as a part of it."""
    if isinstance(node, ast.Call):
        given = arguments_of(node)
    elif isinstance(node, ast.Compare):
        given = [node.left, *node.comparators]
    else:
        given = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    return [each.value if isinstance(each, ast.Subscript) else each for each in given]


def _is_within(node: ast.AST, whole: ast.AST) -> bool:
    return any(each is node for each in inside(whole))


def _use(scope: _Scope, read: ast.Name, beside: frozenset[str]) -> str:
    """``with`` for a calculation, ``host`` for what may read or move it, nothing for what tells nothing."""
    node: ast.AST = read
    while True:
        holder = _holders(scope).get(id(node))
        if isinstance(holder, ast.Attribute):
            if holder.attr in _ON_HOST:
                return "" if holder.attr == "item" and _is_reduced(node) else "host"
            if holder.attr in torch_api.SHAPE_ATTRIBUTES or holder.attr in ("size", "dim", "numel"):
                return ""
            node = holder
        elif _is_same_thing(holder, node):
            node = holder  # type: ignore[assignment]
        elif isinstance(holder, (ast.List, ast.Tuple)) and _is_joined(scope, holder):
            return "with"
        elif isinstance(holder, ast.Dict):
            return "with" if _names_one(holder, beside) else "host"
        else:
            break
    if isinstance(holder, (ast.BinOp, ast.AugAssign)):
        return "with"
    if isinstance(holder, ast.Compare):
        return "" if isinstance(holder.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) else "with"
    if isinstance(holder, ast.Call):
        given = _given(holder, beside)
        return "with" if given == "host" and _takes_likewise(scope, holder, beside) else given
    if isinstance(holder, (ast.For, ast.comprehension, ast.FormattedValue, ast.Return, ast.Yield, ast.List, ast.Tuple)):
        return "host"
    return ""


def _is_reduced(node: ast.AST) -> bool:
    """``x.mean()``, of which a log takes the number, wherever `x` is."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCE


_REDUCE = frozenset({"mean", "sum", "max", "min", "norm", "std", "median"})


def _is_same_thing(holder: ast.AST | None, node: ast.AST) -> bool:
    """``f(*x)``, ``x[0]``, ``x.float()``: whoever uses that uses `x`."""
    if isinstance(holder, ast.Call):
        return holder.func is node
    if isinstance(holder, ast.Subscript):
        return holder.value is node
    return isinstance(holder, (ast.keyword, ast.Starred, ast.IfExp))


def _is_joined(scope: _Scope, items: ast.expr) -> bool:
    """``torch.cat([x, y])``."""
    call = _holders(scope).get(id(items))
    return isinstance(call, ast.Call) and public_path(call.func) in _JOINS


_JOINS = frozenset(f"torch.{each}" for each in ("cat", "concat", "hstack", "stack", "vstack"))


def _given(call: ast.Call, beside: frozenset[str]) -> str:
    """What a call that is given it makes of it."""
    path, name = public_path(call.func), last_name(call.func)
    if path in _BUILT_IN or name in _GATHERS or path.startswith(("numpy.", "np.", "pandas.", "sklearn.")):
        return "host"
    if any(_says_place(each) for each in arguments_of(call)):
        return "host"
    if path.startswith("torch."):
        return "with" if path.rpartition(".")[2] not in torch_api.FACTORIES | torch_api.DATA_FACTORIES else "host"
    if is_named_like_a_model(call.func) or is_named_like_a_loss(call.func) or _names_one(call, beside):
        return "with"
    return "host"


def _takes_likewise(scope: _Scope, call: ast.Call, beside: frozenset[str]) -> bool:
    """Whether a function that nobody knows is given one of the others elsewhere: ``policy(x)`` and ``policy(y)``.

    A target network is where the network is that it follows: ``target_critic(y)``.
    """
    path = dotted_path(call.func)
    if path is None or path in _BUILT_IN or last_name(call.func) in _GATHERS:
        return False
    if public_path(call.func).startswith(_OF_HOST):
        return False
    if any(map(_says_place, arguments_of(call))):
        return False
    followed = _followed(path)
    others = (each for each in nodes_in(scope, ast.Call) if each is not call)
    alike = (each for each in others if _followed(dotted_path(each.func) or "") == followed)
    return any(root_name(stem_of(one)) in beside for each in alike for one in arguments_of(each))


def _followed(path: str) -> str:
    """The name of the network that a target network follows; any other name itself."""
    return path.replace("target_", "").removesuffix("_target")


_OF_HOST = ("numpy.", "pandas.", "sklearn.", "matplotlib.", "plt.", "torch.", "logging.", "logger.", "wandb.")


def _says_place(node: ast.expr) -> bool:
    return mentions_device(last_name(node)) or (isinstance(node, ast.Constant) and node.value in ("cuda", "cpu"))


def _names_one(node: ast.AST, names: frozenset[str]) -> bool:
    return any(each.id in names for each in inside(node) if isinstance(each, ast.Name))


@once_a_node
def _holders(scope: _Scope) -> dict[int, ast.AST]:
    """What holds each node below a scope, one level up."""
    return dict(_pairs(scope))


def _pairs(scope: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    level: list[ast.AST] = [scope]
    while level:
        following: list[ast.AST] = []
        for holder in level:
            children = [each for each in below([holder]) if isinstance(each, ast.AST)]
            yield from ((id(each), holder) for each in children)
            following += children
        level = following
