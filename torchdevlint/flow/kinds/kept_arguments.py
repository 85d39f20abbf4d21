"""Arguments of ``__init__`` that a Module keeps, and whose kind its other methods tell.

``self.mean = mean`` says nothing; ``x - self.mean[:, None]`` and ``F.conv2d(x, self.kernel)`` say that it is a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path, values_by_target
from torchdevlint.flow.scope.dimensions import grows
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.flow.scope.taken_by_torch import takes_tensor
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.members import writers_of
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, keyword_of, nodes_in, once_a_node

_TIED = regex(r"weight|bias|param|emb|alpha|beta|gamma|scale|logit|prototype|quer|token|code|key")
"""Names of what may be a Parameter of the caller, which is registered where it is kept."""


class _Use:
    """What the methods of a class do with one attribute of `self`."""

    def __init__(self) -> None:
        self.grown = False
        """It gets dimensions by an index with None, which a list refuses."""
        self.of_tensor = False
        """It is asked for what only tensors have."""
        self.otherwise = False
        """It is called, asked for its class or for what tensors have not, or has text keys."""
        self.given: list[tuple[ast.Call, int | str]] = []
        """Calls that it is an argument of, with its position or keyword."""


def as_used(info: ClassInfo, target: ast.Attribute, value: Unknown) -> Value:
    """An argument that is kept as an attribute: a tensor, if a method of the class uses it as nothing else."""
    name, place = target.attr, value.given
    if place is None or place.origin is not Origin.ARGUMENT or _TIED.search(name.lower()):
        return value
    if len(writers_of(info, name)) != 1:
        return value
    found = [use for one in info.mro if (use := _uses(one.node).get(name)) is not None]
    if not found or any(each.otherwise for each in found):
        return value
    if not any(each.grown or each.of_tensor or _is_taken(info, each) for each in found) or _is_of_a_module(
        info, target
    ):
        return value
    ndim = AT_LEAST_1 if any(each.grown for each in found) else None
    return Tensor(place, ndim, (), (Step(f"argument `{place.name}`, a tensor by its use", target),))


def may_be_tied(info: ClassInfo, function: AnyFunction, target: ast.Attribute) -> bool:
    """Whether a Module takes an attribute of such a name for the weight of a layer: ``F.linear(x, self.weight)``.

    A caller ties it to another layer then, whose Parameter it is, and which is registered here too. What the function
    wants to be a tensor, by an annotation, is as well one that nobody has registered.
    """
    if not _TIED.search(target.attr.lower()) or not any(target.attr in _weights_in(each.node) for each in info.mro):
        return False
    given = values_by_target(function).get(target)
    name = given.id if isinstance(given, ast.Name) else ""
    return any(each.arg == name and each.annotation is None for each in nodes_in(function, ast.arg))


@once_a_node
def _weights_in(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes of `self` that are, as they are or transposed, the weight of a `linear` or an `embedding`."""
    calls = (each for each in nodes_in(owner, ast.Call) if last_name(each.func) in _WITH_WEIGHT)
    given = ([*each.args[1:2], keyword_of(each, "weight")] for each in calls)
    parts = (part for weights in given for each in weights if each is not None for part in inside(each))
    return frozenset(name for each in parts if isinstance(each, ast.expr) and (name := _of_self(each)) is not None)


_WITH_WEIGHT = ("linear", "embedding")


def is_kept_argument(info: ClassInfo, name: str) -> bool:
    """Whether ``__init__`` keeps an argument as that attribute, and nothing else is written there.

    A caller may give a loss, a function or a plain object: the place of the Module does not say where its tensors are.
    """
    writing = [each for each in info.mro if name in each.writers]
    return bool(writing) and all(_keeps_argument(each, name) for each in writing)


def _keeps_argument(info: ClassInfo, name: str) -> bool:
    init, written = info.methods.get("__init__"), values_by_path(info.node).get(f"self.{name}", [])
    names = frozenset[str]() if init is None else parameter_names(init)
    return bool(written) and all(isinstance(each, ast.Name) and each.id in names for each in written)


