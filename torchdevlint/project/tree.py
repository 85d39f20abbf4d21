"""The files of a project as a whole: which there are, whether any of them has changed, and which import a module.

Only the text of import statements is read, so that asking costs little; where an import leads is what `locate` says. A
project with more than `MOST_FILES` files is not looked through: who imports a module is not known there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache

from torchdevlint.files import blake2b, content
from torchdevlint.patterns import regex
from torchdevlint.project import locate as places
from torchdevlint.project.locate import locate, root_of, submodule
from torchdevlint.project.modules import ModuleText, stamp_of
from torchdevlint.source.notebook import NOTEBOOK
from torchdevlint.source.text import UndecodableError

MOST_FILES = 3000
_MOST_FOLDERS = 12_000
"""A data set that lies beside the code may have a folder for each class, or for each sample."""
_LARGEST = 2_000_000
"""A file with more bytes is generated, or data."""
TEXTS = (".ipynb", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".sh", ".md", ".rst", ".pyx")
"""What may name what the code defines. (Most files of ``.json`` and ``.txt`` are data.)"""
_LARGEST_TEXT = 30_000_000
"""A notebook with more bytes is not read; the pictures in them take a lot."""
_CELL_IMPORT = regex(rb'(?:"|\\n)[ \t]*((?:from|import)[ \t][^"\\\n]*)')
"""An import as it stands in the JSON of a notebook, where each line, or each cell, is a text."""
_CODE = regex(rb"```.*?```|`[^`\n]+`|^(?: {4}|\t).*$", re.DOTALL | re.MULTILINE)
"""What is code in a document."""
_WORD = regex(rb"[^\W\d]\w*")
_SKIPPED = frozenset("__pycache__ build dist env node_modules site-packages venv".split())
_IMPORT = regex(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+"
    r"import[ \t]*(?P<names>\([^)]*\)|(?:[^\n\\;]|\\\r?\n)*)"
    r"|import[ \t]+(?P<modules>(?:[^\n\\;]|\\\r?\n)*))",
    re.MULTILINE,
)
_COMMENT = regex(r"#[^\n]*")

File = tuple[str, int, int]
"""The absolute path of a file, when it was written (nanoseconds), and its size in bytes."""
Import = tuple[str, int, tuple[str, ...]]
"""A module, the number of dots before it, and the names that are imported from it."""


def importers(home: str) -> tuple[str, ...] | None:
    """The files of a project, notebooks too, that import the module at `home`; None where that is not known."""
    root = root_of(os.path.dirname(home))
    if files_below(root) is None:
        return None
    name = _name_of(home)
    naming = _naming(root).get(name, ())
    return tuple(path for path, written, size in naming if path != home and _imports(path, written, size, home, name))


def saying(home: str, words: tuple[str, ...], beside_code: bool = False) -> tuple[str, ...] | None:
    """The other files of the project of `home` whose texts hold all `words`; None where it is not known.

    With `beside_code` not its ``.py`` files, but those that may name what they define, as whole words: notebooks,
    configurations, scripts of a shell, documents.
    """
    root = root_of(os.path.dirname(home))
    files = texts_below(root) if beside_code else files_below(root)
    if files is None:
        return None
    says = _has_word if beside_code else _says
    return tuple(file[0] for file in files if file[0] != home and all(says(*file, each) for each in words))


def stamp(home: str, beside_code: bool = False) -> str:
    """What changes whenever a file of the project of `home` is written, added or removed: see `saying`."""
    root = root_of(os.path.dirname(home))
    return _stamp(root, beside_code)


def stamp_of_importers(home: str) -> str:
    """What changes whenever a file of the project of `home` is written, added or removed that may import it."""
    return stamp(home) + stamp(home, beside_code=True)


def from_root(path: str) -> str:
    """The path of a file from the root of its project, with ``/``."""
    return os.path.relpath(path, root_of(os.path.dirname(path))).replace(os.sep, "/")


@lru_cache(maxsize=64)
def files_below(root: str) -> tuple[File, ...] | None:
    """The ``.py`` files of a project, sorted by path; None if there are too many."""
    return _below(root, (".py",))


@lru_cache(maxsize=64)
def texts_below(root: str) -> tuple[File, ...] | None:
    """The files beside the code that may say the names which it defines, sorted by path; None if there are too many."""
    return _below(root, TEXTS)


def notebooks_below(root: str) -> tuple[File, ...]:
    """The notebooks of a project, sorted by path; none if there are too many."""
    return tuple(each for each in texts_below(root) or () if each[0].endswith(NOTEBOOK))


def _below(root: str, suffixes: tuple[str, ...]) -> tuple[File, ...] | None:
    found: list[File] = []
    folders = [root]
    for seen, folder in enumerate(folders):
        found.extend(_files_in(folder, folders, suffixes))
        if seen > _MOST_FOLDERS or len(found) > MOST_FILES:
            return None
    return tuple(sorted(found))


def forget() -> None:
    """Files may have come and gone, and the current folder may be another."""
    places.forget()
    for cached in (files_below, texts_below, _stamp, _naming, _imports, _words_of, bytes_of, text_of, stamp_of):
        cached.cache_clear()


def _files_in(folder: str, folders: list[str], suffixes: tuple[str, ...]) -> Iterator[File]:
    """The files of one folder with these suffixes; the folders in it are added to `folders`."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() or entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    if entry.name not in _SKIPPED:
                        folders.append(entry.path)
                elif entry.name.endswith(suffixes):
                    status = entry.stat()
                    yield entry.path, status.st_mtime_ns, status.st_size
    except OSError:
        return


