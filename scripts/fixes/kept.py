"""What all fixes make of one file, and whether that is a fault of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from torchdevlint.config import Settings
from torchdevlint.fix.splice import splice
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Diagnostic, Fix, Span
from torchdevlint.source.text import Source, decode

SETTINGS = Settings(select=("ALL",), preview=True, unsafe_fixes=True)


def faults(data: bytes, filename: str, found: Iterable[Diagnostic]) -> Iterator[str]:
    """What is wrong with the fixes of a file, in which this was `found`."""
    fixes = [each.fix for each in found if each.fix is not None]
    if not fixes:
        return
    yield from _touched(decode(data), fixes)
    once = fix_bytes(data, filename, SETTINGS)
    yield from (f"fixing: {problem.message}" for problem in once.result.problems)
    if any(each.code == "TDL901" for each in once.result.diagnostics):
        yield "fixing leaves a file that cannot be parsed"
    if fix_bytes(once.content, filename, SETTINGS).content != once.content:
        yield "fixing what was fixed changes it again"


def _touched(text: str, fixes: list[Fix]) -> Iterator[str]:
    """Every statement without an edit in it must be there after the fixes, as it was."""
    new, accepted = splice(text, fixes)
    try:
        before, after = ast.parse(text), ast.parse(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # a fix after which nothing can be parsed is refused, which `fix_bytes` tells
    source, edits = Source(text, before), [edit.span for fix in accepted for edit in fix.edits]
    whole = (
        each
        for each in _statements(before)
        if not any(_meet(source.span(part), edit) for part in (each, *_decorators(each)) for edit in edits)
    )
    lost = Counter(map(ast.dump, whole)) - Counter(map(ast.dump, _statements(after)))
    yield from (f"a fix changes another statement: {each[:200]}" for each in lost)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    return (each for each in ast.walk(tree) if isinstance(each, ast.stmt))


def _decorators(node: ast.stmt) -> list[ast.expr]:
    """They stand before the place of what they decorate."""
    return getattr(node, "decorator_list", [])


def _meet(one: Span, other: Span) -> bool:
    start, end = (one.row, one.column), (one.end_row, one.end_column)
    return start <= (other.end_row, other.end_column) and (other.row, other.column) <= end