def _is_of_a_module(info: ClassInfo, target: ast.Attribute) -> bool:
    """``self.projection = clip.projection``: a Module's attribute may be a Parameter, which is registered here too.

    The argument is one by its name, or since the class calls it, or what it keeps of it.
    """
    values = {node: value for one in info.mro for node, value in values_by_target(one.node).items()}
    path = dotted_path(values[target]) if target in values else None
    root, dot, _ = (path or "").partition(".")
    if not dot or is_named_like_a_model(ast.Name(root)):
        return bool(dot)
    of_root = (node for node, value in values.items() if (dotted_path(value) or "").partition(".")[0] == root)
    kept = {root, *filter(None, map(dotted_path, of_root))}
    return any(dotted_path(call.func) in kept for one in info.mro for call in nodes_in(one.node, ast.Call))


def _is_taken(info: ClassInfo, use: _Use) -> bool:
    """``F.conv2d(x, self.kernel)``: a function of torch takes nothing but a tensor there; so does a loss of torch."""
    names = ((info.public_name(call.func), place) for call, place in use.given)
    if any(name is not None and takes_tensor(name, place) for name, place in names):
        return True
    return any(place in _OF_LOSSES and _is_loss_of_torch(info, call.func) for call, place in use.given)


_OF_LOSSES = (0, 1, "input", "target")


def _is_loss_of_torch(info: ClassInfo, callee: ast.expr) -> bool:
    """Whether it is an attribute of `self` that the class makes a loss of `torch.nn`, and nothing else."""
    path = f"self.{_of_self(callee)}"
    values = [each for one in info.mro for each in values_by_path(one.node).get(path, ())]
    made = [info.public_name(each.func) if isinstance(each, ast.Call) else None for each in values]
    return bool(made) and all(each is not None and _LOSS.fullmatch(each) is not None for each in made)


_LOSS = regex(r"torch\.nn\.(?:modules\.loss\.)?\w+Loss")


@once_a_node
def _uses(owner: ast.ClassDef) -> dict[str, _Use]:
    found: dict[str, _Use] = {}
    for node in nodes_in(owner, ast.Attribute):
        name = _of_self(node.value)
        if name is not None:
            use = found.setdefault(name, _Use())
            use.of_tensor = use.of_tensor or node.attr in _TENSORS_ALONE
            use.otherwise = use.otherwise or not torch_api.is_of_tensors(node.attr)
    for item in nodes_in(owner, ast.Subscript):
        name = _of_self(item.value)
        if name is not None:
            use = found.setdefault(name, _Use())
            use.grown = use.grown or grows(item.slice)
            key = item.slice.value if isinstance(item.slice, ast.Constant) else None
            use.otherwise = use.otherwise or isinstance(key, str)
    for operation in nodes_in(owner, ast.BinOp):
        for side in (operation.left, operation.right) if isinstance(operation.op, ast.MatMult) else ():
            name = _of_self(side)
            if name is not None:
                found.setdefault(name, _Use()).of_tensor = True
    for call in nodes_in(owner, ast.Call):
        called = _of_self(call.func)
        if called is not None:
            found.setdefault(called, _Use()).otherwise = True
        for place, given in _arguments(call):
            name = _of_self(given)
            if name is not None:
                use = found.setdefault(name, _Use())
                use.given.append((call, place))
                use.otherwise = use.otherwise or _asks_for_class(call)
    return found


_TENSORS_ALONE = torch_api.TENSOR_ONLY_METHODS | torch_api.TENSOR_ONLY_ATTRIBUTES


def _arguments(call: ast.Call) -> Iterator[tuple[int | str, ast.expr]]:
    yield from enumerate(call.args)
    yield from ((each.arg or "", each.value) for each in call.keywords)


def _asks_for_class(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("isinstance", "len", "list", "tuple", "hasattr", "type")


def _of_self(node: ast.expr) -> str | None:
    """`mean` for ``self.mean``."""
    plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if plain else None  # type: ignore[attr-defined]