@lru_cache(maxsize=64)
def _stamp(root: str, beside_code: bool) -> str:
    files = texts_below(root) if beside_code else files_below(root)
    return blake2b(repr(files).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _name_of(home: str) -> str:
    """The last part of the name by which a module is imported."""
    folder, file = os.path.split(home)
    return os.path.basename(folder) if file == "__init__.py" else file.removesuffix(".py")


@lru_cache(maxsize=64)
def _naming(root: str) -> dict[str, tuple[File, ...]]:
    """The files of a project whose imports may lead to a module, by the last part of its name."""
    found: dict[str, list[File]] = {}
    for file in (*(files_below(root) or ()), *notebooks_below(root)):
        for name in {name for each in imports_of(*file) for name in _may_lead_to(each, os.path.dirname(file[0]))}:
            found.setdefault(name, []).append(file)
    return {name: tuple(files) for name, files in found.items()}


def _may_lead_to(imported: Import, beside: str) -> Iterator[str]:
    """The last parts of the names of modules that an import may lead to; of ``from .. import x`` also the package."""
    module, level, names = imported
    yield from names
    if module:
        yield module.rpartition(".")[2]
    elif level:
        yield os.path.basename(os.path.normpath(os.path.join(beside, *[os.pardir] * (level - 1))))


@lru_cache(maxsize=65536)
def _imports(path: str, written: int, size: int, home: str, name: str) -> bool:
    """Whether the file at `path` imports the module at `home`, or something from it."""
    beside = os.path.dirname(path)
    for module, level, names in imports_of(path, written, size):
        if name not in names and module.rpartition(".")[2] != name and not (level and not module):
            continue
        found = locate(beside, module, level)
        if found == home or (found is not None and name in names and submodule(found, name) == home):
            return True
    return False


def imports_in(path: str) -> tuple[Import, ...]:
    """What the file at `path` imports; none if it cannot be read."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return imports_of(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8192)
def imports_of(path: str, written: int, size: int) -> tuple[Import, ...]:
    """What a file imports; none if it cannot be read."""
    if size > (_LARGEST_TEXT if path.endswith(NOTEBOOK) else _LARGEST):
        return ()
    try:
        data = content(path)
    except OSError:
        return ()
    if path.endswith(NOTEBOOK):
        data = b"\n".join(_CELL_IMPORT.findall(data))
    return tuple(_imports_in(data.decode("utf-8", "replace")))


@lru_cache(maxsize=65536)
def _says(path: str, written: int, size: int, word: str) -> bool:
    return size <= _LARGEST and word.encode("utf-8", "surrogatepass") in bytes_of(path)


def _has_word(path: str, written: int, size: int, word: str) -> bool:
    return word.encode("utf-8", "surrogatepass") in _words_of(path, written, size)


@lru_cache(maxsize=4096)
def _words_of(path: str, written: int, size: int) -> frozenset[bytes]:
    """The words in a file beside the code; of a notebook, those in its cells, and of a document, those in its code."""
    if size > _LARGEST_TEXT:
        return frozenset()
    try:
        text = content(path)
    except OSError:
        return frozenset()
    if path.endswith(NOTEBOOK):
        text = _cells_of(text)
    elif path.endswith((".md", ".rst")):
        text = b"\n".join(_CODE.findall(text))
    return frozenset(_WORD.findall(text))


def _cells_of(notebook: bytes) -> bytes:
    """What is written in the cells of a notebook, without the outputs; all of it where that cannot be told."""
    try:
        cells = json.loads(notebook)["cells"]
        return "\n".join("".join(each["source"]) for each in cells).encode("utf-8", "surrogatepass")
    except (ValueError, LookupError, TypeError, RecursionError):
        return notebook


@lru_cache(maxsize=MOST_FILES)
def bytes_of(path: str) -> bytes:
    """The bytes of a file, as long as files are taken not to change; none if it cannot be read."""
    try:
        return content(path)
    except OSError:
        return b""


@lru_cache(maxsize=MOST_FILES)
def text_of(path: str) -> ModuleText | None:
    """A file's text, as long as files are taken not to change; None if it cannot be read or decoded."""
    try:
        data = content(path)
        return ModuleText(path, data) if len(data) <= _LARGEST else None
    except (OSError, UndecodableError, RecursionError):
        return None


def _imports_in(text: str) -> Iterator[Import]:
    for found in _IMPORT.finditer(text):
        if found["modules"] is not None:
            for each in _parts(found["modules"]):
                yield each, 0, ()
        else:
            yield found["module"], len(found["dots"]), tuple(_parts(found["names"]))


def _parts(text: str) -> Iterator[str]:
    """The names between commas, without what they are called here."""
    for each in _COMMENT.sub("", text).replace("\\", " ").strip("()").split(","):
        words = each.split()
        if words:
            yield words[0]
