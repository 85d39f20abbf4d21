"""Why a slice may have left out what puts a finding right: it then confirms nothing. No torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from torchdevlint.runtime.execute.reading import bound_by, flat
from torchdevlint.runtime.execute.target import (
    FunctionNode,
    Place,
    Region,
    Target,
    dotted,
    functions_of,
    statement_at,
)

_ABOUT_PLACES = re.compile(r"device|cuda|\.cpu\b|\.to\b|type_as|\bxpu\b|\bmps\b")
_TYPE_ONLY = re.compile(r"\.to\((?:dtype=)?\w+\.(?:b?float|double|half|u?int|long|short|bool|complex)\d*\)")
"""A conversion, which leaves a tensor where it is."""
_SAYS_WHERE = re.compile(r"device|meta|default")
_MOVES_ITSELF = frozenset({"_apply", "to", "cuda"})
_FILLS = frozenset({"add", "append", "appendleft", "extend", "insert", "put", "setdefault", "update"})
_DEFAULTS = frozenset({"set_default_device", "set_default_tensor_type"})


def doubts(
    target: Target, place: Place | None, body: Sequence[ast.stmt], kept: Sequence[ast.stmt], known: frozenset[str]
) -> Iterator[str]:
    """The reasons, in words; none if what is left out says nothing of where tensors are."""
    if any(node.attr in _DEFAULTS for node in ast.walk(target.tree) if isinstance(node, ast.Attribute)):
        yield "the file sets a default device"
    if other := _another_torch(target.tree):
        yield f"`torch` is that of `{other}` in this file"
    owner = place.owner if place is not None else None
    if owner is not None and _MOVES_ITSELF & {each.name for each in owner.body if isinstance(each, ast.FunctionDef)}:
        yield f"`{owner.name}` says itself how it is moved"
    regions = place.regions if place is not None else (target.at, *target.notes)
    yield from _around(body, regions)
    yield from _left_out(body, kept, known)
    if place is not None and owner is not None:
        yield from _filled_elsewhere(target, place.function, owner, kept, known)
    if target.code in ("TDL001", "TDL002"):
        yield from _came_from_elsewhere(target, body, kept)


def _another_torch(tree: ast.Module) -> str:
    """The package whose `torch` a file imports, if that is not PyTorch: its arrays have methods of the same names."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound = {each.asname or each.name.partition(".")[0]: each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            bound = {each.asname or each.name: (node.module or "").partition(".")[0] for each in node.names}
        else:
            continue
        if "torch" in bound:
            found[bound["torch"]] = None
    return "" if "torch" in found else next(iter(found), "")


def _came_from_elsewhere(target: Target, body: Sequence[ast.stmt], kept: Sequence[ast.stmt]) -> Iterator[str]:
    """What is moved, and was made by a statement that the slice does not run: it may have been there all along."""
    rows = {each.lineno for each in kept}
    moved = {
        path
        for statement in statement_at(body, target.at)[-1:]
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and (path := dotted(node.value))
    }
    for statement in flat(body):
        before = statement.lineno < target.at.row and statement.lineno not in rows
        bound = bound_by(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else set()
        for path in sorted(bound & moved) if before else ():
            yield f"`{path}` is bound in line {statement.lineno}, which the slice does not run"


def _around(body: Sequence[ast.stmt], regions: Iterable[Region]) -> Iterator[str]:
    """Tests that ask where something is, contexts that say so, and handlers, around the flagged statements."""
    for region in regions:
        for node in statement_at(body, region)[:-1]:
            if isinstance(node, ast.Try) and node.handlers:
                yield f"line {node.lineno} handles exceptions"
            asks = isinstance(node, (ast.If, ast.While)) and _is_about_places(node.test)
            contexts = node.items if isinstance(node, (ast.With, ast.AsyncWith)) else []
            if asks or any(_SAYS_WHERE.search(ast.unparse(item)) for item in contexts):
                yield f"line {node.lineno} asks where something is, or says it"


def _filled_elsewhere(
    target: Target, function: FunctionNode, owner: ast.ClassDef, kept: Sequence[ast.stmt], known: frozenset[str]
) -> Iterator[str]:
    """Attributes that other methods fill, of the class or of its bases in the file: with what is moved, or not known.

    A slice gives them values of ours, which are where the finding wants them.
    """
    read = {
        dotted(node)
        for each in kept
        for node in ast.walk(each)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    family = _family(target.tree, owner)
    for one, method in functions_of(target.tree):
        if one not in family or method is function or method.name == "__init__":
            continue
        for statement in flat(method.body):
            for path in sorted(_filled_by(statement) & read):
                if _is_about_places(method) or _asks_others(statement, known | _arguments(method)):
                    yield f"`{path}` is filled by `{method.name}`, which the slice does not run"


def _family(tree: ast.Module, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """A class and what it inherits from in its own file."""
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    found = [owner]
    for one in found:
        bases = (classes.get(dotted(base) or "") for base in one.bases)
        found += [each for each in bases if each is not None and each not in found]
    return found


def _filled_by(statement: ast.stmt) -> set[str]:
    """What a statement binds, or puts something into."""
    if isinstance(statement, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS:
            return {dotted(call.func.value) or ""}
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or _is_empty(statement.value):
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    into = {dotted(each.value) or "" for each in targets if isinstance(each, ast.Subscript)}
    return into | bound_by(statement)


def _is_empty(value: ast.expr | None) -> bool:
    return value is None or isinstance(value, ast.Constant) or (isinstance(value, ast.List) and not value.elts)


def _asks_others(statement: ast.stmt, known: frozenset[str]) -> bool:
    """Whether what is put in comes from a call of what is not known: neither of torch nor of an argument's methods."""
    filling = statement.value if isinstance(statement, ast.Expr) else None
    calls = (each for each in ast.walk(statement) if isinstance(each, ast.Call) and each is not filling)
    return any((dotted(each.func) or "").partition(".")[0] not in known for each in calls)


def _arguments(method: FunctionNode) -> frozenset[str]:
    arguments = method.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return frozenset(each.arg for each in every if each.arg not in ("self", "cls"))


def _is_about_places(node: ast.AST) -> bool:
    return _ABOUT_PLACES.search(_TYPE_ONLY.sub("", ast.unparse(node))) is not None


def _left_out(body: Sequence[ast.stmt], kept: Sequence[ast.stmt], known: frozenset[str]) -> Iterator[str]:
    """Statements that bind what the slice reads or has bound, and that it does not run."""
    rows = {each.lineno for each in kept}
    last = max(rows, default=0)
    read = {node.id for each in kept for node in ast.walk(each) if isinstance(node, ast.Name)}
    read |= {ast.unparse(node) for each in kept for node in ast.walk(each) if isinstance(node, ast.Attribute)}
    made: set[str] = set()
    for statement in flat(body):
        if statement.lineno > last:
            continue
        bound = bound_by(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else set()
        if statement.lineno in rows:
            made |= bound
            continue
        for path in sorted(bound & read):
            value = getattr(statement, "value", None)
            by_function = (
                isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id not in known
            )
            if by_function or path in made or _is_about_places(statement):
                yield f"`{path}` is bound in line {statement.lineno}, which the slice does not run"
