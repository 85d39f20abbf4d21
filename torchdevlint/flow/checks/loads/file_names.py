"""The names of files that code writes and reads, as far as they are written down: ``"x.pt"`` of ``folder / "x.pt"``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from msgspec import Struct

from torchdevlint.flow.checks.loads.telling_names import HOLE, is_telling
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.patterns import regex
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in, once_a_node, own_assignments_in, own_nodes_in
from torchdevlint.source.python import expression_of

Scopes = Sequence[ast.AST]
"""A function with all that are around it and the module, nearest first."""
Texts = tuple[str | None, ...]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LAST_OF = frozenset("join joinpath".split())
_ONE_OF = frozenset("Path PurePath str fspath open abspath realpath expanduser basename".split())
_OF_PATHS = frozenset("open resolve absolute expanduser as_posix".split())
_MODULES = frozenset("os io pathlib gzip".split())
_SPECIFIERS = regex(r"%[-\d.]*\w|{[^{}]*}")
_UNFINISHED = regex(r"\.(?:tmp|temp|part|partial)$")
"""What a file is called until it is complete; then it loses that."""
_WILDCARDS = regex(r"[*?]+|\[[^\]]*\]")
_FINDS = frozenset("glob iglob rglob".split())
_SAME_ELEMENTS = frozenset("sorted list tuple reversed tqdm".split())
_MOST_NAMES = 6
_MOST_TEXTS = 8


class Place(Struct, frozen=True):
    """Where an expression stands: its scopes, and the file, whose imports are followed if its project is given."""

    scopes: Scopes
    home: str = ""
    project: Project | None = None

    def around(self, scopes: Scopes) -> Place:
        return Place(scopes, self.home, self.project)

    def elsewhere(self, path: str) -> tuple[Place, str] | None:
        """The module of the project from which a path of names is imported, and what it is there."""
        tree = self.scopes[-1]
        if self.project is None or not isinstance(tree, ast.Module):
            return None
        found = defined(self.project, self.home, tree, path)
        return None if found is None else (Place((found[0].tree,), found[0].path, self.project), found[1])


def file_name(scopes: Scopes, node: ast.expr) -> str | None:
    """The last part of a path, with holes; None for one of which hardly more than the suffix is written down."""
    names = file_names(Place(scopes), node)
    return names[0] if len(names) == 1 else None


def file_names(at: Place, node: ast.expr, ends: bool = False, whole: bool = False) -> tuple[str | None, ...]:
    """The last parts that a path may have, with holes; None among them for what is not known.

    Where `ends` are wanted, a suffix is enough: it tells the file from those of another suffix. Where names are only
    compared, one that is written down as a `whole` needs none.
    """
    texts = _texts(at, node, _MOST_NAMES)
    names = (None if text is None else _UNFINISHED.sub("", text.rpartition("/")[2]) for text in texts)
    known = (name if name is not None and _is_known(name, ends, whole) else None for name in names)
    return tuple(dict.fromkeys(known))


def path_as_written(at: Place, node: ast.expr) -> str | None:
    """A path with holes for all that is no text where it is put together: the values of names are settings."""
    texts = _texts(at, node, int(isinstance(node, ast.Name)))
    return texts[0] if len(texts) == 1 else None


def _is_known(name: str, ends: bool, whole: bool) -> bool:
    return is_telling(name) or (ends and "." in name) or (whole and bool(name) and HOLE not in name)


def _texts(at: Place, node: ast.expr | None, names: int) -> Texts:
    """What a path may be as a text: at least its end, if its last part is known; None for what is not."""
    if isinstance(node, ast.Constant):
        return (node.value if isinstance(node.value, str) else None,)
    if isinstance(node, ast.JoinedStr):
        return _joined(at, node, names)
    if isinstance(node, ast.BinOp):
        return _of_operator(at, node, names)
    if isinstance(node, ast.IfExp):
        return _one_of((*_texts(at, node.body, names), *_texts(at, node.orelse, names)))
    if isinstance(node, ast.BoolOp):
        return _one_of(text for each in node.values for text in _texts(at, each, names))
    if not names:
        return (None,)
    if isinstance(node, ast.Subscript):
        return _of_element(at, node.value, names)
    if isinstance(node, ast.Call):
        return _of_call(at, node, names)
    if isinstance(node, ast.Name):
        return _of_name(at, node.id, names)
    return _of_attribute(at, node, names) if isinstance(node, ast.Attribute) else (None,)


def _one_of(texts: Iterable[str | None]) -> Texts:
    found = tuple(dict.fromkeys(texts))
    return found if 0 < len(found) <= _MOST_TEXTS else (None,)


def _all_texts(values: Sequence[tuple[Place, ast.expr | None]], names: int) -> Texts:
    """What the values of one name may be; several take more of what is left to follow than one."""
    left = names - min(len(values), 2)
    if left < 0 or len(values) > _MOST_TEXTS:
        return (None,)
    return _one_of(text for at, each in values for text in _texts(at, each, left))


def _joined(at: Place, node: ast.JoinedStr, names: int) -> Texts:
    found: Texts = ("",)
    for each in node.values:
        parts: Texts = (HOLE,)
        if isinstance(each, ast.Constant):
            parts = (str(each.value),)
        elif isinstance(each, ast.FormattedValue) and each.format_spec is None and each.conversion == -1:
            parts = _texts(at, each.value, names)
        found = _together(found, parts)
    return found


def _together(before: Texts, after: Texts) -> Texts:
    ends = [HOLE if each is None else each for each in after]
    found = _one_of(f"{HOLE if one is None else one}{end}" for one in before for end in ends)
    return found if found != (None,) else _one_of(f"{HOLE}{end}" for end in ends)


def _of_operator(at: Place, node: ast.BinOp, names: int) -> Texts:
    if isinstance(node.op, ast.Mod):
        return _filled(_texts(at, node.left, names))
    ends = _texts(at, node.right, names)
    if isinstance(node.op, ast.Add) and not any(each is None or "/" in each for each in ends):
        return _together(_texts(at, node.left, names), ends)
    return ends if isinstance(node.op, (ast.Add, ast.Div)) else (None,)


def _filled(templates: Texts) -> Texts:
    return tuple(None if each is None else _SPECIFIERS.sub(HOLE, each) for each in templates)


def _of_call(at: Place, node: ast.Call, names: int) -> Texts:
    called = last_name(node.func)
    if called in _LAST_OF or (called == "Path" and len(node.args) > 1):
        return _texts(at, node.args[-1], names) if node.args else (None,)
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if called == "format" and receiver is not None:
        return _filled(_texts(at, receiver, names))
    if called in _OF_PATHS and receiver is not None and last_name(receiver) not in _MODULES:
        return _texts(at, receiver, names)
    if called in _ONE_OF:
        return _texts(at, node.args[0], names) if node.args else (None,)
    return _returned(at, node.func, names)


def _of_element(at: Place, node: ast.expr, names: int) -> Texts:
    """An element of what a pattern finds: ``glob("runs/*.rows")[0]``"""
    if isinstance(node, ast.Name) and names:
        for place, scope in enumerate(at.scopes):
            if isinstance(scope, _FUNCTIONS) and node.id in parameter_names(scope):
                return (None,)
            values = _assigned(scope).get(node.id)
            if values:
                value = values[0] if len(values) == 1 else None
                around = at.around(at.scopes[place:])
                return _of_element(around, value, names - 1) if isinstance(value, ast.Call) else (None,)
    called = last_name(node.func) if isinstance(node, ast.Call) and node.args else ""
    if isinstance(node, ast.Call) and called in _FINDS:
        found = _texts(at, node.args[0], names)
        return tuple(None if each is None else _WILDCARDS.sub(HOLE, each) for each in found)
    return _of_element(at, node.args[0], names) if isinstance(node, ast.Call) and called in _SAME_ELEMENTS else (None,)


def _returned(at: Place, callee: ast.expr, names: int) -> Texts:
    """What a function of the project gives that is called by its name, or as a method of the same class."""
    path, tree = dotted_path(callee), at.scopes[-1]
    owner = class_around(at.scopes)
    if path is None:
        return (None,)
    body = owner.body if owner is not None and path == f"self.{last_name(callee)}" else getattr(tree, "body", [])
    name = path.removeprefix("self.")
    function = next((each for each in body if isinstance(each, _FUNCTIONS) and each.name == name), None)
    if function is not None:
        inside = at.around((function, tree))
        return _all_texts([(inside, each.value) for each in own_nodes_in(function, ast.Return)], names)
    found = at.elsewhere(path) if names else None
    return (None,) if found is None else _returned(found[0], expression_of(found[1]), names - 1)


def _of_name(at: Place, name: str, names: int) -> Texts:
    for place, scope in enumerate(at.scopes):
        if isinstance(scope, _FUNCTIONS) and name in parameter_names(scope):
            return (None,)
        values = _assigned(scope).get(name)
        if values:
            around = at.around(at.scopes[place:])
            return _all_texts([(around, each) for each in values], names)
    return _of_import(at, name, names)


def _of_import(at: Place, path: str, names: int) -> Texts:
    found = at.elsewhere(path)
    return (None,) if found is None else _texts(found[0], expression_of(found[1]), names - 1)


def _of_attribute(at: Place, node: ast.Attribute, names: int) -> Texts:
    """``self.path`` of the class around, ``Paths.MODEL`` of a class of the module, or what an imported module has."""
    path, tree = dotted_path(node) or "", at.scopes[-1]
    first, _, name = path.partition(".")
    if first == "self":
        return _of_class(at, class_around(at.scopes), name, names)
    classes = (each for each in getattr(tree, "body", ()) if isinstance(each, ast.ClassDef))
    owner = next((each for each in classes if each.name == first), None)
    return _of_class(at, owner, name, names) if owner is not None else _of_import(at, path, names)


def _of_class(at: Place, owner: ast.ClassDef | None, name: str, names: int) -> Texts:
    """What an attribute may be as a text, by what its class assigns, else by what the bases of that do."""
    if owner is None or not name or "." in name:
        return (None,)
    tree = at.scopes[-1]
    values = [(at.around((tree,)), each) for each in _assigned(owner).get(name, ())]
    for method in owner.body:
        if isinstance(method, _FUNCTIONS):
            inside = at.around((method, tree))
            values += [(inside, each) for each in values_by_path(method).get(f"self.{name}", ())]
    known = [each for each in values if not _is_placeholder(each[1])]
    return _all_texts(known, names) if values else _of_bases(at, owner, name, names)


def _of_bases(at: Place, owner: ast.ClassDef, name: str, names: int) -> Texts:
    """What the nearest base gives that is of the project and tells."""
    for base in owner.bases if names else ():
        path = dotted_path(base) or ""
        here = next((each for each in getattr(at.scopes[-1], "body", ()) if _is_class(each, path)), None)
        found = None if here is not None else at.elsewhere(path)
        around, node = (at, here) if found is None else (found[0], _class_of(found))
        texts = _of_class(around, node, name, names - 1) if node is not None else (None,)
        if texts != (None,):
            return texts
    return (None,)


def _class_of(found: tuple[Place, str]) -> ast.ClassDef | None:
    statements = getattr(found[0].scopes[-1], "body", ())
    return next((each for each in statements if _is_class(each, found[1])), None)


def _is_class(node: ast.stmt, name: str) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and node.name == name


def _is_placeholder(value: ast.expr | None) -> bool:
    """What stands for a path until there is one: ``path = None``, ``path = str``"""
    if isinstance(value, ast.Constant):
        return value.value is None
    return isinstance(value, ast.Name) and value.id in ("str", "Path")


def class_around(scopes: Scopes) -> ast.ClassDef | None:
    """The class of the top level whose method the outermost function of some scopes is."""
    outer, tree = (scopes[-2], scopes[-1]) if len(scopes) > 1 else (None, scopes[-1])
    owners = (each for each in getattr(tree, "body", ()) if isinstance(each, ast.ClassDef) and outer in each.body)
    return next(owners, None)


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


@once_a_node
def _assigned(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """What names of a scope are assigned or opened as; None for what else they are bound to."""
    bound: list[tuple[ast.expr, ast.expr | None]] = []
    bound += [(target, each.value) for each in own_assignments_in(scope) for target in each.targets]
    bound += [(each.target, value) for each in own_nodes_in(scope, ast.For) for value in _rounds(each.iter)]
    bound += [(each.target, None) for each in own_nodes_in(scope, ast.AugAssign)]
    items = [item for each in own_nodes_in(scope, ast.With) for item in each.items]
    bound += [(item.optional_vars, item.context_expr) for item in items if item.optional_vars is not None]
    found: dict[str, list[ast.expr | None]] = {}
    for target, value in bound:
        for name, part in _pairs(target, value):
            found.setdefault(name, []).append(part)
    return found


def _rounds(rows: ast.expr) -> list[ast.expr]:
    """What a loop over a row gives in its rounds, one after the other; else an element of it stands for all."""
    written = _written(rows)
    return written if written is not None and len(written) <= _MOST_TEXTS else [ast.Subscript(rows, ast.Constant(0))]


def _written(rows: ast.expr) -> list[ast.expr] | None:
    """The elements of a row, where they are written down: ``("train", "test")``, ``zip(("train", "test"), sets)``"""
    if isinstance(rows, (ast.List, ast.Tuple)):
        return rows.elts
    called = rows.func.id if isinstance(rows, ast.Call) and isinstance(rows.func, ast.Name) else ""
    if not isinstance(rows, ast.Call) or called not in ("zip", "enumerate") or not rows.args:
        return None
    columns = [_written(each) for each in rows.args]
    count = min((len(each) for each in columns if each is not None), default=0)
    if not count:
        return None
    unknown: ast.expr = ast.Constant(None)
    lines = [[each[number] if each is not None else unknown for each in columns] for number in range(count)]
    begin = [unknown] if called == "enumerate" else []
    return [ast.Tuple([*begin, *line], ast.Load()) for line in lines]


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that an assignment binds, with their parts of the value, where that is written down."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        starred = any(isinstance(each, ast.Starred) for each in (*parts, *target.elts))
        plain = len(parts) == len(target.elts) and not starred
        for place, each in enumerate(target.elts):
            yield from _pairs(each, parts[place] if plain else None)
