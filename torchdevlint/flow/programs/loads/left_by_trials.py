"""Checkpoints that a trial of Ray Tune has left, and that the same one reads when it goes on after an error.

``def train(config, checkpoint_dir=None)`` is given its own folder by Ray, on a machine with the same resources. What is
read after the tuning, or given by somebody else, is another file.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.file_names import scopes_of
from torchdevlint.flow.checks.loads.saved_names import bound_before
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.names import last_name, parameter_names, public_path
from torchdevlint.source.nodes import inside, is_below, nodes_in

_GIVEN = "checkpoint_dir"
"""The parameter by which Ray gives a function the folder that it has saved to, and the context that saves there."""
_ASKING = "get_checkpoint"
_GOING_ON = frozenset({"resume", "restore"})


def is_left_by_trial(tree: ast.Module, load: ast.Call) -> bool:
    """Whether Ray alone says where the file of a load is: it gives the folder, or the checkpoint when it is asked."""
    function = scopes_of(tree, load)[0]
    if not isinstance(function, ast.FunctionDef) or not load.args or _goes_on_elsewhere(tree):
        return False
    path = bound_before(function, load.args[0]) or load.args[0]
    read = {each.id for each in inside(path) if isinstance(each, ast.Name)}
    opened = [each for node in nodes_in(function, ast.With) if is_below(load, node) for each in node.items]
    if any(_is_of_ray(function, each) and getattr(each.optional_vars, "id", None) in read for each in opened):
        return True
    if _GIVEN not in read or _GIVEN not in parameter_names(function):
        return False
    saving = (each.context_expr for node in nodes_in(function, ast.With) for each in node.items)
    is_of_ray = any(isinstance(each, ast.Call) and public_path(each.func).endswith(f"tune.{_GIVEN}") for each in saving)
    return is_of_ray and not _is_given_by_others(tree, function)


def _is_of_ray(function: ast.FunctionDef, item: ast.withitem) -> bool:
    """Whether a folder is that of a checkpoint that Ray was asked for: ``with get_checkpoint().as_directory()``."""
    opened = item.context_expr
    if not isinstance(opened, ast.Call) or not isinstance(opened.func, ast.Attribute):
        return False
    asked = bound_before(function, opened.func.value) or opened.func.value
    is_asked = isinstance(asked, ast.Call) and last_name(asked.func) == _ASKING
    return opened.func.attr == "as_directory" and is_asked and public_path(asked.func).startswith("ray.")  # type: ignore[attr-defined]


def _is_given_by_others(tree: ast.Module, function: ast.FunctionDef) -> bool:
    calls = (each for each in nodes_in(tree, ast.Call) if last_name(each.func) == function.name)
    return any(argument_of(each, function, _GIVEN, is_bound=False) is not None for each in calls)


def _goes_on_elsewhere(tree: ast.Module) -> bool:
    """Whether a run may go on from what another one has left: ``tune.run(train, resume=True)``."""
    return any(each.arg in _GOING_ON for call in nodes_in(tree, ast.Call) for each in call.keywords)
