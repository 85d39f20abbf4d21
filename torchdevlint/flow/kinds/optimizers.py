"""Optimizers that a file defines: the parameters that they are given are where the model is."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL
from torchdevlint.flow.state.values import UNKNOWN, Map, Seq, Step, Tensor, Value


def parameter_groups(info: ClassInfo, node: ast.Attribute) -> Value:
    """What ``self.param_groups`` holds in a subclass of `torch.optim.Optimizer`: dicts with lists of parameters."""
    if not any(base.startswith("torch.optim.") for base in info.library_bases):
        return UNKNOWN
    parameter = Tensor(MODEL, steps=(Step("holds parameters of the model", node, of_module=True),), parameter=True)
    return Seq(None, Map((("params", Seq(None, parameter)),), UNKNOWN))
