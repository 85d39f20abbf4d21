"""Models that a constructor makes beside their optimizers, and that one method alone moves: a trainer's (TDL203)."""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.classes import ClassInfo, is_module_class
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Cls
from torchdevlint.source.nodes import nodes_in


class MadeInInit(NamedTuple):
    """What ``__init__`` makes: an optimizer, by its public name, and the one model whose parameters it gets."""

    made: ast.Call
    name: str
    model: str
    built: ast.Call


def made_in_init(frame: Frame, path: str, cause: ast.Call) -> MadeInInit | None:
    """The optimizer that an attribute holds in another method, if its model is where it was made until `cause`.

    Nothing else binds either of them, nobody is given the model, and only what follows `cause` in its method moves a
    model of that name.
    """
    owner, function = frame.owner, frame.function
    init = owner.methods.get("__init__") if owner is not None else None
    if owner is None or function is None or init is None or init is function:
        return None
    made = _made_once(owner, path)
    name = owner.public_name(made.func) if made is not None else None
    if made is None or name is None or not name.startswith("torch.optim."):
        return None
    asked = [each.func.value for each in nodes_in(made, ast.Call) if isinstance(each.func, ast.Attribute)]
    models = {each for each in map(dotted_path, asked) if each is not None and each.startswith("self.")}
    model = models.pop() if len(models) == 1 else ""
    built = _made_once(owner, model)
    if built is None or not {made, built} <= {*nodes_in(init, ast.Call)} or not _makes_module(owner, built):
        return None
    if any(dotted_path(each) == model for call in nodes_in(owner.node, ast.Call) for each in call.args):
        return None
    moves = [each for each in nodes_in(frame.machine.tree, ast.Attribute) if each.attr in torch_api.MOVE_METHODS]
    moves = [each for each in moves if last_name(each.value) == model.removeprefix("self.")]
    behind = {each for each in nodes_in(function, ast.Attribute) if each.lineno > cause.lineno}
    return MadeInInit(made, name, model, built) if behind.issuperset(moves) else None


def _made_once(owner: ClassInfo, path: str) -> ast.Call | None:
    """The call that a class binds an attribute to, if nothing else does."""
    bound = assignments_by_path(owner.node).get(path, [])
    return bound[0].value if len(bound) == 1 and isinstance(bound[0].value, ast.Call) else None


def _makes_module(owner: ClassInfo, call: ast.Call) -> bool:
    kind = owner.found(call.func)
    return kind.info.is_module if isinstance(kind, Cls) else is_module_class(owner.public_name(call.func) or "")
