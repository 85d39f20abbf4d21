"""Containers of layers whose classes no file of the project shows, which no Module registers (TDL102).

Several things have to agree: they are built of a class that is called like a layer, or are what something unknown makes
of a layer that was built there, and the class calls them.
"""

from __future__ import annotations

import ast
import sys

from torchdevlint.flow.checks.registration.argument_modules import copies_layer
from torchdevlint.flow.checks.registration.contents import Built, is_handed_on
from torchdevlint.flow.kinds.element_calls import calls_elements
from torchdevlint.flow.kinds.held_modules import holds_parameters
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo, is_module_class
from torchdevlint.flow.state.others import OtherFiles, named
from torchdevlint.flow.state.values import Cls
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import arguments_of, inside, nodes_in

_LAYER_WORDS = tuple(
    "Attention Block Cell Conv Decoder Embedding Encoder Generator Kernel LSTM Layer Linear MLP Network Net".split()
)
"""How classes are called that hold parameters; a second witness only."""
_BUILDS_LAYER = regex(
    r"(?:build|make|create|get)_(?:\w+_)?(?:attention|block|cell|conv|decoder|encoder|expert|layer|mlp|stage|transformer)"
)
"""How functions are called that make one layer."""


def holds_foreign_layers(info: ClassInfo, attribute: str, others: OtherFiles | None) -> bool:
    """Whether the attribute is a container of layers with parameters, of which some are not understood.

    These are instances of foreign classes, built with arguments, called as layers, and called like layers; or what an
    unknown function makes of a layer that it is given. Whatever else is in the container is a layer too.
    """
    init = info.methods.get("__init__")
    if init is None:
        return False
    path = f"self.{attribute}"
    built = Built(info, init)
    containers, added = built.plain(path), built.added_to(path)
    if len(containers) != 1 or added is None or is_handed_on(built, path, containers[0]):
        return False
    elements = built.elements(containers[0])
    made = [each for element in (*(elements or ()), *added) for each in built.made(element)]
    if elements is None or not made or not all(_is_layer(built, each, others) for each in made):
        return False
    wrapped = [layer for each in made if _wraps_layer(built, each, others) for layer in _layers_given(built, each)]
    holders = {path, *(each.id for each in inside(containers[0]) if isinstance(each, ast.Name))}
    if _are_kept_elsewhere(built, [*made, *wrapped], holders):
        return False
    return any(_is_not_understood(built, each, others) for each in made) and calls_elements(info, attribute)


def _is_layer(built: Built, node: ast.expr, others: OtherFiles | None) -> bool:
    """A call of a class with parameters, or what something unknown makes of one."""
    return _is_built(built.info, node, others) or _is_not_understood(built, node, others)


def _is_not_understood(built: Built, node: ast.expr, others: OtherFiles | None) -> bool:
    return _is_foreign_layer(built.info, node) or _wraps_layer(built, node, others)


def _is_built(info: ClassInfo, node: ast.expr, others: OtherFiles | None) -> bool:
    """A call of a class of torch.nn, or of a Module of the project that has parameters."""
    if not isinstance(node, ast.Call):
        return False
    name = info.public_name(node.func)
    if name is not None and is_module_class(name):
        return True
    found = named(info.found(node.func), node.func, others)
    return isinstance(found, Cls) and found.info.is_module and holds_parameters(found.info, others)


def _is_foreign_layer(info: ClassInfo, node: ast.expr) -> bool:
    """A call, with arguments, of a class of another file that is called like a layer, or of what builds one."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return False
    name = info.public_name(node.func)
    if name is None or _is_known(name):
        return False
    last = name.rpartition(".")[2]
    return (last[:1].isupper() and last.endswith(_LAYER_WORDS)) or _BUILDS_LAYER.fullmatch(last) is not None


def _wraps_layer(built: Built, node: ast.expr, others: OtherFiles | None) -> bool:
    """``strategy.distribute(Block(config), i)``: what something unknown makes of a layer, which is called like one.

    A method of `self` may register what it is given.
    """
    if not isinstance(node, ast.Call) or not node.args:
        return False
    path = dotted_path(node.func)
    name = built.info.public_name(node.func)
    if path is None or (name is not None and _is_known(name)):
        return False
    if path.startswith("self.") and path.count(".") == 1:
        return False
    given = node.args[0]
    made = _layers_given(built, node) if isinstance(given, ast.Name) else [given]
    return bool(made) and all(
        _is_built(built.info, each, others) or _is_foreign_layer(built.info, each) or copies_layer(built, each)
        for each in made
    )


def _layers_given(built: Built, node: ast.expr) -> list[ast.expr]:
    """What makes the first argument of a call, where that is a name."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Name):
        return []
    return [each for each in built.made(node.args[0]) if each is not node and isinstance(each, ast.Call)]


def _are_kept_elsewhere(built: Built, layers: list[ast.expr], holders: set[str]) -> bool:
    """Whether a layer is an attribute as well, or is given to something else under its name, which may register it."""
    bound = values_by_path(built.method).items()
    names = {path for path, values in bound if any(each in layers for each in values)}
    kept = {path for path, values in bound if path in names or any(dotted_path(each) in names for each in values)}
    if any("." in path for path in kept):
        return True
    for call in nodes_in(built.method, ast.Call):
        taker = dotted_path(call.func.value) if isinstance(call.func, ast.Attribute) else None
        given = arguments_of(call)
        if call not in layers and taker not in holders and any(dotted_path(each) in names for each in given):
            return True
    return False


def _is_known(name: str) -> bool:
    """Whether it is of torch or of Python: what it gives is known, or unknown on purpose."""
    return name.startswith("torch.") or name.partition(".")[0] in sys.stdlib_module_names
