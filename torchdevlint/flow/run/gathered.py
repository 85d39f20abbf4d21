"""What a `DataParallel` gives for losses: one number from each GPU becomes a vector."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.kinds.outputs_on_cpu import may_give_buffer
from torchdevlint.flow.run.wrapping import DATA_PARALLEL, has_one_gpu
from torchdevlint.flow.scope.names import dotted_path, variable_of
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL, TOP, on_cpu
from torchdevlint.flow.state.joins import alternatives, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import UNKNOWN, Library, Map, Obj, Step, Tensor, Value
from torchdevlint.source.nodes import assignments_in, inside, nodes_in

GATHERED = "gathered from the GPUs here, one number from each"
"""The step in the life of such a vector that says so."""
_MAX_DEPTH = 6


def gathered(frame: Frame, node: ast.Call, module: Library, given: Value) -> Value:
    """What a wrapper gives whose model returns losses, otherwise what was `given` for its call.

    Nothing is known of it where the model may give a buffer of the CPU.
    """
    if any(_is_elsewhere(each) for _, each in alternatives(given)) and may_give_buffer(frame.machine, module):
        return UNKNOWN
    if module.name not in DATA_PARALLEL or has_one_gpu(module) or not isinstance(module.inner, Obj):
        return given
    info = module.inner.info
    forward = info.all_methods.get("forward")
    if forward is None or "__call__" in info.all_methods:
        return given
    owner, function = forward
    if nodes_in(function, ast.FunctionDef):
        return given
    returned = [each.value for each in nodes_in(function, ast.Return) if each.value is not None]
    parts = [_parts(node, owner, function, each, given) for each in returned]
    return next((each for each in parts if each is not None), given)


def _is_elsewhere(given: Value) -> bool:
    return isinstance(given, Tensor) and given.device not in (TOP, MODEL) and not on_cpu(given.device)


def _parts(node: ast.Call, info: ClassInfo, function: ast.AST, returned: ast.expr, rest: Value) -> Value | None:
    """The value of one ``return`` with vectors where it has scalars; None if it has none."""
    vector = Tensor(TOP, 1, (), (Step(GATHERED, node),))
    if isinstance(returned, ast.Tuple):
        scalars = [_is_scalar(info, function, each) for each in returned.elts]
        return sequence([vector if each else UNKNOWN for each in scalars]) if any(scalars) else None
    if isinstance(returned, ast.Dict):
        items = [
            (key.value, vector if _is_scalar(info, function, value) else UNKNOWN)
            for key, value in zip(returned.keys, returned.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
        return Map(tuple(items), UNKNOWN) if any(value is vector for _, value in items) else None
    return vector if _is_scalar(info, function, returned) else None


def _is_scalar(info: ClassInfo, function: ast.AST, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression in ``forward`` is surely a tensor without dimensions."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.Call):
        return _gives_scalar(info, node)
    if isinstance(node, ast.BinOp):
        parts = [_is_scalar(info, function, each, depth + 1) for each in (node.left, node.right)]
        numbers = [_is_number(each) for each in (node.left, node.right)]
        return any(parts) and all(one or other for one, other in zip(parts, numbers, strict=True))
    name = variable_of(node)
    values = [] if name is None else _assigned(function, name)
    return bool(values) and all(_is_scalar(info, function, each, depth + 1) for each in values)


def _assigned(function: ast.AST, name: str) -> list[ast.expr]:
    """The values of a name or an attribute of `self` in `function`; none of one that is a target of anything else."""
    values: list[ast.expr] = []
    plain = set()
    for assign in assignments_in(function):
        for target in assign.targets:
            if variable_of(target) == name:
                values.append(assign.value)
                plain.add(target)
    for update in nodes_in(function, ast.AugAssign):
        if variable_of(update.target) == name:
            values.append(update.value)
            plain.add(update.target)
    stored = [each for each in inside(function) if isinstance(getattr(each, "ctx", None), ast.Store)]
    return values if all(each in plain for each in stored if variable_of(each) == name) else []


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _gives_scalar(info: ClassInfo, call: ast.Call) -> bool:
    if any(keyword.arg is None for keyword in call.keywords):
        return False
    name = info.public_name(call.func) or ""
    head, _, tail = name.rpartition(".")
    if head == "torch.nn.functional" and (tail.endswith("_loss") or "cross_entropy" in tail):
        return _is_reduced(call.keywords)
    if head == "torch":
        return tail in ("mean", "sum") and len(call.args) == 1 and not call.keywords
    if not isinstance(call.func, ast.Attribute):
        return isinstance(call.func, ast.Call) and _makes_loss(info, call.func)
    if call.func.attr in ("mean", "sum") and not call.args and not call.keywords:
        return not name
    path = dotted_path(call.func) or ""
    return path.startswith("self.") and _keeps_loss(info, path.removeprefix("self."))


def _keeps_loss(info: ClassInfo, attribute: str) -> bool:
    """Whether all that the class assigns to the attribute is a loss of torch.nn that gives one number."""
    made = [
        assign.value
        for each in info.mro
        for assign in assignments_in(each.node)
        if any(dotted_path(target) == f"self.{attribute}" for target in assign.targets)
    ]
    return bool(made) and all(isinstance(each, ast.Call) and _makes_loss(info, each) for each in made)


def _makes_loss(info: ClassInfo, call: ast.Call) -> bool:
    name = next((found for each in info.mro if (found := each.public_name(call.func)) is not None), "")
    return name.startswith("torch.nn.") and name.endswith("Loss") and _is_reduced(call.keywords)


def _is_reduced(keywords: Iterable[ast.keyword]) -> bool:
    """Whether nothing says that a loss has a value for each element."""
    for keyword in keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg in ("reduce", None) or (keyword.arg == "reduction" and value not in ("mean", "sum")):
            return False
    return True
