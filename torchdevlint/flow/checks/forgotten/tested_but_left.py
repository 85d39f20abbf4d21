"""Questions where a tensor is, after which it stays there: ``if x.device != w.device: x = x`` (TDL310).

Who asks means to bring it over, and what is bound in that case is what it was. The same holds where a switch is asked,
``if self.use_gpu: x = x``, and where both arms of that give back the same. So does a loop that asks each item whether
it is a tensor, and puts it back as it is, and ``x if isinstance(x, torch.Tensor) else x``, which asks for nothing. A
conversion is nothing else beside the place of another tensor; where a test names a type of device,
``if not x.is_cuda: x = x.float()`` may be meant.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda, mentions_device, public_path
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import assignment_of, inside, is_below, nodes_in

_KEEPS_PLACE = torch_api.DTYPE_METHODS | {"type_as", "detach", "contiguous", "clone"}


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    functions = functions_in(machine.tree)
    if any(map(_is_same, nodes_in(machine.tree, ast.IfExp))):
        for scope in (*reversed(functions), machine.tree):
            for choice in filter(_is_same, nodes_in(scope, ast.IfExp)):
                record(machine, scope, "asked", choice.body, choice.test, at=choice)
    asking = {id(each) for each in nodes_in(machine.tree, ast.If) if _asks_for_place(each)}
    for function in functions if asking else ():
        for each in nodes_in(function, ast.If):
            kept = _kept(function, each) if id(each) in asking else None
            if kept is not None:
                record(machine, function, "asked", kept, each.test, at=each.body[0])


def _asks_for_place(asked: ast.If) -> bool:
    """Whether a test may be one that `_kept` wants, as far as its parts and the size of its body say."""
    asks = (_says_apart(each) or _is_switch(each) or asks_for_tensor(each) for each in _parts(asked))
    return len(asked.body) == 1 and any(asks)


def _parts(asked: ast.If) -> list[ast.expr]:
    return asked.test.values if _is_and(asked.test) else [asked.test]  # type: ignore[attr-defined]


def _is_same(choice: ast.IfExp) -> bool:
    """``v if isinstance(v, torch.Tensor) else v``, ``m if hasattr(m, "to") else m``: both arms are the same."""
    if dotted_path(choice.body) is None or dotted_path(choice.orelse) != dotted_path(choice.body):
        return False
    test = choice.test.operand if isinstance(choice.test, ast.UnaryOp) else choice.test
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return any(asks_for_tensor(each) or asks_for_mover(each) or _is_switch(_of_none(each)) for each in parts)


def _of_none(test: ast.expr) -> ast.expr:
    """`device` in ``device is None``."""
    return test.left if none_test(test) is True else test  # type: ignore[attr-defined]


def asks_for_mover(test: ast.expr) -> bool:
    """``hasattr(v, "to")``."""
    if not isinstance(test, ast.Call) or dotted_path(test.func) != "hasattr":
        return False
    named = test.args[-1] if test.args else None
    return isinstance(named, ast.Constant) and named.value in torch_api.PLACING_METHODS


def _kept(function: FunctionNode, asked: ast.If) -> ast.expr | None:
    """What a test asks the place for, or for the use of an accelerator, and is bound or returned as it was."""
    [only] = asked.body
    if any(map(asks_for_tensor, _parts(asked))):
        return _put_back(function, only)
    differ = any(map(_says_apart, _parts(asked)))
    if isinstance(only, ast.Return) and isinstance(only.value, ast.Name):
        other = asked.orelse[0] if len(asked.orelse) == 1 else _next(function, asked)
        return only.value if isinstance(other, ast.Return) and _same(other.value, only.value) else None
    assigned = assignment_of(only)
    if assigned is None or len(assigned.targets) != 1:
        return None
    value = assigned.value
    while differ and _keeps_place(value):
        value = value.func.value  # type: ignore[attr-defined]
    if dotted_path(value) is None:
        return None
    itself = _same(assigned.targets[0], value)
    return value if itself or (differ and _put_back(function, only, value) is not None) else None


def _is_and(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)


def _says_apart(test: ast.expr) -> bool:
    """``x.device != w.device``, ``x.device != device``: where it holds, both are in different places."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotEq) or len(test.ops) > 1:
        return False
    sides = (test.left, test.comparators[0])
    of_tensor = any(isinstance(each, ast.Attribute) and each.attr == "device" for each in sides)
    return of_tensor and all(mentions_device((dotted_path(each) or "").rpartition(".")[2]) for each in sides)


