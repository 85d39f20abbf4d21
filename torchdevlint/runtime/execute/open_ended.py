"""``*args`` and ``**kwargs``: what the constructor of a base wants of them, and what an exception says is missing."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from torchdevlint.runtime.execute.called import INIT
from torchdevlint.runtime.execute.slots import Slot, slots_of
from torchdevlint.runtime.execute.target import FunctionNode, dotted, first_line, functions_of


def open_ended(function: Any, prefix: str) -> Iterator[Slot]:
    """What takes any number of arguments; ``prefix`` is that of a constructor. They are given nothing at first.

    A constructor's ``*args`` are left out, since what is missing there can be given by its name as well.
    """
    for one in _parameters(function):
        stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        if stars and not (prefix and stars == "*"):
            yield Slot(f"{prefix}{stars}{one.name}", one.name, (), optional=True)


def of_bases(owner: type) -> Iterator[Slot]:
    """What the constructors of the bases cannot do without, and get by its name through ``**kwargs``."""
    taken: set[str] = set()
    classes = [each for each in owner.__mro__ if "__init__" in vars(each)]
    for made, base in itertools.pairwise(classes):
        node = definition(vars(made)["__init__"])
        call = None if node is None or node.args.kwarg is None else _of_base(node, base, node.args.kwarg.arg)
        if call is None:
            return
        wanted = list(_parameters(base))
        listed = sum(not isinstance(each, ast.Starred) for each in call.args) - _gives_itself(call)
        taken.update(one.name for one in [*_parameters(made), *wanted[:listed]])
        taken.update(each.arg for each in call.keywords if each.arg is not None)
        found = slots_of(base, definition(vars(base)["__init__"]), INIT)
        new = [slot for slot in found if not slot.optional and slot.name not in taken]
        yield from new
        taken.update(slot.name for slot in new)


def _of_base(node: FunctionNode, base: type, rest: str) -> ast.Call | None:
    """The call of the constructor of the base that gives it the ``**kwargs``, which are called `rest`."""
    for each in ast.walk(node):
        if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Attribute) or each.func.attr != "__init__":
            continue
        to = each.func.value
        is_super = isinstance(to, ast.Call) and dotted(to.func) == "super"
        starred = {dotted(one.value) for one in each.keywords if one.arg is None}
        if rest in starred and (is_super or (dotted(to) or "").rpartition(".")[2] == base.__name__):
            return each
    return None


def _gives_itself(call: ast.Call) -> int:
    """``Base.__init__(self, ..)`` has one argument more than ``super().__init__(..)``."""
    return int(not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Call))


def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ()


def definition(function: Any) -> FunctionNode | None:
    """The definition of a function, read from its file; None where there is none."""
    found = located(function)
    return None if found is None else found.node


class Located(NamedTuple):
    """A definition, its file, and the class that it is a method of. The same file gives the same nodes."""

    tree: ast.Module
    path: str
    node: FunctionNode
    owner: ast.ClassDef | None


def located(function: Any) -> Located | None:
    """Where a function is defined; None where there is no text of it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    tree = None if code is None else _parsed(code.co_filename)
    if code is None or tree is None:
        return None
    for owner, node in functions_of(tree):
        if node.name == code.co_name and first_line(node) <= code.co_firstlineno <= node.lineno:
            return Located(tree, code.co_filename, node, owner)
    return None


@lru_cache(maxsize=16)
def _parsed(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None
