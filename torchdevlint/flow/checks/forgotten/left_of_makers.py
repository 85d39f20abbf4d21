"""Models that a method makes and gives, where others of the class move what they make (TDL310).

``def make_actor(self): return Actor(**self.options).to(self.device)`` beside ``def make_critic(self): return
Critic(**self.options)``: who calls both expects them in one place. What the class moves elsewhere, or is told a device,
has its place, and so has what the class itself calls and moves.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import callee_of, record
from torchdevlint.flow.checks.forgotten.left_in_one_case import places, says_place
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import is_plain_move, place_of
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Cls, Func
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, nodes_in, own_nodes_in

_MODEL = regex(
    r"(?:Actor|Critic|Policy|Net|Network|Model|Encoder|Decoder|Generator|Discriminator|Classifier|Transformer|Head"
    r"|Extractor)$"
)
"""How names of classes of models end, where no file shows the class."""
_KEEPS = torch_api.MODULE_MODES | torch_api.MODULE_DTYPES | {"to", "cuda"}


class _Made(NamedTuple):
    method: FunctionNode
    call: ast.Call
    move: ast.Call | None


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    placing = {*functions_that_place(machine.tree)}
    for owner in nodes_in(machine.tree, ast.ClassDef):
        if placing.isdisjoint(owner.body):
            continue
        made = [each for method in owner.body if isinstance(method, FunctionNode) for each in _made_by(method)]
        made = [each for each in made if _makes_model(machine, each.call)]
        moved = [each.move for each in made if each.move is not None]
        left = [each for each in made if each.move is None]
        if len(left) != 1 or not moved or len(set(map(place_of, moved))) != 1:
            continue
        if not says_place(left[0].call) and not _is_moved_by_others(owner, left[0].method):
            record(machine, left[0].method, "makers", left[0].call, moved[0], at=left[0].call)


def _made_by(method: FunctionNode) -> list[_Made]:
    """The model that a method gives, if it gives nothing else."""
    returned = [each.value for each in own_nodes_in(method, ast.Return)]
    value = returned[0] if len(returned) == 1 else None
    move = None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _KEEPS:
        if places(value):
            if not is_plain_move(value):
                return []
            move = value
        value = value.func.value
    return [_Made(method, value, move)] if isinstance(value, ast.Call) and not method.decorator_list else []


def _makes_model(machine: Machine, call: ast.Call) -> bool:
    """Whether a call makes an object of a class of Modules, or of one that no file shows and that is named so."""
    made = callee_of(machine, call)
    if isinstance(made, Cls) and (made.info.is_module or made.info.resolved):
        return made.info.is_module
    return not isinstance(made, Func) and _MODEL.search(last_name(call.func)) is not None


def _is_moved_by_others(owner: ast.ClassDef, method: FunctionNode) -> bool:
    """Whether the class moves what the method gives: ``self.make().to(device)``, or what it is bound to; or all."""
    path = f"self.{method.name}"
    moves = [each for each in nodes_in(owner, ast.Call) if isinstance(each.func, ast.Attribute) and places(each)]
    held = [each.func.value for each in moves if isinstance(each.func, ast.Attribute)]
    if any(dotted_path(one) == path for each in held for one in inside(each)):
        return True
    kept = [each for each in nodes_in(owner, ast.Assign) if any(dotted_path(one) == path for one in inside(each.value))]
    names = {dotted_path(target) for each in kept for target in each.targets} - {None}
    return not (names | {"self"}).isdisjoint(map(dotted_path, held))
