"""The names of files that code writes and reads, as far as they are written down: ``"x.pt"`` of ``folder / "x.pt"``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchdevlint.flow.names import argument_names, last_name
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in

HOLE = "{}"
"""What stands for a part of a name that is not known."""
Scopes = Sequence[ast.AST]
"""A function with all that are around it and the module, nearest first."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LAST_OF = frozenset("join joinpath".split())
_ONE_OF = frozenset("Path PurePath str fspath open abspath realpath expanduser".split())
_OF_PATHS = frozenset("open resolve absolute expanduser as_posix".split())
_MODULES = frozenset("os io pathlib gzip".split())
_SPECIFIERS = re.compile(r"%[-\d.]*\w|{[^{}]*}")
_TELLING = re.compile(r"[^\W\d_]{3}")
_WORDS = re.compile(r"[^\W\d]+")
_MOST_NAMES = 6


def file_name(scopes: Scopes, node: ast.expr, names: int = _MOST_NAMES) -> str | None:
    """The last part of a path, with holes; None for one of which hardly more than the suffix is written down."""
    text = _text(scopes, node, names)
    name = None if text is None else text.rpartition("/")[2]
    return name if name is not None and is_telling(name) else None


def is_telling(name: str) -> bool:
    """Whether what is known of a name is more than its suffix."""
    return "." in name and _TELLING.search(name.rpartition(".")[0].replace(HOLE, " ")) is not None


def words_of(name: str) -> tuple[str, str]:
    """What the text of a file says that writes files of this name: the longest word in it, and the suffix."""
    stem, _, suffix = name.rpartition(".")
    return max(_WORDS.findall(stem.replace(HOLE, " ")), key=len), f".{suffix}"


def may_be_equal(one: str, other: str) -> bool:
    """Whether two names with holes are alike, or what is a hole in one of them is written down in the other."""
    return _fits(one, other) or _fits(other, one)


def _fits(name: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(HOLE))), name) is not None


def _text(scopes: Scopes, node: ast.expr, names: int) -> str | None:
    """What is known of a path as a text: at least its end, if its last part is."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else HOLE for each in node.values)
    if isinstance(node, ast.BinOp):
        return _of_operator(scopes, node, names)
    if isinstance(node, ast.Call):
        return _of_call(scopes, node, names)
    if isinstance(node, ast.Name) and names:
        values = list(bound_to(scopes, node.id))
        return _text(scopes, values[0], names - 1) if len(values) == 1 else None
    return None


def _of_operator(scopes: Scopes, node: ast.BinOp, names: int) -> str | None:
    if isinstance(node.op, ast.Mod):
        template = _text(scopes, node.left, names)
        return None if template is None else _SPECIFIERS.sub(HOLE, template)
    end = _text(scopes, node.right, names)
    if isinstance(node.op, ast.Add) and end is not None and "/" not in end:
        return f"{_text(scopes, node.left, names) or HOLE}{end}"
    return end if isinstance(node.op, (ast.Add, ast.Div)) else None


def _of_call(scopes: Scopes, node: ast.Call, names: int) -> str | None:
    called = last_name(node.func)
    if called in _LAST_OF or (called == "Path" and len(node.args) > 1):
        return _text(scopes, node.args[-1], names) if node.args else None
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if called == "format" and receiver is not None:
        template = _text(scopes, receiver, names)
        return None if template is None else _SPECIFIERS.sub(HOLE, template)
    if called in _OF_PATHS and receiver is not None and last_name(receiver) not in _MODULES:
        return _text(scopes, receiver, names)
    return _text(scopes, node.args[0], names) if called in _ONE_OF and node.args else None


def scopes_of(tree: ast.Module, node: ast.AST) -> tuple[ast.AST, ...]:
    """The functions around a call, nearest first, and the module."""
    return (*_functions_around(tree).get(id(node), ()), tree)


@once_a_node
def _functions_around(tree: ast.Module) -> dict[int, tuple[ast.AST, ...]]:
    """For each call in a function, and each function in another one, those around it."""
    found: dict[int, tuple[ast.AST, ...]] = {}
    for kind in _FUNCTIONS:
        for function in nodes_in(tree, kind):
            for inner in (ast.Call, *_FUNCTIONS):
                for node in nodes_in(function, inner):
                    found[id(node)] = (function, *found.get(id(node), ()))
    return {key: tuple(sorted(around, key=_row, reverse=True)) for key, around in found.items()}


def _row(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def bound_to(scopes: Scopes, name: str) -> Iterator[ast.expr]:
    """What a name is assigned, or opened as, in the nearest scope that binds it; nothing for a parameter."""
    for scope in scopes:
        found = _assigned(scope).get(name)
        if isinstance(scope, _FUNCTIONS) and name in argument_names(scope):
            return
        if found:
            yield from found
            return


@once_a_node
def _assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    bound = [(target, each.value) for each in own_nodes_in(scope, ast.Assign) for target in each.targets]
    bound += [(each.target, each.value) for each in own_nodes_in(scope, ast.AnnAssign) if each.value is not None]
    items = [item for each in own_nodes_in(scope, ast.With) for item in each.items]
    bound += [(item.optional_vars, item.context_expr) for item in items if item.optional_vars is not None]
    found: dict[str, list[ast.expr]] = {}
    for target, value in bound:
        if isinstance(target, ast.Name):
            found.setdefault(target.id, []).append(value)
    return found
