"""Calls that an instance has to get before a method: ``fit`` before ``predict``, ``encode`` before ``decode``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from torchdevlint.runtime.execute.called import BEFORE
from torchdevlint.runtime.execute.reading import bound_by
from torchdevlint.runtime.execute.slots import Slot, slots_of
from torchdevlint.runtime.execute.target import FunctionNode, dotted
from torchdevlint.runtime.execute.values import DEFAULT

MOST = 2


def before(owner: ast.ClassDef, node: FunctionNode, made: type) -> Iterator[Slot]:
    """Slots for the methods that fill attributes which a method reads and the constructor leaves empty.

    They are named after the method, and left out at first: an exception, or a test that is not passed, asks for them.
    """
    methods = {each.name: each for each in owner.body if isinstance(each, FunctionNode)}
    init = methods.get("__init__")
    made_at_once = set() if init is None else set(_filled(init))
    wanted = _asked(node, methods) - made_at_once
    filling = {
        name: len(found)
        for name, each in methods.items()
        if each not in (node, init) and (found := wanted & set(_filled(each))) and _can_be_called(made, each)
    }
    for number, name in enumerate(sorted(filling, key=lambda name: -filling[name])[:MOST]):
        given = slots_of(getattr(made, name), methods[name], skip=1)
        with_names = {slot.name: slot.candidates[0] for slot in given if slot.candidates and not slot.optional}
        yield Slot(
            f"{BEFORE}{number}", name, (DEFAULT, {"is": "call", "method": name, "with": with_names}), optional=True
        )


def _can_be_called(made: type, method: FunctionNode) -> bool:
    found = inspect.getattr_static(made, method.name, None)
    return isinstance(method, ast.FunctionDef) and inspect.isfunction(found) and bool(method.args.args)


def _asked(node: FunctionNode, methods: dict[str, FunctionNode]) -> set[str]:
    """The attributes of its own that a method reads, and those that the methods read that it calls."""
    found: set[str] = set()
    seen, left = {node.name}, [node]
    while left:
        for each in ast.walk(left.pop()):
            own, _, rest = (dotted(each) or "").partition(".")
            name = rest.partition(".")[0]
            if own != "self" or not isinstance(getattr(each, "ctx", None), ast.Load):
                continue
            found.add(name)
            if name in methods and name not in seen:
                seen.add(name)
                left.append(methods[name])
    return found


def _filled(node: FunctionNode) -> Iterator[str]:
    """The attributes that a method assigns something to, None aside."""
    for each in ast.walk(node):
        if isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value is not None:
            if isinstance(each.value, ast.Constant) and each.value.value is None:
                continue
            for path in bound_by(each):
                own, _, name = path.partition(".")
                if own == "self" and name.isidentifier():
                    yield name
