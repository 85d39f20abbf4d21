"""Containers of the modules that ``__init__`` is given one by one, which no Module registers (TDL102).

``self.parts = [first, second]``, ``self.layers = layers`` of ``*layers``, ``[copy.deepcopy(layer) for _ in range(n)]``.
That an argument is a module is said by its annotation, by what is asked of the elements, or by a copy that is called.
A container that is made around one name keeps a module from being registered, on purpose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from torchdevlint.flow.checks.registration.contents import OF_MODULES, Built, is_handed_on, is_module_type
from torchdevlint.flow.kinds.element_calls import bound_by, calls_elements
from torchdevlint.flow.kinds.held_modules import holds_parameters
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import annotation_name, without_none
from torchdevlint.flow.scope.names import defaults, dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.others import OtherFiles, named
from torchdevlint.flow.state.values import Cls
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, nodes_in, parts_of_tuple

_WITHOUT_PARAMETERS = regex(
    r"(?:^|_)(?:loss(?:es)?|criteri\w+|metrics?|act|acts|activations?|transforms?|aug\w*|preprocess\w*|postprocess\w*"
    r"|rewards?|f|fn|fns|func|funcs|functions?|teachers?|hooks?|callbacks?|refs?|reference\w*)(?:_|$)",
)
"""What is called so has mostly nothing to move, is no module, or is kept from the optimizer on purpose."""
_ONLY_MODULES = torch_api.MODULE_ONLY_ATTRIBUTES - {"apply", "train", "eval", "zero_grad", "state_dict"}

_MAKE = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.BinOp, ast.Call, ast.Name)
"""Expressions that make a container, or name one."""


def holds_argument_modules(info: ClassInfo, attribute: str, others: OtherFiles | None) -> str | None:
    """``list``, ``tuple`` or ``dict`` if an attribute of a Module is a plain container of modules that it was given."""
    init = info.methods.get("__init__")
    if init is None or not info.is_module:
        return None
    path = f"self.{attribute}"
    built = Built(info, init, others)
    containers = built.plain(path)
    if len(containers) != 1 or not isinstance(containers[0], _MAKE) or _WITHOUT_PARAMETERS.search(attribute):
        return None
    starred, elements = _starred(built, containers[0]), built.elements(containers[0])
    if (starred is None and elements is None) or not calls_elements(info, attribute):
        return None
    added = built.added_to(path)
    if added is None or is_handed_on(built, path, containers[0]):
        return None
    if starred is not None:
        return starred
    if elements is None or _hides_one(containers[0], added) or _are_kept(built, [*elements, *added]):
        return None
    asked = not _ONLY_MODULES.isdisjoint(_asked_of_elements(info, path))
    made = [each for element in (*elements, *added) for each in built.made(element)]
    copied = {_copied(built, each) for each in made}
    if not made or not all(_is_given_module(built, each, asked or dotted_path(each) in copied) for each in made):
        return None
    return _kind(containers[0])


def _kind(made: ast.expr) -> str:
    copies = dotted_path(made.func) if isinstance(made, ast.Call) else ""
    if isinstance(made, (ast.Dict, ast.DictComp)) or copies in ("dict", "OrderedDict"):
        return "dict"
    return "tuple" if isinstance(made, ast.Tuple) else "list"


def _starred(built: Built, value: ast.expr) -> str | None:
    """The kind of what ``*layers`` and ``**heads`` give, as they came or copied, where these are modules."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and dotted_path(value.func) in ("list", "tuple", "dict"):
        value = value.args[0]
    spec = built.method.args
    for parameter, kind in ((spec.vararg, "tuple"), (spec.kwarg, "dict")):
        if parameter is not None and isinstance(value, ast.Name) and value.id == parameter.arg:
            return kind if _is_module(built.info, parameter, OF_MODULES.fullmatch(parameter.arg) is not None) else None
    return None


def _is_module(info: ClassInfo, parameter: ast.arg, told: bool) -> bool:
    """Whether an annotation says so of a parameter, or, where there is none, something else."""
    annotation = without_none(parameter.annotation)
    return told if annotation is None else is_module_type(info, annotation)


def _is_given_module(built: Built, node: ast.expr, asked: bool) -> bool:
    """Whether an element is an argument, a copy of one, or what one of them makes, and surely a module."""
    told, given = asked, node
    if is_copy(node, built):
        given, told = node.args[0], True
    elif isinstance(node, ast.Call):
        given = node.func
    parameter = built.parameter(given.id) if isinstance(given, ast.Name) else None
    if parameter is None:
        return False
    is_made = isinstance(node, ast.Call) and given is node.func and bool(node.args or node.keywords)
    if is_made and (_has_layer_by_default(built, parameter) or _is_called_like_a_class(parameter)):
        return True
    if _WITHOUT_PARAMETERS.search(parameter.arg):
        return False
    if isinstance(node, ast.Call) and given is node.func:
        return asked or (is_made and _makes_modules(built, parameter))
    return _is_module(built.info, parameter, told)


