"""One of several tensors that a function makes in the same way, of which it moves the others (TDL310).

``return dict(x=torch.tensor(a).to(device), y=torch.tensor(b))``: who gets both would have to know that they are in two
places. So it is with the entries and attributes that a function fills one after the other, with what it returns in
several cases, and with a pair of names that meet. What is called like a length or an index stays for a reason, where
none like it is moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import callee_of, moves_any, record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_called_text
from torchdevlint.flow.scope.leaving_attributes import leaves
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_cpu_spec,
    is_dtype,
    last_name,
    mentions_device,
    public_path,
)
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.used_with_moved import is_used_together
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Cls
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    is_inside,
    is_name,
    keyword_of,
    nodes_in,
    own_assignments_in,
    own_blocks_in,
    own_nodes_in,
)

_ON_CPU = torch_api.FACTORIES | torch_api.LEGACY_CONSTRUCTORS
_GIVEN = frozenset({"as_tensor", "asarray"})
"""What these are given may be a tensor, which stays where it is."""
_LEAST_WORKED_OUT = 2
_FAR = 2
"""How many statements may be between two names of one pair."""


class _Made(NamedTuple):
    """How a tensor is made: `form` but for moves and conversions, `name` where it goes, `move` the device or nothing.

    What is `new` comes from factories alone, and so is on the CPU.
    """

    node: ast.expr
    name: str
    form: str
    move: str
    new: bool


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not moves_any(machine):
        return
    for function in functions_that_place(machine.tree):
        stored = _in_stores(machine, function)
        for left, moved in (*_in_displays(function), *stored, *_returned(function), *_pairs(function)):
            if not _decides(function, left.node, moved.node):
                record(machine, function, "beside", left.node, moved.node, at=left.node, name=left.name)


def _decides(function: FunctionNode, left: ast.expr, moved: ast.expr) -> bool:
    """Whether a test that speaks of places decides which of the two is made: ``if torch.cuda.is_available():``.

    So does an error of the one, where the other is what comes instead.
    """
    asked = [each for each in own_nodes_in(function, ast.If) if is_of_places([each.test])]
    arms = [block for each in asked for block in (each.body, each.orelse)]
    arms += [each.body for each in own_nodes_in(function, ast.ExceptHandler)]
    return any(_holds(block, left) != _holds(block, moved) for block in arms)


def _holds(block: list[ast.stmt], node: ast.expr) -> bool:
    return any(is_inside(node, each) for each in block)


def _in_displays(function: FunctionNode) -> Iterator[tuple[_Made, _Made]]:
    """``return {"x": torch.tensor(a).to(device), "y": torch.tensor(b)}``."""
    shown = [each.value for each in own_nodes_in(function, ast.Return)]
    shown += [each.value for each in own_nodes_in(function, ast.Yield)]
    shown += [each.value for each in own_assignments_in(function) if not isinstance(each.value, ast.Tuple)]
    for value in shown:
        parts = [_made(node, name) for node, name in _parts(value)]
        yield from _left(parts, 1)
    for each in own_nodes_in(function, ast.Return):
        named = [node.id for node, _ in _parts(each.value) if isinstance(node, ast.Name)]
        yield from _left([_bound_once(function, name, each) for name in named] if len(named) > 1 else [], 1)


def _bound_once(function: FunctionNode, name: str, returned: ast.Return) -> _Made | None:
    """How the one tensor is made that a name of a result stands for, if nothing is done with it before."""
    reads = [each for each in nodes_in(function, ast.Name) if each.id == name]
    bound = [each.value for each in own_assignments_in(function) if is_name(each.targets[0], name)]
    others = [each for each in reads if isinstance(each.ctx, ast.Load) and not is_inside(each, returned)]
    stores = sum(isinstance(each.ctx, ast.Store) for each in reads)
    return _made(bound[0], name) if len(bound) == stores == 1 and not others else None


def _parts(value: ast.expr | None) -> Iterator[tuple[ast.expr, str]]:
    """The parts that are put together, with what they are called."""
    if isinstance(value, (ast.Tuple, ast.List)):
        yield from ((each, "") for each in value.elts)
    elif isinstance(value, ast.Dict):
        for key, each in zip(value.keys, value.values, strict=True):
            if key is not None and not is_called_text(key):
                yield each, str(key.value) if isinstance(key, ast.Constant) else ""
    elif isinstance(value, ast.Call) and not value.args and public_path(value.func) in ("dict", "builtins.dict"):
        yield from ((each.value, each.arg) for each in value.keywords if each.arg is not None)


def _in_stores(machine: Machine, function: FunctionNode) -> Iterator[tuple[_Made, _Made]]:
    """``row[0] = tensor(a).to(device); row[1] = tensor(b)``, and attributes of one object in the same way.

    What an object keeps as a factory made it may be kept on the CPU for its methods (`kept_together` looks at these).
    The layers of a Module move with that.
    """
    own = next((info for node, info in machine.classes.items() if function in node.body), None)
    registers = own is not None and (own.is_module or not own.resolved)
    held: dict[str, list[_Made | None]] = {}
    for each in own_assignments_in(function):
        target = each.targets[0]
        if isinstance(target, (ast.Attribute, ast.Subscript)) and (holder := dotted_path(target.value)) is not None:
            name = target.attr if isinstance(target, ast.Attribute) else ""
            place = f"{holder}." if name else f"{holder}[]"
            held.setdefault(place, []).append(_made(each.value, name))
    for place, values in held.items():
        if place.endswith("[]") and not _moves_later(function, place):
            yield from _left(values, 1)
        elif place.endswith(".") and not _moves_later(function, place):
            worked_out = [each for each in values if each is not None and not each.new]
            pairs = (pair for pair in _left(worked_out, 1) if not leaves(machine.tree, pair[0].name))
            yield from (pair for pair in pairs if not (registers and _makes_layer(machine, pair[0].node)))


def _makes_layer(machine: Machine, node: ast.expr) -> bool:
    """Whether a chain of calls begins with a layer of torch, or with a Module of the project."""
    made = list(_chain(node))[-1:]
    if not made or public_path(made[0].func).startswith("torch.nn."):
        return bool(made)
    found = callee_of(machine, made[0])
    return isinstance(found, Cls) and found.info.is_module


def _moves_later(function: FunctionNode, place: str) -> bool:
    """Whether the function moves what an object holds besides, or gives it to who is told a device as well."""
    holder = place.rstrip(".[]")
    for call in nodes_in(function, ast.Call):
        moves = isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.MOVE_METHODS
        if moves and (dotted_path(call.func.value) or "").startswith(place.rstrip("]")):  # type: ignore[attr-defined]
            return True
        given = [dotted_path(each) for each in arguments_of(call)]
        if holder in given and any(mentions_device(each or "") for each in given):
            return True
    return False


def _returned(function: FunctionNode) -> Iterator[tuple[_Made, _Made]]:
    """``return torch.tensor(a)`` of a function that gives ``torch.tensor(b).to(device)`` in another case.

    The cases are kinds or shapes of what it is given: any other test may be one for a place.
    """
    returned = own_nodes_in(function, ast.Return)
    if len(returned) > 1 and all(_is_of_data(each.test) for each in own_nodes_in(function, ast.If)):
        yield from _left([_made(each.value, "") for each in returned if each.value is not None], 1)


def _is_of_data(test: ast.expr) -> bool:
    """``isinstance(x, list)``, ``len(x.shape) == 3``, ``x.ndim < 3``."""
    if isinstance(test, ast.Compare):
        asked = test.left.args[0] if isinstance(test.left, ast.Call) and test.left.args else test.left
        sized = isinstance(test.left, ast.Call) and last_name(test.left.func) in ("len", "dim", "size")
        return sized or (isinstance(asked, ast.Attribute) and asked.attr in torch_api.SHAPE_ATTRIBUTES)
    return isinstance(test, ast.Call) and last_name(test.func) == "isinstance"


def _pairs(function: FunctionNode) -> Iterator[tuple[_Made, _Made]]:
    """``x = torch.tensor(a).to(device); y = torch.tensor(b)``, where one operation or call gets both."""
    for block in own_blocks_in(function):
        bound = [_bound(each) for each in block]
        for number, one in enumerate(bound):
            for other in bound[number + 1 : number + 1 + _FAR] if one is not None else ():
                for left, moved in _left([one, other], 1):
                    if is_used_together(function, left.name, left.node, moved.name):
                        yield left, moved


def _bound(statement: ast.stmt) -> _Made | None:
    assigned = assignment_of(statement)
    target = assigned.targets[0] if assigned is not None else None
    return _made(assigned.value, target.id) if assigned is not None and isinstance(target, ast.Name) else None


def _left(values: Sequence[_Made | None], least: int) -> Iterator[tuple[_Made, _Made]]:
    """The only one of a form that is not moved, with one that is; of what is worked out, several have to be."""
    forms: dict[str, list[_Made]] = {}
    for each in values:
        if each is not None:
            forms.setdefault(each.form, []).append(each)
    for group in forms.values():
        moved = [each for each in group if each.move]
        left = [each for each in group if not each.move]
        if len(left) != 1 or len({each.move for each in moved}) != 1 or _is_cpu(moved[0].move):
            continue
        enough = least if left[0].new else _LEAST_WORKED_OUT
        if len(moved) >= enough and (not is_bookkeeping(left[0].name) or any(is_bookkeeping(m.name) for m in moved)):
            yield left[0], moved[0]


def _is_cpu(move: str) -> bool:
    return move in ("'cpu'", "torch.device('cpu')")


def _made(node: ast.expr, name: str) -> _Made | None:
    """How an expression makes a tensor, by the calls and operations that it is written as."""
    form, move, new = _form(node)
    return _Made(node, name or _of_what(node), form, move, new) if "(" in form else None


def _of_what(node: ast.expr) -> str:
    """`count` of ``torch.tensor(count).to(device)``."""
    made = next((each for each in _chain(node) if each.args and public_path(each.func).startswith("torch.")), None)
    return dotted_path(made.args[0]) or "" if made is not None else ""


def _chain(node: ast.expr) -> Iterator[ast.Call]:
    """The calls of a chain of methods, the last one first."""
    while isinstance(node, ast.Call):
        yield node
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.func


def _form(node: ast.expr) -> tuple[str, str, bool]:
    if isinstance(node, ast.BinOp):
        one, other = _form(node.left), _form(node.right)
        form = f"{one[0]} {type(node.op).__name__} {other[0]}"
        return form, one[1] or other[1], one[2] or other[2]
    if isinstance(node, ast.UnaryOp):
        return _form(node.operand)
    if isinstance(node, ast.ListComp):
        form, move, new = _form(node.elt)
        return f"[{form}]", move, new
    if isinstance(node, ast.Attribute) and dotted_path(node) is None:
        form, move, new = _form(node.value)
        return f"{form}.{node.attr}", move, new
    if not isinstance(node, ast.Call):
        return "", "", False
    if isinstance(node.func, ast.Attribute) and dotted_path(node.func.value) is None:
        form, move, new = _form(node.func.value)
        if node.func.attr in ("to", "cuda", "type", *torch_api.DTYPE_METHODS):
            return form, _place(node) or move, new
        return (f"{form}.{node.func.attr}()" if form else ""), move, new
    return _call(node)


def _call(node: ast.Call) -> tuple[str, str, bool]:
    """What a call of a name makes; a constant is a number, which goes with tensors of all devices."""
    path = public_path(node.func)
    name = path.removeprefix("torch.")
    told = keyword_of(node, "device")
    if path.startswith("torch.") and name in _ON_CPU:
        if node.args and isinstance(node.args[0], ast.Constant) and name in torch_api.DATA_FACTORIES:
            return "", "", False
        return f"{path}()", ast.unparse(told) if told is not None else "", name not in _GIVEN
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda"):
        return "", "", False
    if told is not None or any(mentions_device(last_name(each)) for each in arguments_of(node)):
        return "", "", False
    return f"{dotted_path(node.func) or ''}()" if dotted_path(node.func) else "", "", False


def _place(call: ast.Call) -> str:
    """The device of a move; nothing for a dtype."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "cuda":
        return "cuda"
    if call.func.attr != "to":
        return ""
    told = keyword_of(call, "device") or (call.args[0] if call.args else None)
    if told is None or is_dtype(told) or not (_is_place(told) or is_cpu_spec(told)):
        return ""
    return ast.unparse(told)


def _is_place(node: ast.expr) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    held = dotted_path(node) or ""
    return is_text or mentions_device(held.rpartition(".")[2]) or mentions_device(held.rpartition("['")[2].rstrip("']"))


SAYING = (".to(", ".cuda(")
EVENTS = {FileEnded: _note_end}
