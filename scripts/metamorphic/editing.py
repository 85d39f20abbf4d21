"""Texts of programs: what stands where in them, and how they are edited line by line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
CHOSEN = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
"""The device that programs take."""
FILLER = """\
import argparse
import json
import logging
import math
from pathlib import Path

logger = logging.getLogger(__name__)
SETTINGS_OF_RUN = {"rounds": 3, "rate": 0.1, "name": "first"}


def read_settings_of_run(path):
    with open(path) as stream:
        return json.load(stream)


def mean_of_numbers(numbers):
    total = 0.0
    for number in numbers:
        total += number
    return total / max(len(numbers), 1)


def is_round(number):
    if number < 0:
        raise ValueError(number)
    return number % 10 == 0


class RunningMeter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, number):
        self.total += number
        self.count += 1


def name_of_run(settings):
    name = settings.get("name", "run")
    return f"{name}-{math.floor(settings['rounds'])}"


def log_files(folder):
    return sorted(Path(folder).glob("*.log"))


def parser_of_run():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    return parser


for _key in sorted(SETTINGS_OF_RUN):
    if _key == "name":
        continue
    logger.debug("%s", _key)
"""
"""Code that has nothing to do with tensors, as most of a script."""


def called(text: str) -> str | None:
    """The program calls its `main` with the device that is there."""
    tree = ast.parse(text)
    if not main_of(tree) or named(tree, "__name__"):
        return None
    return f'{with_torch(text)}\n\nif __name__ == "__main__":\n    main({CHOSEN})\n'


def main_of(tree: ast.Module) -> ast.FunctionDef | None:
    """The function ``main(device)``, if it has a line of its own for its body."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            plain = [each.arg for each in node.args.args] == ["device"] and not node.decorator_list
            return node if plain and node.body[0].lineno > node.lineno else None
    return None


def with_torch(text: str) -> str:
    """The text with `torch` among its imports."""
    if re.search(r"(?m)^import torch$", text):
        return text
    return with_head(text, ["import torch"])


def with_head(text: str, head: list[str]) -> str:
    """The text with some lines before all but its docstring and imports from the future."""
    at = 0
    for node in ast.parse(text).body:
        if not is_first(node):
            break
        at = node.end_lineno or node.lineno
    lines = text.splitlines()
    return "\n".join([*lines[:at], *head, *lines[at:]])


def is_first(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or an import from the future."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def is_head(node: ast.stmt) -> bool:
    return is_first(node) or isinstance(node, ast.Import | ast.ImportFrom)


def is_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "torch"


def as_bound(alias: ast.alias) -> str:
    return alias.asname or alias.name


def bound(tree: ast.Module, name: str) -> int:
    """How often a name is bound."""
    imports = [as_bound(a) for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names]
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    return [*imports, *stored, *(n.arg for n in ast.walk(tree) if isinstance(n, ast.arg))].count(name)


def named(tree: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def functions(tree: ast.AST) -> Iterator[FunctionNode]:
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def own(function: FunctionNode) -> Iterator[ast.AST]:
    """What is in a function, but not in another one within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def statements(function: FunctionNode) -> Iterable[ast.stmt]:
    found = [node for node in own(function) if isinstance(node, ast.stmt)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def in_functions(tree: ast.AST, kind: type[ast.AST]) -> bool:
    return any(isinstance(node, kind) for node in ast.walk(tree))


def is_opaque(node: ast.AST) -> bool:
    """Whether names are used here in a way that an edit of their places does not reach."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Match):
        return True
    if isinstance(node, ast.ExceptHandler) and node.name:
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("locals", "eval", "exec")


def continued(tree: ast.AST) -> Iterator[int]:
    """The rows that begin within a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


def indented(text: str, first: int, last: int | None = None) -> list[str]:
    """The rows from `first` to `last`, one level further in."""
    whole = set(continued(ast.parse(text)))
    rows = enumerate(text.splitlines()[first - 1 : last], first)
    return [line if row in whole or not line else "    " + line for row, line in rows]


def edited(text: str, edits: Iterable[tuple[ast.stmt | ast.expr, str]]) -> str:
    return replaced(text, [(n.lineno, n.col_offset, n.end_col_offset or 0, new) for n, new in edits])


def replaced(text: str, edits: Iterable[tuple[int, int, int, str]]) -> str:
    """The text with places (row, bytes from and to) written otherwise."""
    lines = [line.encode() for line in text.splitlines()]
    for row, start, end, new in sorted(set(edits), reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + new.encode() + line[end:]
    return "\n".join(line.decode() for line in lines)


def inserted(text: str, before: dict[int, list[str]]) -> str:
    lines = text.splitlines()
    for row in sorted(before, reverse=True):
        lines[row - 1 : row - 1] = before[row]
    return "\n".join(lines)
