"""What statements bind and read, and which of them do only what is known. No torch."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from torchdevlint.runtime.execute.target import FunctionNode, Region, blocks_of, dotted

BUILTINS = frozenset(dir(builtins)) - {"input", "exit", "quit", "open", "breakpoint"}
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert)
_KNOWN_ROOTS = frozenset({"torch", "numpy", *sys.stdlib_module_names})


def is_known(statement: ast.stmt, known: frozenset[str], called: frozenset[str] = frozenset()) -> bool:
    """Whether it calls only torch, numpy, the standard library, methods of values, and what is `called` anyway."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, ast.ListComp, ast.GeneratorExp)):
            return False
        if isinstance(node, ast.Call):
            path = dotted(node.func)
            if path is None or path in called:
                continue
            root, _, rest = path.partition(".")
            if not rest and root not in known:
                return False
            if root in ("self", "cls") or root == "super":
                return False
    return True


def imports_of(tree: ast.Module) -> tuple[list[ast.stmt], frozenset[str]]:
    """The imports of torch, numpy and the standard library anywhere in the file, and the names that they bind."""
    kept: list[ast.stmt] = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases = [each for each in node.names if each.name.partition(".")[0] in _KNOWN_ROOTS]
            if aliases:
                kept.append(ast.copy_location(ast.Import(aliases), node))
                names |= {each.asname or each.name.partition(".")[0] for each in aliases}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            root = (node.module or "").partition(".")[0]
            if root not in _KNOWN_ROOTS or root == "__future__" or any(each.name == "*" for each in node.names):
                continue
            kept.append(_tolerant(node))
            names |= {each.asname or each.name for each in node.names}
    return kept, frozenset(names)


def _tolerant(node: ast.ImportFrom) -> ast.stmt:
    """An import of what this torch may not have any more: the slice may not need it."""
    handler = ast.ExceptHandler(ast.Name("ImportError", ast.Load()), None, [ast.Pass()])
    return ast.copy_location(ast.Try([node], [handler], [], []), node)


def flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a body, those inside of compound ones included, in the order of their lines."""
    for node in body:
        yield node
        if not isinstance(node, (FunctionNode, ast.ClassDef)):
            for block in blocks_of(node):
                yield from flat(block)


def on_the_way(body: Sequence[ast.stmt], regions: Sequence[Region]) -> Iterator[ast.stmt]:
    """The simple statements that run before or at the regions, whatever the tests and loops say that hold none of them.

    The arms of an `if` and the bodies of loops count only where they hold a region; those of `with` and `try` always.
    """
    for node in body:
        if isinstance(node, SIMPLE):
            yield node
            continue
        if isinstance(node, (FunctionNode, ast.ClassDef)):
            continue
        for place, block in enumerate(blocks_of(node)):
            rows = range(block[0].lineno, (block[-1].end_lineno or block[-1].lineno) + 1)
            certain = isinstance(node, (ast.With, ast.AsyncWith, ast.Try)) and not place
            if certain or any(region.row in rows for region in regions):
                yield from on_the_way(block, regions)


def bound_by(statement: ast.stmt) -> set[str]:
    """The names and dotted paths that a simple statement binds."""
    if isinstance(statement, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "register_buffer":
            first = call.args[0] if call.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return {f"self.{first.value}"}
        return set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {path for each in targets if each is not None for path in names_in(each)}


def names_in(target: ast.expr) -> set[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return {path for each in target.elts for path in names_in(each)}
    if isinstance(target, ast.Starred):
        return names_in(target.value)
    path = dotted(target)
    return {path} if path is not None else set()


def free_names(statements: Sequence[ast.stmt], known: frozenset[str], bound: set[str]) -> list[str]:
    """The names and paths on `self` that statements read before they bind them, in order."""
    found: dict[str, None] = {}
    bound = set(bound)
    for statement in statements:
        reader = _Reader(known, bound, found)
        reader.visit(statement)
        bound |= bound_by(statement) if isinstance(statement, SIMPLE) else reader.stored
    return list(found)


class _Reader(ast.NodeVisitor):
    """Collects what is read: plain names, and of `self` the attribute."""

    def __init__(self, known: frozenset[str], bound: set[str], found: dict[str, None]) -> None:
        self.known, self.bound, self.found = known, bound, found
        self.stored: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = dotted(node)
        parts = path.split(".") if path is not None else []
        if len(parts) > 1 and parts[0] == "self":
            own = ".".join(parts[:2])
            if isinstance(node.ctx, ast.Load) and own not in self.bound:
                self.found[own] = None
            return
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.stored.add(node.id)
        elif node.id not in self.known and node.id not in self.bound and node.id not in self.stored:
            self.found[node.id] = None

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        path = dotted(node.target)
        if path is not None and path not in self.bound and path.partition(".")[0] not in self.known:
            self.found[path] = None

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        for each in node.body:
            self.visit(each)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, [node.key, node.value])

    def _comprehension(self, node: Any, results: list[ast.expr]) -> None:
        before = set(self.stored)
        for each in node.generators:
            self.visit(each.iter)
            self.visit(each.target)
            for test in each.ifs:
                self.visit(test)
        for each in results:
            self.visit(each)
        self.stored = before

    def visit_Lambda(self, node: ast.Lambda) -> None:
        before = set(self.stored)
        self.stored |= {each.arg for each in node.args.args}
        self.visit(node.body)
        self.stored = before


def shows_its_use(text: str) -> bool:
    """Whether a file may use what it defines: in examples, as a script, or in a function that needs no argument."""
    return ">>>" in text or "__main__" in text or bool(without_arguments(ast.parse(text)))


def as_script(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of ``if __name__ == "__main__":``."""
    for node in tree.body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            yield from node.body


def without_arguments(tree: ast.Module) -> list[str]:
    """The functions of a file that need no argument and call something that the file defines."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    defined = {node.name for node in tree.body if isinstance(node, kinds)}
    found = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or _needs_arguments(node.args):
            continue
        called = {one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
        if called & defined:
            found.append(node.name)
    return found


def _needs_arguments(arguments: ast.arguments) -> bool:
    by_place = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return bool(by_place) or any(default is None for default in arguments.kw_defaults)
