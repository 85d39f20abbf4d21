"""How often the code of a file names CUDA alone, and how often a device that was chosen.

An application that says ``.cuda()`` nearly everywhere was written for machines with CUDA, and the choice that one of
its programs offers beside is theory: whoever takes the CPU's arm meets the next ``.cuda()`` a few lines on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from msgspec import Struct

from torchdevlint.flow.scope.cuda_literals import Text, is_cuda, is_settled
from torchdevlint.flow.scope.names import mentions_cuda, mentions_device, places_in, public_path, words_in
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_nodes_in

_FEWEST = 5
"""Where fewer places name CUDA, there is no habit."""
_FOR_EACH_CHOSEN = 3
"""In code for CUDA more places than so many name it for each one that is chosen."""


class Named(Struct, frozen=True):
    """How many places name `cuda` whatever happens, and for how many somebody has `chosen` a device."""

    cuda: int = 0
    chosen: int = 0

    @property
    def is_for_cuda(self) -> bool:
        return self.is_rather_for_cuda and self.cuda > _FOR_EACH_CHOSEN * self.chosen

    @property
    def is_rather_for_cuda(self) -> bool:
        """Whether several places name CUDA, and more than take what was chosen."""
        return self.cuda >= _FEWEST and self.cuda > self.chosen


def named_in(trees: Iterable[ast.Module]) -> Named:
    """What the calls of some files name together; what is below a test for CUDA or a device counts as chosen."""
    each = [_named_in(tree) for tree in trees]
    return Named(sum(one.cuda for one in each), sum(one.chosen for one in each))


@once_a_node
def _named_in(tree: ast.Module) -> Named:
    functions = functions_in(tree)
    owners = {id(each): owner for owner in nodes_in(tree, ast.ClassDef) for each in owner.body}
    tested = _tested(tree)
    cuda = chosen = 0
    for function in (None, *functions):
        text = Text(tree, function, owners.get(id(function)))
        for call in own_nodes_in(function or tree, ast.Call):
            named = _names_cuda(text, call)
            if named is not None:
                is_chosen = not named or id(call) in tested
                cuda, chosen = cuda + (not is_chosen), chosen + is_chosen
    return Named(cuda, chosen)


def _tested(tree: ast.Module) -> frozenset[int]:
    """What is in an arm of a test that speaks of CUDA or of a device, by identity."""
    tests: list[ast.If | ast.IfExp] = [*nodes_in(tree, ast.If), *nodes_in(tree, ast.IfExp)]
    arms: list[ast.AST] = []
    for each in tests:
        if asks_for_devices(each.test):
            bodies = [*each.body, *each.orelse] if isinstance(each, ast.If) else [each.body, each.orelse]
            arms += bodies
    return frozenset(id(part) for arm in arms for part in inside(arm))


def asks_for_devices(test: ast.expr) -> bool:
    """Whether a test speaks of CUDA or of a device."""
    return any(mentions_cuda(each) or mentions_device(each) for each in words_in(test))


def _names_cuda(text: Text, call: ast.Call) -> bool | None:
    """Whether a call names CUDA, or else a device that was chosen; None for one that names no place of its own."""
    function, path = call.func, public_path(call.func)
    if path.startswith("torch.cuda."):
        return True if path.endswith("Tensor") else None
    if isinstance(function, ast.Attribute) and function.attr == "cuda" and path != "torch.cuda":
        return True
    places = [each for each in places_in(call) if not is_settled(each)]
    return any(is_cuda(text, each) for each in places) if places else None
