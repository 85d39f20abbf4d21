"""Decorators: what they are called, and which of them change nothing about a call."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import public_path
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import once_a_node

_HARMLESS_DECORATORS = frozenset(
    """
    staticmethod classmethod property cached_property no_grad inference_mode enable_grad abstractmethod override
    torch_export ignore unused export script_method jit_ignore autocast custom_fwd custom_bwd overload compile
    wraps typechecked lru_cache cache cached cache_data cache_resource experimental_memo experimental_singleton
    script register register_model register_module route get post put command beartype jaxtyped retry deprecated
    """.split()
)
"""They give back the function, or what it gives: those of torch and of Python, caches (also of Streamlit), what
registers a function with an application or under a name, and checks of types."""


_REGISTERS_NOTHING = frozenset(
    """
    staticmethod classmethod property dataclasses.dataclass functools.wraps functools.lru_cache functools.cache
    torch.no_grad torch.inference_mode torch.jit.script
    """.split()
)


def is_registered(node: ast.stmt) -> bool:
    """Whether a definition may be registered by a decorator: others do, but leave it to its name to call it."""
    return any(map(registers, getattr(node, "decorator_list", ())))


def registers(decorator: ast.expr) -> bool:
    """Whether a decorator may let others find what it is given, as any may of which nothing is known."""
    return public_path(decorator.func if isinstance(decorator, ast.Call) else decorator) not in _REGISTERS_NOTHING


def is_plain(node: FunctionNode) -> bool:
    """Whether no decorator could change what a call of the function gives."""
    return not node.decorator_list or decorator_names(node) <= _HARMLESS_DECORATORS


def is_harmless(decorator: ast.expr) -> bool:
    """Whether a decorator changes nothing about what a call gives, or how it is called."""
    return _decorator_name(decorator) in _HARMLESS_DECORATORS


@once_a_node
def decorator_names(node: FunctionNode) -> frozenset[str]:
    """The last component of each decorator's name."""
    return frozenset(map(_decorator_name, node.decorator_list))


def _decorator_name(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else "?"


def is_property(node: ast.AST) -> bool:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not node.decorator_list:
        return False
    return not _PROPERTIES.isdisjoint(decorator_names(node))


_PROPERTIES = frozenset({"property", "cached_property"})


def is_of_class(method: FunctionNode) -> bool:
    """Whether no object need be there for a method."""
    return not decorator_names(method).isdisjoint(("staticmethod", "classmethod"))
