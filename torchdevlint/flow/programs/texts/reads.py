"""What code reads, as its text says: names, what it asks of them, attributes of whatever else, and texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, parameter_names
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_ASKING = ("isinstance", "issubclass")
_SAME = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)


class Read(Struct, frozen=True):
    """What some code reads."""

    paths: frozenset[str]
    """Names, with the attributes that are read of them."""
    attributes: frozenset[str]
    """Attributes of what is not known."""
    asked: frozenset[tuple[str, str]]
    """Attributes of what goes by a path of names that the code does not bind itself; of its object, of ``self``."""
    texts: frozenset[str]


@once_a_node
def read_by(node: ast.AST) -> Read:
    """What some code reads; neither what says, or asks, of which type something is, nor its own arguments."""
    typed = [each.annotation for each in nodes_in(node, ast.arg)]
    typed += [each.returns for each in nodes_in(node, ast.FunctionDef)]
    typed += [each.returns for each in nodes_in(node, ast.AsyncFunctionDef)]
    typed += [each.annotation for each in nodes_in(node, ast.AnnAssign)]
    typed += _asked_for(node)
    left_out = {id(part) for each in typed if each is not None for part in inside(each)}
    own = parameter_names(node) if isinstance(node, _FUNCTIONS) else frozenset()
    attributes = [each for each in nodes_in(node, ast.Attribute) if id(each) not in left_out]
    paths = {path for each in attributes if (path := dotted_path(each)) is not None}
    names = [each for each in nodes_in(node, ast.Name) if isinstance(each.ctx, ast.Load) and id(each) not in left_out]
    paths.update(each.id for each in names)
    texts = (each.value for each in nodes_in(node, ast.Constant))
    asked = _asked_in(node, attributes)
    return Read(
        frozenset(each for each in paths if each.partition(".")[0] not in own),
        frozenset(each.attr for each in attributes if each not in asked),
        frozenset((path, each.attr) for each, path in asked.items()),
        frozenset(each for each in texts if isinstance(each, str) and each.isidentifier()),
    )


def _asked_for(node: ast.AST) -> Iterator[ast.expr]:
    """The classes of which a test asks whether something is of them, or which are caught: nobody builds one by that."""
    for call in nodes_in(node, ast.Call):
        if dotted_path(call.func) in _ASKING and len(call.args) == 2:
            yield from _classes_in(call.args[1])
    for test in nodes_in(node, ast.Compare):
        if isinstance(test.ops[0], _SAME) and _is_class_of(test.left):
            yield from _classes_in(test.comparators[0])
    for handler in nodes_in(node, ast.ExceptHandler):
        yield from _classes_in(handler.type)


def _classes_in(node: ast.expr | None) -> Iterator[ast.expr]:
    """The names, and parts of a tuple, that are written as those of classes: another name may be asked for more."""
    if isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from _classes_in(each)
    elif isinstance(node, (ast.Name, ast.Attribute)) and last_name(node)[:1].isupper():
        yield node


def _is_class_of(node: ast.expr) -> bool:
    """Whether an expression gives the class of an object: ``type(net)``, ``net.__class__``."""
    if isinstance(node, ast.Call):
        return dotted_path(node.func) == "type" and len(node.args) == 1
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def _asked_in(node: ast.AST, attributes: list[ast.Attribute]) -> dict[ast.Attribute, str]:
    """The attributes that are asked of what goes by a path of names which the code does not bind itself."""
    bound = {each.arg for each in nodes_in(node, ast.arg)}
    bound.update(each.name for kind in _DEFINITIONS for each in nodes_in(node, kind))  # type: ignore[attr-defined]
    bound.update(each.id for each in nodes_in(node, ast.Name) if not isinstance(each.ctx, ast.Load))
    bound.update(each.asname or first_name(each.name) for each in _imported_at_hand(node))
    me = _object_of(node)
    found = {each: _owner(each.value, me) for each in attributes}
    return {each: path for each, path in found.items() if path and (path == "self" or first_name(path) not in bound)}


def _imported_at_hand(node: ast.AST) -> list[ast.alias]:
    """What some code imports itself from its own package, or by the path of a module."""
    found = [each for held in nodes_in(node, ast.Import) for each in held.names]
    return found + [each for held in nodes_in(node, ast.ImportFrom) if held.level for each in held.names]


def _owner(node: ast.expr, me: str) -> str:
    """The path of names of what is asked for an attribute; that of the own object, also as a base, is ``self``."""
    if isinstance(node, ast.Call) and dotted_path(node.func) == "super" and me:
        return "self"
    path = dotted_path(node) or ""
    return "self" if me and path == me else "" if path == "self" or "[" in path else path


def _object_of(node: ast.AST) -> str:
    """What a function calls the object, or the class, that it is a method of, where nothing else may be meant."""
    if not isinstance(node, _FUNCTIONS) or nodes_in(node, ast.ClassDef):
        return ""
    positional = [*node.args.posonlyargs, *node.args.args]
    name = positional[0].arg if positional else ""
    stored = any(each.id == name for each in nodes_in(node, ast.Name) if not isinstance(each.ctx, ast.Load))
    is_static = any(dotted_path(each) == "staticmethod" for each in node.decorator_list)
    return "" if is_static or stored or name not in ("self", "cls") else name
