"""Targets that come as arguments beside inputs: what has to be moved arrives on the CPU, and so does what goes with it.

``labels`` in ``def f(model, images, labels): out = model(images.to(device)); return loss(out, labels)``. What is
compared with a target may as well have been calculated by the caller, where the model is: a loss that gets it as an
argument says nothing of the target.
"""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import gets_batches
from torchdevlint.flow.scope.names import last_name, mentions_cuda, mentions_device, parameter_names, stem_of
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import LOADER
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Step, Tensor
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_LOSSES = ("loss", "criterion", "cross_entropy")
_CALCULATED = regex(
    r"logit|pred|out|teacher|soft|feat|emb|prob|score|state|hidden|reward|value|return|advant|q_|noise|recon|fake",
    re.IGNORECASE,
)
"""Names of what another model, or the caller, has calculated: that may be on a device already."""
_MOST_HOPS = 2
_KEEPS = frozenset("clone detach long float squeeze unsqueeze view reshape flatten contiguous".split())


def target_beside(frame: Frame, function: AnyFunction, parameter: ast.arg) -> Tensor | None:
    """What a parameter gets that a loss takes as a target, beside what a model makes of another one that is moved."""
    if isinstance(function, ast.Lambda) or parameter.arg not in _targets(function):
        return None
    if moves_batches(frame) or not gets_batches(frame.machine.tree, function, parameter.arg):
        return None
    moved = _targets(function)[parameter.arg]
    return Tensor(LOADER, None, (), (Step(f"comes in here, beside `{moved}`, which is moved", parameter),), opaque=True)


@once_a_node
def _targets(function: AnyFunction) -> dict[str, str]:
    """The parameters that are targets and stay where they are, each with the one beside it that is moved."""
    names = parameter_names(function)
    moves = [call for call in nodes_in(function, ast.Call) if _moves(call)]
    moved = {name for name in map(_chained, moves) if name in names}
    if not moved or moved >= names:
        return {}
    found: dict[str, str] = {}
    for call in nodes_in(function, ast.Call):
        if len(call.args) > 1 and any(each in last_name(call.func).lower() for each in _LOSSES):
            target = call.args[1].id if isinstance(call.args[1], ast.Name) else ""
            source = _source(function, call.args[0], moved, _MOST_HOPS)
            if target in names - moved and source is not None and not _CALCULATED.search(target):
                found[target] = source
    return {name: source for name, source in found.items() if _stays(function, name)}


def _moves(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
        return False
    given = {each for one in (*call.args, *call.keywords) for each in inside(one)}
    words = {each.id for each in given if isinstance(each, ast.Name)}
    words |= {each.attr for each in given if isinstance(each, ast.Attribute)}
    told = any(mentions_device(each) or mentions_cuda(each) for each in words)
    return told or call.func.attr == "cuda"


def _chained(node: ast.expr) -> str | None:
    """`x` in ``x.clone().to(device)``."""
    node = stem_of(node)
    return node.id if isinstance(node, ast.Name) else None


def _source(function: AnyFunction, node: ast.expr, moved: set[str], hops: int) -> str | None:
    """The moved parameter that an output is made of, by a call that takes it."""
    if isinstance(node, ast.Name):
        made = values_by_path(function).get(node.id, []) if hops else []
        found = [_source(function, each, moved, hops - 1) for each in made]
        return found[0] if len(found) == 1 else None
    if not isinstance(node, ast.Call):
        return None
    taken = [_chained(each) for each in node.args]
    return next((each for each in taken if each in moved), None)


def _stays(function: AnyFunction, name: str) -> bool:
    """Whether a parameter is bound to nothing but a copy or another view of itself."""
    made = values_by_path(function).get(name, [])
    bound = sum(is_bound for _, is_bound, _ in bindings_in(function).get(name, ()))
    return bound == len(made) and all(_is_view(each, name) for each in made)


def _is_view(node: ast.expr, name: str) -> bool:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
        node = node.func.value
    return isinstance(node, ast.Name) and node.id == name
