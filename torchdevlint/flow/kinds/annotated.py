"""Names that hold something else than a tensor: by how they are used, or by their annotation."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.knowledge.libraries import OTHER_FRAMEWORKS
from torchdevlint.flow.scope.annotations import annotated_tensor, annotation_name, named_in, without_none
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.taken_by_torch import is_converted
from torchdevlint.flow.scope.uses import Scope, uses_in
from torchdevlint.flow.state.classes import is_module_class
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Cls, Ref, Value
from torchdevlint.source.nodes import nodes_in, once_a_node


def is_used_otherwise(frame: Frame, scope: Scope, name: str) -> bool:
    """Whether a function or module uses the name as a tensor cannot be used, or says that it holds something else."""
    uses = uses_in(scope)[name]
    if uses.is_container or uses.called or uses.is_of_class or is_converted(scope, name):
        return True
    return _is_annotated_otherwise(frame, scope, name)


def _is_annotated_otherwise(frame: Frame, scope: Scope, name: str) -> bool:
    """Whether the name is a parameter or a variable of a class that is not to be had as a tensor.

    Such are classes of the project and Modules: ``Adapter``, ``Optional[Adapter]``, ``"Adapter | None"``.
    """
    for annotation in _annotations(scope).get(name, ()):
        named = named_in(annotation)
        if not any(map(annotated_tensor, named)) and any(_is_other(frame.evaluate(each, State({}))) for each in named):
            return True
    return False


def _is_other(kind: Value) -> bool:
    if isinstance(kind, Ref):
        return is_module_class(kind.name)
    return isinstance(kind, Cls) and not any(base.endswith("Tensor") for base in kind.info.base_names)


def is_annotated_tensor_class(frame: Frame, annotation: ast.expr | None) -> bool:
    """Whether an annotation names a class of tensors: one of torch, or one of the project that is below it.

    ``class Matrix(Tensor)`` tells type checkers of two dimensions, and what runs is a plain tensor. A class that has a
    word in where its tensors are is another thing.
    """
    plain = without_none(annotation)
    named = named_in(plain) if isinstance(plain, (ast.Name, ast.Attribute, ast.Constant)) else []
    kinds = [frame.evaluate(each, State({})) for each in named]
    return len(kinds) == 1 and _is_tensor_class(kinds[0])


def _is_tensor_class(kind: Value) -> bool:
    if isinstance(kind, Ref):
        return kind.name == "torch.tensor" or kind.name in torch_api.TENSOR_CLASSES
    if not isinstance(kind, Cls) or not kind.info.resolved:
        return False
    is_below = any(base in torch_api.TENSOR_CLASSES for base in kind.info.library_bases)
    return is_below and _DECIDES_ABOUT_PLACES.isdisjoint(kind.info.all_methods)


_DECIDES_ABOUT_PLACES = torch_api.MOVE_METHODS | {
    "device", "__new__", "__init__", "__torch_function__", "__torch_dispatch__"
}  # fmt: skip


def is_of_another_framework(frame: Frame, annotation: ast.expr | None) -> bool:
    """Whether an annotation names a type of another framework: ``tf.Tensor``, ``Optional[jax.Array]``.

    Or the device of another library, ``slangpy.Device``, which no tensor is on; torch calls its own ``device``.
    """
    if annotation is None:
        return False
    known = frame.machine.memory(_Memory).of_others
    for each in named_in(annotation):
        if isinstance(each, ast.Name) and each.id in _PLAIN:
            continue
        key = id(frame.machine.reading.tree_here), len(frame.closure.scopes), dotted_path(each)
        if key not in known:
            kind = frame.evaluate(each, State({}))
            known[key] = (
                isinstance(kind, Ref)
                and not kind.name.startswith("builtins.")
                and _is_of_others(*kind.name.split("."))
            )
        if known[key]:
            return True
    return False


class _Memory:
    """Which names are types of other frameworks, by the file that they stand in and how deep."""

    def __init__(self) -> None:
        self.of_others: dict[tuple[int, int, str | None], bool] = {}


_PLAIN = frozenset({"bool", "bytes", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type"})
"""Names of built-in types, which nobody gives another meaning."""


def _is_of_others(library: str, *names: str) -> bool:
    return library in OTHER_FRAMEWORKS or (library != "torch" and names[-1:] == ("Device",))


def is_annotated_module(frame: Frame, scope: Scope, name: str) -> bool:
    """Whether an annotation says that the name holds a Module: one of torch, or of a class of the project."""
    named = [each for annotation in _annotations(scope).get(name, ()) for each in named_in(annotation)]
    kinds = [frame.evaluate(each, State({})) for each in named]
    return any(
        (isinstance(kind, Ref) and is_module_class(kind.name)) or (isinstance(kind, Cls) and kind.info.is_module)
        for kind in kinds
    )


_SEQUENCES = frozenset("list List tuple Tuple Sequence ndarray ArrayLike".split())


def is_annotated_sequence(scope: Scope, name: str) -> bool:
    """Whether an annotation says that the name holds a list, a tuple or an array: ``list``, ``Sequence[int]``."""
    plain = (without_none(each) for each in _annotations(scope).get(name, ()))
    kinds = (each.value if isinstance(each, ast.Subscript) else each for each in plain)
    return any(annotation_name(each) in _SEQUENCES for each in kinds)


@once_a_node
def _annotations(scope: Scope) -> dict[str, list[ast.expr]]:
    """The annotations of each parameter and variable of a function or module."""
    found: dict[str, list[ast.expr]] = {}
    if not isinstance(scope, ast.Module):
        spec = scope.args
        for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            if parameter.annotation is not None:
                found.setdefault(parameter.arg, []).append(parameter.annotation)
    for node in nodes_in(scope, ast.AnnAssign):
        if isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.annotation)
    return found
