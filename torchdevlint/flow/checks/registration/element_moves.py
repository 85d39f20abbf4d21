"""Whether a class moves what one of its container attributes holds by hand, each element before it is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.kinds.element_calls import bound_by
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignment_of, assignments_in, keyword_of, nodes_in

_GIVES_NO_ELEMENT = frozenset("append insert extend update keys".split())
_DEFERRED = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_BIND_INSIDE = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.match_case, *_COMPREHENSIONS)
_BLOCKS = ("body", "orelse", "finalbody")


def moves_elements(info: ClassInfo, attribute: str, kind: str) -> bool:
    """Whether every use of an element outside ``__init__`` comes after a move of that element, in the same method.

    ``self.parts[key].to(x.device)`` moves a module in place, so that ``self.parts[key](x)`` is where `x` is.
    """
    methods = [
        _Method(method, attribute, kind == "dict")
        for each in info.mro
        for name, method in each.methods.items()
        if name != "__init__"
    ]
    uses = [(method, use) for method in methods for use in method.uses()]
    return any(method.is_receiver(use) for method, use in uses) and all(method.is_moved(use) for method, use in uses)


class _Method:
    """One method, and the local names that stand for elements in it."""

    def __init__(self, node: FunctionNode, attribute: str, is_dict: bool) -> None:
        self.node = node
        self.attribute = attribute
        self.path = f"self.{attribute}"
        self.parents = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
        self.is_dict = is_dict
        self.names: set[str] = set()
        self.sources: set[ast.AST] = set()
        """The loops' mentions of the container, which give elements to these names, or keys."""
        loops: list[ast.For | ast.comprehension] = [*nodes_in(node, ast.For), *nodes_in(node, ast.comprehension)]
        for loop in loops:
            mentions = [each for each in nodes_in(loop, ast.Attribute) if dotted_path(each) == self.path]
            bound = set() if self._gives_keys(loop.iter) else set(bound_by(loop.target, loop.iter, self.path))
            if bound or self._gives_keys(loop.iter):
                inside = set(ast.walk(loop.iter))
                self.sources.update(each for each in mentions if each in inside)
            self.names |= bound
        for assignment in assignments_in(node):
            value = _moved_by(assignment.value) or assignment.value
            if isinstance(value, ast.Subscript) and dotted_path(value.value) == self.path:
                self.names.update(each.id for each in assignment.targets if isinstance(each, ast.Name))

    def _gives_keys(self, source: ast.expr) -> bool:
        return self.is_dict and dotted_path(source) == self.path

    def uses(self) -> Iterator[ast.expr]:
        """Where an element stands, or the container as a whole does."""
        yield from (each for each in nodes_in(self.node, ast.Name) if each.id in self.names and _is_read(each))
        for node in nodes_in(self.node, ast.Attribute):
            if dotted_path(node) != self.path or not _is_read(node) or node in self.sources:
                continue
            parent = self.parents[node]
            if isinstance(parent, ast.Subscript) and parent.value is node:
                if _is_read(parent):
                    yield parent
            elif not self._is_harmless(node, parent):
                yield node

    def _is_harmless(self, node: ast.expr, parent: ast.AST) -> bool:
        if isinstance(parent, ast.Attribute):
            return parent.attr in _GIVES_NO_ELEMENT
        if isinstance(parent, ast.Call):
            return dotted_path(parent.func) == "len"
        return isinstance(parent, ast.Compare) and node is not parent.left

    def is_receiver(self, use: ast.expr) -> bool:
        """Whether this is ``<use>.to(device)``."""
        method = self.parents[use]
        return _moved_by(self.parents[method]) is use

    def is_moved(self, use: ast.expr) -> bool:
        parent = self.parents[use]
        if isinstance(parent, ast.Attribute) and parent.attr in torch_api.MOVE_METHODS:
            return self.is_receiver(use)
        assigned = assignment_of(parent)
        named = assigned is not None and all(isinstance(each, ast.Name) for each in assigned.targets)
        if named and isinstance(use, ast.Subscript):
            return True
        return self._comes_after_a_move(use)

    def _comes_after_a_move(self, use: ast.expr) -> bool:
        """Whether a statement before it, in a block that it is in, moves what it stands for."""
        spelled = ast.unparse(use)
        words = set(re.findall(r"\w+", spelled))
        same = not nodes_in(use, ast.Call)
        node: ast.AST = use
        while node is not self.node:
            if isinstance(node, _DEFERRED):
                return False
            if isinstance(node, _BIND_INSIDE):
                same = same and words.isdisjoint(_bound_in(node))
            for before in self._before(node):
                if self._moves_all(before) or (same and self._moves(before, spelled)):
                    return True
                bound = _bound_in(before)
                same = same and words.isdisjoint(bound)
                if self.attribute in bound:
                    return False
            node = self.parents[node]
        return False

    def _before(self, node: ast.AST) -> list[ast.stmt]:
        """The statements before this one in its block, the nearest first."""
        for field in _BLOCKS:
            block = getattr(self.parents[node], field, None)
            if isinstance(block, list) and node in block:
                return block[: block.index(node)][::-1]
        return []

    def _moves(self, statement: ast.stmt, spelled: str) -> bool:
        assigned = assignment_of(statement)
        value = statement.value if isinstance(statement, ast.Expr) else assigned.value if assigned is not None else None
        if value is None:
            return False
        targets = [ast.unparse(each) for each in (assigned.targets if assigned is not None else ())]
        moved = _moved_by(value)
        if moved is not None:
            return spelled in targets or spelled == ast.unparse(moved)
        return spelled in targets and isinstance(value, ast.Subscript) and self._comes_after_a_move(value)

    def _moves_all(self, statement: ast.stmt) -> bool:
        """``for part in self.parts: part.to(device)``, or over the keys or values of a dict."""
        if not isinstance(statement, ast.For) or not isinstance(statement.target, ast.Name):
            return False
        name, source = statement.target.id, statement.iter
        if self._gives_keys(source):
            return self._moves(statement.body[0], f"{self.path}[{name}]")
        whole = self.path + (".values()" if self.is_dict else "")
        return ast.unparse(source) == whole and self._moves(statement.body[0], name)


def _moved_by(node: ast.AST) -> ast.expr | None:
    """What ``x.to(device)`` or ``x.cuda()`` moves: `x`; None for any other node, and for a move to the CPU."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name, named = node.func.attr, keyword_of(node, "device")
    if name in torch_api.DEVICE_METHODS:
        return node.func.value if name != "cpu" else None
    given = named or (node.args[0] if node.args else None)
    return node.func.value if name == "to" and given is not None and _is_device(given) else None


def _is_device(node: ast.expr) -> bool:
    """Whether an expression is a device by its name, other than the CPU; a dtype moves nothing."""
    texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if texts or isinstance(node, ast.Constant):
        return bool(texts) and not any(each.startswith("cpu") for each in texts)
    name = (dotted_path(node.func if isinstance(node, ast.Call) else node) or "").rpartition(".")[2]
    return "dev" in name and "cpu" not in name


def _bound_in(node: ast.AST) -> set[str]:
    """The names and attributes that get a value, or another element, in a statement or comprehension."""
    found = {each.id for each in nodes_in(node, ast.Name) if not _is_read(each)}
    found |= {each.attr for each in nodes_in(node, ast.Attribute) if not _is_read(each)}
    for each in nodes_in(node, ast.Subscript):
        if not _is_read(each):
            found.add((dotted_path(each.value) or "").rpartition(".")[2])
    return found


def _is_read(node: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load)
