"""Whether code changes the device that factories use: ``torch.set_default_device`` and its older kin."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.source.nodes import nodes_in


def changes_default(tree: ast.AST) -> bool:
    """Whether a program puts what it and its imports make without ``device=`` elsewhere than on the CPU."""
    return any(map(is_change_of_default, nodes_in(tree, ast.Call)))


def is_change_of_default(call: ast.Call) -> bool:
    """Whether a call changes the default to another device than the CPU."""
    return last_name(call.func) in torch_api.CHANGES_DEFAULT and not _stays_on_cpu(call)


def may_set_default(context: ast.expr) -> bool:
    """Whether a context manager may set it for its block: ``torch.device(..)``, or one that is called so."""
    callee = context.func if isinstance(context, ast.Call) else context
    return public_path(callee) == "torch.device" or is_called_as_default(callee)


def is_called_as_default(callee: ast.expr) -> bool:
    """Whether the name of a context manager speaks of devices, or of what is made without data."""
    name = (dotted_path(callee) or "").lower()
    return any(word in name for word in _OF_A_DEFAULT)


_OF_A_DEFAULT = ("device", "meta", "empty_weights", "init_context", "default_tensor")


def _stays_on_cpu(call: ast.Call) -> bool:
    """Whether a change of the default is literally to the CPU: ``set_default_tensor_type(torch.DoubleTensor)``."""
    if len(call.args) != 1:
        return False
    name = call.args[0].value if isinstance(call.args[0], ast.Constant) else public_path(call.args[0])
    return isinstance(name, str) and (name == "cpu" or (name.endswith("Tensor") and "cuda" not in name))
