"""Weights of a model as a library has it, which a project fills before it replaces the last layer: published ones.

``net = resnet18()``, ``net.load_state_dict(torch.load(path))``, ``net.fc = nn.Linear(512, 3)``: what the project trains
has another last layer, so that its own files do not fit. Those of the library were saved from the CPU.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.file_names import scopes_of
from torchdevlint.flow.checks.loads.saved_names import bound_before
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.source.nodes import nodes_in

_MODELS = "torchvision.models."
_HEADS = frozenset({"fc", "classifier", "head", "heads"})
"""What the last layers of these models are called."""


def is_of_library_model(tree: ast.Module, load: ast.Call) -> bool:
    """Whether a load fills a model of torchvision as it comes, whose last layer the same function replaces later."""
    scope = scopes_of(tree, load)[0]
    filling = next((each for each in nodes_in(scope, ast.Call) if load in each.args), None)
    if filling is None or not isinstance(filling.func, ast.Attribute) or filling.func.attr != "load_state_dict":
        return False
    net = filling.func.value
    if len(filling.args) != 1 or filling.keywords or not isinstance(net, ast.Name):
        return False
    made = bound_before(scope, net)
    if not isinstance(made, ast.Call) or not public_path(made.func).startswith(_MODELS):
        return False
    if any(each.arg in (None, "num_classes") for each in made.keywords):
        return False
    replaced = [each for each in nodes_in(scope, ast.Assign) if any(_is_head(one, net.id) for one in each.targets)]
    return bool(replaced) and all(each.lineno > filling.lineno for each in replaced)


def _is_head(target: ast.expr, net: str) -> bool:
    """Whether what is assigned is the last layer, or a part of it: ``net.classifier[-1]``."""
    owner, _, name = (dotted_path(target.value if isinstance(target, ast.Subscript) else target) or "").rpartition(".")
    return owner == net and name in _HEADS
