"""What the context managers of ``with`` say of the statements inside."""

from __future__ import annotations

import ast

from torchdevlint.flow.events import Entered
from torchdevlint.flow.kinds.start_method import POOL
from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.scope.default_changes import is_called_as_default
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import TOP
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Ref, Tensor, Value

_EXPECTS = ("raises", "assertRaises", "assertRaisesRegex")


def enter(frame: Frame, node: ast.expr, state: State) -> None:
    """``with torch.device(..)`` sets the default device; a context that is not known but named so may do it too."""
    callee = node.func if isinstance(node, ast.Call) else node
    target = frame.evaluate(callee, state)
    if target == Ref("torch.device") and isinstance(node, ast.Call) and node.args:
        state.default_device = as_device(frame, node.args[0], frame.evaluate(node.args[0], state))
        return
    if isinstance(target, Ref):
        frame.machine.emit(Entered(frame, state, node, target.name))
    if isinstance(target, Ref) and target.name in ("torch.cuda.device", "torch.cuda.device_of"):
        state.guarded = True
    if isinstance(target, Ref) and target.name.startswith("torch.") and not isinstance(node, (ast.Name, ast.Attribute)):
        return
    if is_called_as_default(callee):
        state.default_device = TOP


def gives_itself(value: Value) -> bool:
    """Whether what stands after `as` is the context itself: a tensor, a pool of processes."""
    return isinstance(value, Tensor) or (isinstance(value, Library) and value.name == POOL)


def expects_an_error(context: ast.expr) -> bool:
    """``with pytest.raises(..)``, ``with self.assertRaises(..)``: the statements in it stand for their exceptions."""
    return isinstance(context, ast.Call) and (dotted_path(context.func) or "").rpartition(".")[2] in _EXPECTS
