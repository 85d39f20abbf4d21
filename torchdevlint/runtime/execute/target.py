"""What a finding is about, read from its file: the flagged lines, and the functions that hold them. No torch."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from torchdevlint.runtime.execute.errors import text_of

_TAKEN = frozenset({"torch", "numpy", *sys.stdlib_module_names})
_DOTS = re.compile(r"^[ \t]*from[ \t]+(\.+)[\w \t]", re.MULTILINE)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a file: 1-based rows, the last one included, and columns in code points, the last one excluded.

    An `end_column` of 0 is not known.
    """

    row: int
    column: int
    end_row: int
    end_column: int = 0

    def has(self, place: Mapping[str, Any]) -> bool:
        """Whether a `Site`, as JSON, is in it: by its columns where they are known."""
        if not self.row <= place["line"] <= self.end_row:
            return False
        if not place["end_line"] or not self.end_column or place["end_line"] > self.end_row:
            return not place["end_line"] or place["end_line"] <= self.end_row
        return (place["line"], place["column"]) >= (self.row, self.column - 1) and (
            place["end_line"],
            place["end_column"],
        ) <= (self.end_row, self.end_column - 1)


@dataclass(frozen=True, slots=True)
class Place:
    """A function, the class that it is a method of, and the regions of the finding that are in it."""

    function: FunctionNode
    owner: ast.ClassDef | None
    regions: tuple[Region, ...]

    @property
    def qualname(self) -> str:
        return f"{self.owner.name}.{self.function.name}" if self.owner is not None else self.function.name


@dataclass(frozen=True)
class Target:
    """The file of a finding, where it is reported (`at`), and the places that its notes point to in the same file."""

    path: Path
    code: str
    at: Region
    notes: tuple[Region, ...]
    silent: bool = False
    """Nothing raises: what is wrong is where a result is."""
    source: str = field(default="", repr=False)
    claims: tuple[tuple[str, str], ...] = ()
    """The exceptions that the rule tells of: a class, and words that are all in its text."""
    on_cpu: bool = False
    """It shows on a machine without accelerators."""
    also: tuple[Region, ...] = ()
    """Places that the finding was joined of: they are flagged like `at`, and are among the notes."""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def rows(self) -> frozenset[int]:
        """All lines that the finding speaks of."""
        return frozenset(row for region in (self.at, *self.notes) for row in range(region.row, region.end_row + 1))

    def is_claimed(self, error: BaseException) -> bool:
        """Whether an exception is one that the rule tells of, by its class and its text."""
        words = _words(text_of(error))
        return any(type(error).__name__ == name and _words(text) <= words for name, text in self.claims)

    @cached_property
    def spans(self) -> tuple[frozenset[int], ...]:
        """The lines of each statement in a function that the finding speaks of: all have to run, each somewhere."""
        return tuple(dict.fromkeys(rows for _, function in functions_of(self.tree) for rows in self.spans_in(function)))

    def spans_in(self, function: FunctionNode) -> tuple[frozenset[int], ...]:
        """Those of one function."""
        inside = [
            region
            for region in dict.fromkeys((self.at, *self.notes))
            if first_line(function) <= region.row <= (function.end_lineno or function.lineno)
        ]
        return tuple(dict.fromkeys(rows for region in inside for rows in rows_of(function.body, region)))

    def parameters_of(self, function: FunctionNode) -> tuple[str, ...]:
        """The parameters of a function that the notes point to: the finding speaks of what is given for them."""
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        starts = {(region.row, region.column - 1) for region in self.notes}
        return tuple(each.arg for each in every if (each.lineno, each.col_offset) in starts)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The outermost functions that hold regions: those with the most first, `__init__` last."""
        found = []
        for owner, function in functions_of(self.tree):
            inside = tuple(
                region
                for region in dict.fromkeys((self.at, *self.notes))
                if first_line(function) <= region.row <= (function.end_lineno or function.lineno)
            )
            if inside:
                found.append(Place(function, owner, inside))
        return tuple(sorted(found, key=lambda place: (place.function.name == "__init__", -len(place.regions))))


def read_target(finding: dict[str, Any]) -> Target:
    """The target of a finding as the parent process sends it. Raises OSError, SyntaxError or ValueError."""
    path = Path(finding["path"])
    with path.open("rb") as stream:
        source = _decoded(stream.read())
    return Target(
        path=path,
        code=finding["code"],
        at=Region(*finding["at"]),
        notes=tuple(Region(*note) for note in finding["notes"]),
        silent=finding["silent"],
        claims=tuple((name, text) for name, text in finding.get("claims", ())),
        on_cpu=finding.get("on_cpu", False),
        also=tuple(Region(*note) for note in finding.get("also", ())),
        source=source,
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\s,;:.()'\"`]+", text))


def _decoded(data: bytes) -> str:
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def functions_of(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | None, FunctionNode]]:
    """Functions and methods that code outside can name; what is inside of functions is not."""

    def visit(
        body: Sequence[ast.stmt], owner: ast.ClassDef | None
    ) -> Iterator[tuple[ast.ClassDef | None, FunctionNode]]:
        for node in body:
            if isinstance(node, FunctionNode):
                yield owner, node
            elif isinstance(node, ast.ClassDef) and owner is None:
                yield from visit(node.body, node)
            elif isinstance(node, (ast.If, ast.Try, ast.With)) and owner is None:
                yield from visit([*node.body, *getattr(node, "orelse", [])], None)

    yield from visit(tree.body, None)


def method_of(tree: ast.Module, owner: ast.ClassDef, name: str) -> FunctionNode | None:
    """A method that the class itself defines."""
    return next((each for one, each in functions_of(tree) if one is owner and each.name == name), None)


def first_line(function: FunctionNode) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def import_name(path: Path) -> tuple[Path, str]:
    """The folder that has to be on the import path for the file, and the name that it is imported by.

    A folder is a package if it has an ``__init__.py``, or if the file's relative imports say so.
    """
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    above = _relative(path)
    while (folder / "__init__.py").is_file() or len(parts) <= above:
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts and parts[0] in _TAKEN and folder.name.isidentifier():  # a package without `__init__.py` around it
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _relative(path: Path) -> int:
    """How many packages a file is in at least: the most dots that one of its imports begins with."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return max(map(len, _DOTS.findall(text)), default=0) - (path.name == "__init__.py")


def statement_at(body: Sequence[ast.stmt], region: Region) -> list[ast.stmt]:
    """The statements around a region, the outermost first and the simple statement that holds it last."""
    for node in body:
        start = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        if not start <= region.row <= (node.end_lineno or node.lineno):
            continue
        for inner in blocks_of(node):
            path = statement_at(inner, region)
            if path:
                return [node, *path]
        return [node]
    return []


def rows_of(body: Sequence[ast.stmt], region: Region) -> list[frozenset[int]]:
    """The lines of the simple statement at a region, or of the head of a compound one; none for what does not run."""
    path = statement_at(body, region)
    if not path or isinstance(path[-1], (FunctionNode, ast.ClassDef)):
        return []
    last = path[-1]
    inside = next(iter(blocks_of(last)), None)
    end = inside[0].lineno - 1 if inside else last.end_lineno or last.lineno
    return [frozenset(range(last.lineno, max(end, last.lineno) + 1))]


def blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly inside a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in getattr(node, "handlers", []):
        yield handler.body
    for case in getattr(node, "cases", []):
        yield case.body


def dotted(node: ast.AST) -> str | None:
    """``self.layers.weight`` as text, None for anything but names and attributes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return None if head is None else f"{head}.{node.attr}"
    return None
