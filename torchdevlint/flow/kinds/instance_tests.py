"""What `isinstance` says of a value, where that is known."""

from __future__ import annotations

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.values import (
    NONE,
    Choice,
    Library,
    Map,
    Record,
    Ref,
    Seq,
    Tensor,
    Unknown,
    Value,
)

_WITHOUT_TENSORS = frozenset({"builtins", "numpy", "PIL", "pandas", "scipy"})
"""Libraries that have no class of which a tensor is an instance, but for `object`."""


def is_instance_of(value: Value, kinds: Value) -> bool | None:
    """Whether a value is an instance of a class, or of one of a tuple of classes; None where that is not known."""
    asked = list(kinds.items or ()) if isinstance(kinds, Seq) else [kinds]
    if isinstance(value, Seq) and {Ref("builtins.list"), Ref("builtins.tuple")} <= set(asked):
        return True
    answers = [is_instance(value, kind) for kind in asked]
    if True in answers:
        return True
    return None if None in answers or not answers else False


def is_instance(value: Value, kind: Value) -> bool | None:
    """Whether a value is an instance of a class; None where that is not known."""
    if not isinstance(kind, Ref) or isinstance(value, (Unknown, Choice)):
        return None
    if isinstance(value, (Seq, Map, Record)):
        return _is_container(value, kind.name)
    if kind.name in torch_api.TENSOR_CLASSES:
        if isinstance(value, Tensor):
            return True if kind.name == "torch.Tensor" and not value.opaque else None
        return False
    if kind.name == "torch.nn.Module":
        return is_module(value)
    if kind.name in torch_api.WRAPPER_MODULES and is_module(value):
        if isinstance(value, Library) and not value.name:
            return None
        return isinstance(value, Library) and value.name == kind.name
    if isinstance(value, Tensor):
        other = kind.name.partition(".")[0] in _WITHOUT_TENSORS and kind.name != "builtins.object"
        return False if other and not value.opaque else None
    if value == NONE:
        return False
    return None


def _is_container(value: Seq | Map | Record, name: str) -> bool | None:
    """Whether a container is an instance of a class with this name; lists and tuples are not told apart."""
    if name.rpartition(".")[2] in ("dict", "Mapping", "MutableMapping") and "." in name:
        return isinstance(value, Map)
    if name in ("builtins.list", "builtins.tuple"):
        unsure = isinstance(value, Seq) or (isinstance(value, Record) and value.kind.ordered)
        return None if unsure else False
    plain = name in torch_api.TENSOR_CLASSES or name in ("builtins.str", "builtins.int", "builtins.float")
    return False if plain else None
