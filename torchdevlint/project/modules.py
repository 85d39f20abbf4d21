"""What a module of a project binds at its top level, and by which statements: read, never run."""

from __future__ import annotations

import ast
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property, lru_cache
from weakref import WeakValueDictionary

from torchdevlint.files import blake2b, content
from torchdevlint.patterns import LinePattern, regex
from torchdevlint.source.nodes import assignment_of, nodes_in
from torchdevlint.source.notebook import NOTEBOOK, content_of
from torchdevlint.source.text import Source, UndecodableError
from torchdevlint.syntax.document import parsed
from torchdevlint.syntax.errors import ParseError

MOST_BYTES = 12_000_000
"""How much source text is held as trees at once in one process; a tree takes twenty to fifty times as much.

What the files of a project import from each other should fit: else each of them parses most of it again.
"""
LARGEST = 2_000_000
"""A file with more bytes is not looked into: it was generated, or is data."""

_OF_TENSORS = regex(
    r"\btorch\b|Tensor\b|device|cuda|\.cpu\(|numpy\(|\.to\(|\bnn\.|\bF\.|\.new_|_like\(|\.type_as\("
    r"|return [\w.]*\b[A-Z]\w*\(|\.(?:un)?squeeze\(|\.(?:reshape|view|permute|detach|clone|float|long)\("
    r"|\.(?:backward|zero_grad)\(|\.(?:eval|train)\(\)|\b(?:model|criterion)\("
)
_OF_DEVICES = regex(r"device|cuda|\.cpu\(|\.to\(")
_WORD = regex(r"\w+")


class ModuleText:
    """One file of a project as it is written, for what asks its words alone; of a notebook, the cells as a module."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.bytes_digest = digest_of(data)
        self.text = content_of(data, path).text
        self._said: dict[LinePattern, bool] = {}

    def says(self, words: LinePattern) -> bool:
        """Whether a line of it has `words`; many files ask the same of those that import them."""
        if words not in self._said:
            self._said[words] = words.is_in(self.text)
        return self._said[words]

    def digest(self, name: str) -> str:
        """That of the whole text, whatever the name: who asks for a file's words depends on all of them."""
        return self._text_digest

    @cached_property
    def _text_digest(self) -> str:
        return _digest(self.text)

    def text_of(self, name: str) -> str:
        """The whole text, whatever the name."""
        return self.text


class ModuleFile:
    """One file of a project, parsed."""

    def __init__(self, path: str, source: Source, tree: ast.Module, bytes_digest: str = "") -> None:
        self.path = path
        self.bytes_digest = bytes_digest
        self.source = source
        self.tree = tree
        self._said: dict[tuple[ast.AST, re.Pattern[str]], bool] = {}
        self._digests: dict[str, str] = {}

    @cached_property
    def bindings(self) -> dict[str, tuple[ast.stmt, ...]]:
        """For each name of the top level, the statements there that bind it, in order.

        A statement inside an ``if`` or ``try`` counts as the outermost one, since all of it decides what is bound;
        what only a script does (``if __name__ == "__main__"``) does not count.
        """
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            if is_main_guard(statement):
                continue
            for name in dict.fromkeys(bound_by(statement)):
                found.setdefault(name, []).append(statement)
        return {name: tuple(statements) for name, statements in found.items()}

    @cached_property
    def rebound(self) -> dict[str, tuple[ast.stmt, ...]]:
        """For each name that functions declare ``global``, the statements of the top level that hold them."""
        if "global " not in self.source.text:
            return {}
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in dict.fromkeys(name for each in nodes_in(statement, ast.Global) for name in each.names):
                found.setdefault(name, []).append(statement)
        return {name: tuple(statements) for name, statements in found.items()}

    @cached_property
    def stars(self) -> tuple[tuple[str, int], ...]:
        """The modules that all names are imported from, with the number of dots, the last one first."""
        return tuple(
            (node.module or "", node.level)
            for node in reversed(self.tree.body)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        )

    @cached_property
    def exported(self) -> frozenset[str] | None:
        """What ``__all__`` lists, if it is a plain list."""
        for node in self.bindings.get("__all__", ()):
            listed = assignment_of(node)
            if listed is not None and isinstance(listed.value, (ast.List, ast.Tuple)):
                return frozenset(str(each.value) for each in listed.value.elts if isinstance(each, ast.Constant))
        return None

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of its text, also those of comments and strings."""
        return frozenset(_WORD.findall(self.source.text))

    def digest(self, name: str) -> str:
        """Of the text of what binds `name`: if it stays the same, so does what `name` is, its imports left aside.

        That of the whole file, if `name` is empty.
        """
        found = self._digests.get(name)
        if found is None:
            found = self._digests[name] = _digest(self.text_of(name))
        return found

    def text_of(self, name: str) -> str:
        """The text of what binds `name`; that of the whole file, if `name` is empty."""
        if not name:
            return self.source.text
        statements = (*self.bindings.get(name, ()), *self.rebound.get(name, ()))
        return "\0".join(self.source.segment(statement) for statement in statements)

    def speaks_of_tensors(self, node: ast.stmt | ast.expr) -> bool:
        """Whether the text of a function has a word that has to do with tensors, devices or modules."""
        return self._speaks(node, _OF_TENSORS)

    def speaks_of_devices(self, node: ast.stmt | ast.expr) -> bool:
        """Whether the text of a function has a word for a device."""
        return self._speaks(node, _OF_DEVICES)

    def _speaks(self, node: ast.stmt | ast.expr, words: re.Pattern[str]) -> bool:
        found = self._said.get((node, words))
        if found is None:
            rows = self.source.lines[node.lineno - 1 : node.end_lineno]
            found = self._said[node, words] = any(map(words.search, rows))
        return found

    @property
    def importable(self) -> tuple[ast.stmt, ...]:
        """What runs when it is imported."""
        return tuple(statement for statement in self.tree.body if not is_main_guard(statement))


def digest_of(data: bytes) -> str:
    """A short name for some content."""
    return blake2b(data, digest_size=12).hexdigest()


def _digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))


def is_main_guard(node: ast.stmt) -> bool:
    """Whether it is ``if __name__ == "__main__":``."""
    return isinstance(node, ast.If) and asks_for_main(node.test)


def asks_for_main(test: ast.expr) -> bool:
    """Whether a test compares ``__name__`` with something, in whatever order it is written."""
    if not isinstance(test, ast.Compare):
        return False
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in (test.left, *test.comparators))


def bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds where it stands, without those of functions and classes inside it."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _names(target)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        yield from _names(statement.target)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from (name for item in statement.items if item.optional_vars for name in _names(item.optional_vars))
    for field in ("body", "orelse", "finalbody"):
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from (name for inner in getattr(statement, field, ()) for name in bound_by(inner))
    for handler in getattr(statement, "handlers", ()):
        yield from (name for inner in handler.body for name in bound_by(inner))


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _names(each)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


@lru_cache(maxsize=65536)
def stamp_of(path: str) -> tuple[int, int] | None:
    """When a file was written (nanoseconds) and its size in bytes, as long as files are taken not to change."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


