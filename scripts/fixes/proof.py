"""What the safe fixes of one file are held to: no name is lost, nothing new is found, and nothing is left to fix."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pyflakes.checker import Checker
from pyflakes.messages import UndefinedLocal, UndefinedName

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Diagnostic
from torchdevlint.source.text import decode

SETTINGS = Settings()


@dataclass(frozen=True)
class Proof:
    """A file before and after its safe fixes, with the findings that had one, and what is wrong with the result."""

    filename: str
    old: bytes
    new: bytes
    fixed: tuple[Diagnostic, ...]
    faults: tuple[str, ...]


def prove(data: bytes, filename: str) -> Proof | None:
    """Fix a file safely, and look at what comes out; None if there is nothing to fix."""
    found = check_bytes(data, filename, SETTINGS).diagnostics
    once = fix_bytes(data, filename, SETTINGS)
    if once.content == data:
        return None
    left = {(each.code, each.line) for each in once.result.diagnostics}
    fixed = tuple(each for each in found if each.fix is not None and (each.code, each.line) not in left)
    return Proof(filename, data, once.content, fixed, tuple(_faults(data, once.content, filename, found)))


def _faults(old: bytes, new: bytes, filename: str, found: tuple[Diagnostic, ...]) -> Iterator[str]:
    again = fix_bytes(new, filename, SETTINGS)
    yield from (f"fixing: {each.message}" for each in again.result.problems)
    if again.content != new:
        yield "fixing what was fixed changes it again"
    if filename.endswith(".py"):
        lost = Counter(undefined(new)) - Counter(undefined(old))
        yield from (f"undefined: {name}" for name in sorted(lost.elements()))
    codes = Counter(each.code for each in again.result.diagnostics) - Counter(each.code for each in found)
    yield from (f"found only after the fix: {code}" for code in sorted(codes.elements()))


def undefined(data: bytes) -> list[str]:
    """The names that are read and bound nowhere, or not yet, as pyflakes sees it."""
    try:
        tree = ast.parse(decode(data))
    except (SyntaxError, ValueError) as error:
        return [f"the file cannot be parsed: {error}"]
    found = Checker(tree, builtins=("get_ipython", "display")).messages
    return [each.message_args[0] for each in found if isinstance(each, (UndefinedName, UndefinedLocal))]
