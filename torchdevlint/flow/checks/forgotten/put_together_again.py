"""Containers that a function makes of their own elements as they are, where it moves what is beside them (TDL310).

``if device is not None: x = [each for each in x]``: a test of a place decides nothing else, a neighbour is moved, or a
container of the same form, or the same one in another arm of a test. What goes through elements there has forgotten to
move them. So has ``inputs = {k: v for k, v in batch.items()}; model(**inputs)``, where the function or its class moves
the model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places, says_place
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_cpu_spec,
    last_name,
    mentions_cuda,
    mentions_device,
    public_path,
)
from torchdevlint.flow.scope.plain_moves import is_plain_move, moved_by
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import (
    Assignment,
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    nodes_in,
    own_assignments_in,
    own_blocks_in,
    own_nodes_in,
)

_Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
_FAR = 2
"""How many statements may be between a container and the neighbour that is moved."""
_MAKERS = frozenset({"list", "tuple", "dict"})


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not _is_anything_as_it_was(machine.tree) or not imports_torch(machine.tree):
        return
    owners = {method: owner for owner in nodes_in(machine.tree, ast.ClassDef) for method in owner.body}
    for function in functions_in(machine.tree):
        for made, name in _copied(function):
            around = owners.get(function, function)
            move = _moved_model(function, around, name) if _SPREAD.isdisjoint(machine.words) else None
            if move is None or is_bookkeeping(name) or _moved(function, name) is not None:
                continue
            if not _may_be_moved(function, name):
                record(machine, function, "beside", name, move, at=made.node, name=name)
        for block, number, made, name in _unchanged(function):
            left = block[number]
            if is_bookkeeping(name) or is_named_like_a_model(made.targets[0]) or _may_be_moved(function, name):
                continue
            asked = _asked(function, block)
            move = _moved_beside(function, block, number, made, name)
            if asked is not None and _moved(function, name) is None:
                record(machine, function, "asked", name, asked, at=left)
            elif move is not None:
                record(machine, function, "beside", name, move, at=left, name=name)


def _unchanged(function: FunctionNode) -> Iterator[tuple[list[ast.stmt], int, Assignment, str]]:
    """The statements such as ``x = [each for each in x]``: the block, the number in it, and what is bound to a name."""
    for block in own_blocks_in(function):
        for number, statement in enumerate(block):
            assigned = assignment_of(statement)
            if assigned is None or len(assigned.targets) != 1:
                continue
            name, made = dotted_path(assigned.targets[0]), _comprehension(assigned.value)
            if name is not None and made is not None and _source(made) == name and _is_as_it_was(made):
                yield block, number, assigned, name


def _copied(function: FunctionNode) -> Iterator[tuple[Assignment, str]]:
    """The statements such as ``inputs = {k: v for k, v in batch.items()}``, with the name that is bound."""
    for each in own_assignments_in(function):
        name, made = dotted_path(each.targets[0]), _comprehension(each.value)
        if len(each.targets) == 1 and name is not None and made is not None and _is_as_it_was(made):
            through = _source(made)
            if through is not None and not isinstance(made, ast.SetComp):
                yield each, name


def _moved_model(function: FunctionNode, around: ast.AST, name: str) -> ast.expr | None:
    """The move of a model that the function calls with all that is in a container: ``self.model(**inputs)``."""
    for call in own_nodes_in(function, ast.Call):
        spread = [each.value for each in call.args if isinstance(each, ast.Starred)]
        spread += [each.value for each in call.keywords if each.arg is None]
        if is_named_like_a_model(call.func) and any(dotted_path(each) == name for each in spread):
            return _move_of(around, dotted_path(call.func))
    return None


def _move_of(around: ast.AST, model: str | None) -> ast.expr | None:
    """``model.to(device)``, and ``model = Net().to(device)``."""
    moves = [each for each in nodes_in(around, ast.Call) if is_plain_move(each)]
    own = (each for each in moves if isinstance(each.func, ast.Attribute) and dotted_path(each.func.value) == model)
    bound = (each for each in assignments_in(around) if dotted_path(each.targets[0]) == model is not None)
    return next(own, None) or next(filter(None, (moved_by(each.value) for each in bound)), None)


_SPREAD = frozenset({"DataParallel", "DistributedDataParallel", "DDP", "Accelerator", "accelerate", "LightningModule"})
"""What moves the inputs of models itself."""


def _comprehension(value: ast.expr) -> _Comprehension | None:
    """The comprehension of ``tuple(each for each in x)``, ``[each for each in x]`` and their kin over one thing."""
    if isinstance(value, ast.Call) and dotted_path(value.func) in _MAKERS and len(value.args) == 1:
        value = value.args[0]
    one = isinstance(value, _Comprehension) and len(value.generators) == 1 and not value.generators[0].ifs
    return value if one else None  # type: ignore[return-value]


def _source(made: _Comprehension) -> str | None:
    """What it goes through, also by its items."""
    through = made.generators[0].iter
    if isinstance(made, ast.DictComp) and isinstance(through, ast.Call) and isinstance(through.func, ast.Attribute):
        through = through.func.value if through.func.attr == "items" else through
    return dotted_path(through)


def _is_anything_as_it_was(tree: ast.Module) -> bool:
    """Whether a file has such a comprehension anywhere, which most have not."""
    made: list[_Comprehension] = [*nodes_in(tree, ast.ListComp), *nodes_in(tree, ast.GeneratorExp)]
    made += [*nodes_in(tree, ast.SetComp), *nodes_in(tree, ast.DictComp)]
    return any(map(_is_as_it_was, made))


def _is_as_it_was(made: _Comprehension) -> bool:
    target = made.generators[0].target
    if isinstance(made, ast.DictComp):
        pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
        return bool(pair) and _same(made.key, pair[0]) and _same(made.value, pair[1])
    return _same(made.elt, target)


def _same(node: ast.expr, target: ast.expr) -> bool:
    """``each``, and ``each if each is not None else None``."""
    if isinstance(node, ast.IfExp):
        arms = (node.body, node.orelse)
        return any(_same(each, target) for each in arms) and all(_is_none(each) or _same(each, target) for each in arms)
    return isinstance(node, ast.Name) and isinstance(target, ast.Name) and node.id == target.id


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _asked(function: FunctionNode, block: Sequence[ast.stmt]) -> ast.expr | None:
    """The test for a place that decides a block in which nothing else is done: ``if device is not None:``."""
    for each in own_nodes_in(function, ast.If):
        if each.body is block and len(block) == 1 and not each.orelse and _is_for_a_place(each.test):
            return each.test
    return None


def _is_for_a_place(test: ast.expr) -> bool:
    """``device is not None``, ``self.use_cuda``, ``torch.cuda.is_available()``."""
    if isinstance(test, ast.Compare):
        said = len(test.ops) == 1 and isinstance(test.ops[0], (ast.IsNot, ast.NotEq)) and _is_none(test.comparators[0])
        return said and mentions_device(last_name(test.left))
    name = last_name(test) if dotted_path(test) is not None else ""
    available = isinstance(test, ast.Call) and public_path(test.func) == "torch.cuda.is_available"
    return available or mentions_device(name) or mentions_cuda(name)


def _may_be_moved(function: FunctionNode, name: str) -> bool:
    """Whether the function moves parts of what a name holds one by one, or gives it to who may move it."""
    for each in own_nodes_in(function, ast.Subscript):
        if isinstance(each.ctx, ast.Store) and dotted_path(each.value) == name:
            return True
    for loop in own_nodes_in(function, ast.For):
        if any(dotted_path(each) == name for each in inside(loop.iter) if isinstance(each, ast.expr)):
            return True
    made: list[_Comprehension] = [*own_nodes_in(function, ast.ListComp), *own_nodes_in(function, ast.GeneratorExp)]
    made += own_nodes_in(function, ast.DictComp)
    if any(_moves_parts(function, each, name) for each in made):
        return True
    for call in own_nodes_in(function, ast.Call):
        moves = isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda", "cpu", "numpy", "tolist")
        given = [call.func.value] if moves else arguments_of(call) if says_place(call) else []  # type: ignore[attr-defined]
        if any(dotted_path(part) == name for each in given for part in inside(each) if isinstance(part, ast.expr)):
            return not moves or not _is_rebound(function, call, name)
    return False


def _moves_parts(function: FunctionNode, made: _Comprehension, name: str) -> bool:
    """``[each.to(device) for each in x]`` under another name."""
    if _source(made) != name:
        return False
    moves = [each for each in inside(made) if isinstance(each, ast.Call) and last_name(each.func) in ("to", "cuda")]
    return bool(moves) and not _is_rebound(function, moves[0], name)


def _is_rebound(function: FunctionNode, move: ast.Call, name: str) -> bool:
    """Whether the name is bound to what a move gives, which `_moved` tells."""
    bound = (each for each in own_assignments_in(function) if dotted_path(each.targets[0]) == name)
    return any(any(part is move for part in inside(each.value)) for each in bound)


def _moved_beside(
    function: FunctionNode, block: Sequence[ast.stmt], number: int, made: Assignment, name: str
) -> ast.expr | None:
    """The move of a neighbour, of a container of the same form, or of this one in another arm."""
    own = _moved(function, name)
    if own is not None:
        return own if _in_another_arm(function, block[number], own) else None
    for place in range(max(number - _FAR, 0), min(number + _FAR + 1, len(block))):
        assigned = assignment_of(block[place])
        target = dotted_path(assigned.targets[0]) if assigned is not None else None
        move = _move_in(assigned.value, target) if assigned is not None and target is not None else None
        if move is not None and assigned is not None and not is_named_like_a_model(assigned.targets[0]):
            return move
    form = _form(made.value)
    for each in own_assignments_in(function):
        target = dotted_path(each.targets[0])
        if target is not None and _form(each.value) == form and (move := _move_in(each.value, target)) is not None:
            return move
    return None


def _form(value: ast.expr) -> tuple[str, ...]:
    """The kinds of what a comprehension makes, and of itself."""
    made = _comprehension(value)
    if made is None:
        return (ast.unparse(value),)
    maker = dotted_path(value.func) or "" if isinstance(value, ast.Call) else ""
    return maker, type(made).__name__, ast.unparse(made.generators[0].target)


def _moved(function: FunctionNode, name: str) -> ast.expr | None:
    """Where the function moves what a name holds, or its elements."""
    for each in own_assignments_in(function):
        if dotted_path(each.targets[0]) == name and (move := _move_in(each.value, name)) is not None:
            return move
    return None


def _move_in(value: ast.expr, name: str) -> ast.expr | None:
    """The move in ``x = x.to(device)`` and ``x = [each.to(device) for each in x]``."""
    nodes = list(inside(value))
    if not any(dotted_path(each) == name for each in nodes if isinstance(each, ast.expr)):
        return None
    for each in nodes:
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in ("to", "cuda"):
            to_cpu = any(map(is_cpu_spec, arguments_of(each)))
            if not to_cpu and (each.func.attr == "cuda" or says_place(each)):
                return each
    return None


def _in_another_arm(function: FunctionNode, left: ast.stmt, move: ast.expr) -> bool:
    """Whether a test decides for one of the two."""
    for each in own_nodes_in(function, ast.If):
        arms = [[part for statement in arm for part in inside(statement)] for arm in (each.body, each.orelse)]
        one, other = [any(part is left for part in arm) for arm in arms], [any(p is move for p in arm) for arm in arms]
        if any(one) and any(other) and one != other:
            return not is_of_places([each.test])
    return False


SAYING = ("cuda", "device", ".to(")
EVENTS = {FileEnded: _note_end}
