"""Classes of the project whose instances have the attributes that a function asks of a parameter."""

from __future__ import annotations

import enum
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

MOST = 2
"""Classes that are tried for one name."""
MOST_MODULES = 400
_OF_EVERYTHING = frozenset(
    "append extend items keys values get update copy close read write name format join split add remove pop index count"
    " forward train eval parameters state_dict named_parameters load_state_dict modules children apply zero_grad step"
    " register_buffer register_parameter".split()
)
"""Attributes of Python's own types and of every Module, which tell no class from another."""


def answering(attributes: set[str], module: ModuleType) -> list[type]:
    """Classes that `module`, or another imported part of its package, defines, and that have all of `attributes`.

    Those that the module names come first, then those that ask least of their constructor.
    """
    telling = {each for each in attributes if not each.startswith("__")} - _OF_EVERYTHING
    if not telling:
        return []
    package = module.__name__.partition(".")[0]
    named = {id(each): 0 for each in vars(module).values()}
    found = [
        each
        for each in dict.fromkeys(_classes(package, module))
        if telling <= _attributes_of(each) | set(dir(each)) and not inspect.isabstract(each)
    ]
    return sorted(found, key=lambda each: (named.get(id(each), 1), _wanted(each), each.__qualname__))[:MOST]


def _classes(package: str, first: ModuleType) -> Iterator[type]:
    others = [one for name, one in sorted(sys.modules.items()) if name.partition(".")[0] == package]
    for module in [first, *others[:MOST_MODULES]]:
        for each in list(vars(module).values()):
            if not inspect.isclass(each) or issubclass(each, (enum.Enum, BaseException, type)):
                continue
            if each.__module__.partition(".")[0] == package:
                yield each


def _attributes_of(owner: type) -> set[str]:
    """What the constructors of a class and of its bases name as attributes, and its annotations."""
    found: set[str] = set()
    for each in owner.__mro__[:-1]:
        found.update(getattr(each, "__annotations__", ()))
        own: Any = vars(each).get("__init__")
        if isinstance(own, FunctionType):
            found.update(own.__code__.co_names)
    return found


def _wanted(owner: type) -> int:
    """How many arguments the constructor cannot do without."""
    try:
        parameters = inspect.signature(owner).parameters.values()
    except (TypeError, ValueError):
        return 100
    return sum(each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