class Library:
    """The parsed files of one process, the least recently used of which are given up for others.

    A file that cannot be read or parsed is None; of a notebook, such cells are left out. Whether a file has changed is
    told by its time and size, which are asked for once in each run.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._held: OrderedDict[str, tuple[tuple[int, int], ModuleFile | None]] = OrderedDict()
        self._alive = WeakValueDictionary[tuple[str, tuple[int, int]], ModuleFile]()
        """Those that were given up and that an analysis goes on using: no second tree is made of them."""
        self._bytes = 0

    def held(self, path: str, bytes_digest: str) -> ModuleFile | None:
        """The file as it was parsed before, if it had these bytes then."""
        found = self._held.get(path)
        module = found[1] if found is not None else None
        return module if module is not None and module.bytes_digest == bytes_digest else None

    def keep(self, module: ModuleFile, size: int) -> None:
        """Take a file of `size` bytes that was parsed by somebody else, since others may import it.

        Most of a large notebook are its pictures.
        """
        try:
            status = os.stat(module.path)
        except OSError:
            return
        if status.st_size == size and (size <= LARGEST or module.path.endswith(NOTEBOOK)):
            self._put(module.path, (status.st_mtime_ns, size), module)

    def instead_of(self, module: ModuleFile) -> ModuleFile:
        """The file as it was parsed before, if it is the same; else this one, which importers see from now on."""
        held = self.held(module.path, module.bytes_digest)
        if held is None:
            self.keep(module, len(module.source.text.encode("utf-8", "surrogatepass")))
        return held or module

    def get(self, path: str) -> ModuleFile | None:
        stamp = stamp_of(path)
        if stamp is None:
            return None
        found = self._held.get(path)
        if found is not None and found[0] == stamp:
            self._held.move_to_end(path)
            return found[1]
        module = self._alive.get((path, stamp))
        if module is None and stamp[1] <= LARGEST:
            module = _read(path)
        self._put(path, stamp, module)
        return module

    def _put(self, path: str, stamp: tuple[int, int], module: ModuleFile | None) -> None:
        if path in self._held:
            self._drop(path)
        self._held[path] = (stamp, module)
        if module is not None:
            self._alive[path, stamp] = module
        self._bytes += stamp[1] if module is not None else 0
        while self._bytes > self.most_bytes and len(self._held) > 1:
            self._drop(next(iter(self._held)))

    def _drop(self, path: str) -> None:
        stamp, module = self._held.pop(path)
        self._bytes -= stamp[1] if module is not None else 0


class _Held(threading.local):
    """What a thread keeps from one file to the next; analyses leave notes on trees, so that threads share none."""

    def __init__(self) -> None:
        self.library = Library()


HELD = _Held()


def _read(path: str) -> ModuleFile | None:
    try:
        data = content(path)
        document = parsed(content_of(data, path))
    except (OSError, UndecodableError, ParseError, RecursionError, MemoryError):
        return None
    if document.tree is None:
        return None
    return ModuleFile(path, Source(document.content.text, document.tree), document.tree, digest_of(data))
