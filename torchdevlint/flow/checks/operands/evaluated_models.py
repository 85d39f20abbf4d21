"""What a Module reads where it trains alone, and is given by code that has set it to evaluate."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import is_below, nodes_in, once_a_node, own_blocks_in

_WORDS = frozenset({"training", "eval"})
_MODE = "self.training"
_ENDS = (ast.Return, ast.Raise)


def is_read_in_training_alone(frame: Frame, node: ast.AST) -> bool:
    """Whether a call leads to a place below ``if self.training:`` of a Module on which the caller has called `eval`.

    What labels are read for there are the losses: whoever evaluates may give it anything in their stead.
    """
    if not _WORDS.issubset(frame.machine.words):
        return False
    while frame.called_at is not None:
        call, caller = frame.called_at
        if _is_trained(frame, node) and _is_evaluating(caller.function or frame.machine.tree, call):
            return True
        node, frame = call, caller
    return False


def _is_trained(frame: Frame, node: ast.AST) -> bool:
    """Whether a place in a method is run only where its Module trains."""
    if frame.function is None or frame.owner is None or not frame.owner.is_module:
        return False
    return any(node is each or is_below(node, each) for each in _trained(frame.function))


@once_a_node
def _trained(function: ast.AST) -> tuple[ast.AST, ...]:
    """What is run of a method where its Module trains alone: in an arm, or once it has returned where it does not."""
    branches: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    asking = [each for each in branches if _asks(each.test)]
    arms = [each.orelse if _denies(each.test) else each.body for each in asking]
    for block in own_blocks_in(function) if arms else ():
        ends = (place for place, each in enumerate(block) if each in asking and _ends_unless_training(each))
        arms += [block[place + 1 :] for place in ends]
    return tuple(each for arm in arms for each in (arm if isinstance(arm, list) else [arm]))


def _ends_unless_training(branch: ast.stmt) -> bool:
    return isinstance(branch, ast.If) and _denies(branch.test) and isinstance(branch.body[-1], _ENDS)


def _denies(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _asks(test: ast.expr) -> bool:
    """``self.training``, ``not self.training`` and ``self.training and boxes is not None``."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(dotted_path(each) == _MODE for each in test.values)
    return dotted_path(test.operand if isinstance(test, ast.UnaryOp) else test) == _MODE


def _is_evaluating(scope: ast.AST, call: ast.AST) -> bool:
    """Whether a function has called `eval` on the Module that it calls, and lets it train nowhere."""
    path = dotted_path(call.func) if isinstance(call, ast.Call) else None
    if path is None:
        return False
    set_by = [each for each in nodes_in(scope, ast.Call) if _sets_mode(each, path.removesuffix(".forward"))]
    evaluating = [each for each in set_by if each.func.attr == "eval"]  # type: ignore[attr-defined]
    return len(evaluating) == len(set_by) and any(each.lineno <= call.lineno for each in evaluating)  # type: ignore[attr-defined]


def _sets_mode(call: ast.Call, path: str) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("eval", "train"):
        return False
    held = dotted_path(call.func.value)
    return held is not None and f"{path}.".startswith(f"{held}.")