def _is_called_like_a_class(parameter: ast.arg) -> bool:
    """``block(width, width)`` of a parameter of which nothing is said, and that is called like a class of layers."""
    return parameter.annotation is None and _CLASS_OF_LAYERS.fullmatch(parameter.arg) is not None


_CLASS_OF_LAYERS = regex(
    r"(?:\w+_)?(?:block|layer|cell|expert|encoder|decoder|stage|conv|module)(?:_?(?:cls|class|type|klass))?"
)


def is_copy(node: ast.expr, built: Built) -> TypeGuard[ast.Call]:
    """``copy.deepcopy(layer)``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    return built.info.public_name(node.func) in ("copy.deepcopy", "copy.copy")


def copies_layer(built: Built, node: ast.expr) -> bool:
    """``copy.deepcopy(layer)`` of an argument that is not called like what has nothing to move."""
    name = _copied(built, node)
    return built.is_parameter(name) and not _WITHOUT_PARAMETERS.search(name)


def _copied(built: Built, node: ast.expr) -> str:
    """The name of what an element is a copy of."""
    return dotted_path(node.args[0]) or "" if is_copy(node, built) else ""


def _makes_modules(built: Built, parameter: ast.arg) -> bool:
    """Whether a call of a parameter gives a module: ``type[nn.Module]``, ``nn.Module``, or a layer that is its default.

    A module that is called would give tensors, which nobody calls: so the class is meant.
    """
    annotation = without_none(parameter.annotation)
    if annotation is None:
        return _has_layer_by_default(built, parameter)
    if isinstance(annotation, ast.Subscript) and annotation_name(annotation.value) in ("Type", "type", "Callable"):
        parts = parts_of_tuple(annotation.slice)
        annotation = parts[-1] if parts else None
    return annotation is not None and is_module_type(built.info, annotation)


def _has_layer_by_default(built: Built, parameter: ast.arg) -> bool:
    """``block=Block``, ``block=partial(Block, heads=4)``."""
    default = dict(defaults(built.method)).get(parameter.arg)
    if isinstance(default, ast.Call) and default.args and built.info.public_name(default.func) == "functools.partial":
        default = default.args[0]
    return default is not None and _is_layer(built, default)


def makes_layer(built: Built, node: ast.expr) -> bool:
    """``nn.Linear(3, 4)``, ``nn.Sequential(nn.Linear(3, 4), nn.ReLU())``, ``Block(width)``: what has parameters."""
    if not isinstance(node, ast.Call):
        return False
    parts = node.args if built.info.public_name(node.func) == "torch.nn.Sequential" else ()
    return _is_layer(built, node.func) or any(makes_layer(built, each) for each in parts)


def _is_layer(built: Built, node: ast.expr) -> bool:
    """Whether an expression names a class of modules that have parameters."""
    name = built.info.public_name(node) or ""
    if name.startswith("torch.nn."):
        return name.removeprefix("torch.nn.") in torch_api.PARAMETER_MODULES
    found = named(built.info.found(node), node, built.others)
    return isinstance(found, Cls) and found.info.is_module and holds_parameters(found.info, built.others)


def _hides_one(value: ast.expr, added: list[ast.expr]) -> bool:
    """``[teacher]``, ``(teacher,)`` and ``{"teacher": teacher}``."""
    parts = value.values if isinstance(value, ast.Dict) else getattr(value, "elts", [])
    return len(parts) == 1 and not added and isinstance(parts[0], ast.Name)


def _are_kept(built: Built, elements: list[ast.expr]) -> bool:
    """Whether an element is an attribute as well, which registers it; what is copied of it is another one."""
    if any(is_copy(each, built) for each in elements):
        return False
    kept = {
        node.value.id
        for each in built.info.mro
        for node in assignments_in(each.node)
        if isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Attribute)
    }
    return any(isinstance(each, ast.Name) and each.id in kept for each in elements)


def _asked_of_elements(info: ClassInfo, path: str) -> Iterator[str]:
    """What methods ask of the elements of the container: ``for each in self.parts: each.requires_grad_(False)``."""
    for method in (each for one in info.mro for each in one.methods.values()):
        loops: list[ast.For | ast.comprehension] = [*nodes_in(method, ast.For), *nodes_in(method, ast.comprehension)]
        names = {name for loop in loops for name in bound_by(loop.target, loop.iter, path)}
        for each in nodes_in(method, ast.Attribute) if names else ():
            if isinstance(each.value, ast.Name) and each.value.id in names:
                yield each.attr