def _is_switch(test: ast.expr) -> bool:
    """``use_cuda``, ``device is not None``, ``not x.is_cuda``: what decides whether anything is moved."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return isinstance(test.operand, ast.Attribute) and test.operand.attr == "is_cuda"
    if isinstance(test, ast.Compare):
        given = len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot)
        test = test.left if given and _same(test.comparators[0], ast.Constant(None)) else test.comparators[0]
    if isinstance(test, ast.Attribute) and test.attr == "is_cuda" and isinstance(test.value, ast.Call):
        return True  # ``next(model.parameters()).is_cuda``
    name = (dotted_path(test) or "").rpartition(".")[2]
    return mentions_device(name) or (mentions_cuda(name) and not name.startswith("is_"))


def _next(function: FunctionNode, asked: ast.If) -> ast.stmt | None:
    """The statement after a test."""
    for holder in inside(function):
        for body in (getattr(holder, "body", None), getattr(holder, "orelse", None)):
            if isinstance(body, list) and asked in body[:-1]:
                return body[body.index(asked) + 1]  # type: ignore[no-any-return]
    return None


def _keeps_place(value: ast.expr) -> bool:
    """``x.float()``, which is where `x` is."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _KEEPS_PLACE


def asks_for_tensor(test: ast.expr) -> bool:
    """``isinstance(v, torch.Tensor)``, ``torch.is_tensor(v)``."""
    if not isinstance(test, ast.Call) or not test.args or dotted_path(test.args[0]) is None:
        return False
    if public_path(test.func) == "torch.is_tensor":
        return True
    classes = test.args[-1].elts if isinstance(test.args[-1], ast.Tuple) else test.args[-1:]
    return dotted_path(test.func) == "isinstance" and not torch_api.ANY_TENSOR.isdisjoint(map(public_path, classes))


def _put_back(function: FunctionNode, statement: ast.stmt, value: ast.expr | None = None) -> ast.Name | None:
    """The item of a loop that ``state[key] = value``, or ``setattr(self, key, value)``, puts where it was.

    The loop goes over ``state.items()`` or ``vars(self).items()``, and binds `value` to nothing else.
    """
    assigned, call = assignment_of(statement), statement.value if isinstance(statement, ast.Expr) else None
    if assigned is not None and isinstance(assigned.targets[0], ast.Subscript):
        target = assigned.targets[0]
        holders, key, item = [ast.unparse(target.value)], target.slice, value or assigned.value
    elif isinstance(call, ast.Call) and dotted_path(call.func) == "setattr" and len(call.args) > _KEY_AND_VALUE:
        name, key, item = ast.unparse(call.args[0]), call.args[1], call.args[2]
        holders = [f"vars({name})", f"{name}.__dict__"]
    else:
        return None
    if not isinstance(item, ast.Name) or not isinstance(key, ast.Name):
        return None
    return item if any(_walks(loop, holders, key.id, item) for loop in nodes_in(function, ast.For)) else None


_KEY_AND_VALUE = 2


def _walks(loop: ast.For, holders: list[str], key: str, value: ast.Name) -> bool:
    walked = loop.iter.args[0] if _is_copied(loop.iter) else loop.iter  # type: ignore[attr-defined]
    items = walked.func if isinstance(walked, ast.Call) else None
    if not isinstance(items, ast.Attribute) or items.attr != "items" or not isinstance(loop.target, ast.Tuple):
        return False
    if not is_below(value, loop) or value.id in values_by_path(loop) or key in values_by_path(loop):
        return False
    return ast.unparse(items.value) in holders and list(map(dotted_path, loop.target.elts)) == [key, value.id]


def _is_copied(node: ast.expr) -> bool:
    """``list(state.items())``."""
    return isinstance(node, ast.Call) and dotted_path(node.func) in ("list", "tuple") and len(node.args) == 1


def _same(one: ast.expr | None, other: ast.expr | None) -> bool:
    return one is not None and other is not None and ast.unparse(one) == ast.unparse(other)


SAYING = ("dev", "Dev", "DEV", "cuda", "Cuda", "CUDA", "gpu", "Gpu", "GPU")
EVENTS = {FileEnded: _note_end}
