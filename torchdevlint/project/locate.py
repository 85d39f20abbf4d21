"""Where an import leads, as Python would find it from the files of a project alone.

Nothing outside is looked at: not the environment, not ``sys.path``, not what is installed. An absolute import is looked
for beside the package that holds the file, beside the file itself (scripts are run from there), in the folders around
it up to the root of the project, and in its ``src``. The root is the nearest folder with one of `MARKERS`; a module of
the project that is called ``setup.py``, and builds nothing, is none, nor is the script of an extension that installs
nothing else: what lies beside it is of the project around. Neither the dots of a relative import nor links
lead out of the root, or where there is none, of the current folder or the file's package.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache

from torchdevlint.files import content
from torchdevlint.patterns import regex

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_BUILD_SCRIPT = "setup.py"
_BUILDS = regex(rb"setuptools|distutils|skbuild|(?<!def )\bsetup\s*\(")
"""What a build script says."""
_EXTENDS = regex(rb"\bext_modules\s*=")
_INSTALLS = regex(rb"\bpackages\b|\bpy_modules\b")
"""What the build script of an extension says besides where it installs what Python imports."""
_MAX_PARENTS = 30
_ELSEWHERE = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}
"""Never looked for: what has such a name in a project is not meant, or is not ours to read."""


@lru_cache(maxsize=65536)
def locate(beside: str, module: str, level: int = 0) -> str | None:
    """The file that ``import module`` in a file reads, or the folder of a package without ``__init__``.

    `beside` is the absolute path of the folder that the file is in, `level` the number of dots before the name. None
    where the project has no such file.
    """
    parts = tuple(filter(None, module.split(".")))
    if level:
        folder = _above(beside, level - 1)
        return None if folder is None else _inside(folder, parts)
    return None if not parts or is_elsewhere(module) else _absolute(beside, parts)


def is_elsewhere(module: str) -> bool:
    """Whether an absolute import of this name never leads into a project."""
    return module.partition(".")[0] in _ELSEWHERE


def submodule(package: str, name: str) -> str | None:
    """The file of a module of a package, which is given by its ``__init__.py`` or its folder."""
    folder = folder_of(package)
    return None if folder is None else _inside(folder, (name,))


def folder_of(package: str) -> str | None:
    """The folder of a package, which is given by its ``__init__.py`` or by the folder; None for a module."""
    if not package.endswith(".py"):
        return package
    return os.path.dirname(package) if os.path.basename(package) == "__init__.py" else None


def is_missing(beside: str, module: str, level: int) -> bool:
    """Whether an import leads to a folder of the project where nothing goes by its name, of whatever kind.

    So does one of a part of what is a module alone, ``shapes.py``: only packages have parts.
    """
    parts = [*filter(None, module.split("."))]
    if level:
        folder = _above(beside, level - 1)
    else:
        first = parts.pop(0) if parts else ""
        home = locate(beside, first)
        folder = bare_folder(beside, first) if home is None else folder_of(home)
    for after, part in enumerate(parts, 1):
        if folder is None or not os.path.isdir(folder):
            return False
        held = [each for each in os.listdir(folder) if each.partition(".")[0] == part]
        if not held or (after < len(parts) and held == [f"{part}.py"]):
            return True
        folder = os.path.join(folder, part)
    return False


def bare_folder(beside: str, name: str) -> str | None:
    """The folder of a package that has no code but in its folders: ``src``, with ``src/model`` in it."""
    for root in _roots(beside):
        path = os.path.join(root, name)
        if not name or _entries(root).get(name, True):
            continue
        inner = (each for each, is_file in _entries(path).items() if not is_file)
        return path if any(_inside(path, (each,)) is not None for each in inner) else None
    return None


def root_of(folder: str) -> str:
    """The folder that holds the project of a folder: its root, else the current folder or the outermost package."""
    return _base(folder) or _roots(folder)[0]


def root_around(root: str) -> str:
    """The root of the outermost project that another one, with its root, lies in; nobody's home is one."""
    outer = _root(os.path.dirname(root))
    while outer is not None and outer not in (root, os.path.expanduser("~")):
        root, outer = outer, _root(os.path.dirname(outer))
    return root


def forget() -> None:
    """Files may have come and gone, and the current folder may be another."""
    for cached in (locate, _above, _absolute, _inside, _roots, _root, _entries):
        cached.cache_clear()


@lru_cache(maxsize=4096)
def _above(beside: str, dots: int) -> str | None:
    """The folder so far above another one, or None if it is outside of the project."""
    folder = beside
    for _ in range(dots):
        folder = os.path.dirname(folder)
        if not _belongs(folder, beside):
            return None
    return folder


@lru_cache(maxsize=65536)
def _absolute(folder: str, parts: tuple[str, ...]) -> str | None:
    return next((found for root in _roots(folder) if (found := _inside(root, parts)) is not None), None)


@lru_cache(maxsize=65536)
def _inside(folder: str, parts: tuple[str, ...]) -> str | None:
    for part in parts[:-1]:
        if part not in _entries(folder):
            return None
        folder = os.path.join(folder, part)
    if not parts:
        return os.path.join(folder, "__init__.py") if "__init__.py" in _entries(folder) else folder
    last, entries = parts[-1], _entries(folder)
    is_folder, is_module = last in entries, entries.get(f"{last}.py", False)
    if not is_folder and not is_module:
        return None
    path = os.path.join(folder, last)
    if is_folder and "__init__.py" in _entries(path):
        return os.path.join(path, "__init__.py")
    if is_module:
        return f"{path}.py"
    return path if any(each.endswith(".py") for each in _entries(path)) else None


@lru_cache(maxsize=4096)
def _roots(folder: str) -> tuple[str, ...]:
    """The folders in which an absolute import is looked for, nearest meaning first."""
    package = folder
    for _ in range(_MAX_PARENTS):
        if "__init__.py" not in _entries(package) or os.path.dirname(package) == package:
            break
        package = os.path.dirname(package)
    root = _base(folder)
    if root is None:
        return tuple(dict.fromkeys((package, folder)))
    around = [folder]
    while around[-1] != root:
        around.append(os.path.dirname(around[-1]))
    return tuple(dict.fromkeys((package, *around, os.path.join(root, "src"))))


def _base(folder: str) -> str | None:
    """The root of the project that a folder is in, or the current folder if that is above; None for what is neither."""
    root = _root(folder)
    return os.getcwd() if root is None and _is_below(folder, os.getcwd()) else root


@lru_cache(maxsize=4096)
def _root(folder: str) -> str | None:
    """The root of the project that a folder is in."""
    for _ in range(_MAX_PARENTS):
        if any(_is_marker(os.path.join(folder, each)) for each in MARKERS):
            return folder
        if os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
    return None


def _is_marker(path: str) -> bool:
    if os.path.basename(path) != _BUILD_SCRIPT:
        return os.path.exists(path)
    try:
        script = content(path)
    except OSError:
        return False
    is_of_extension = _EXTENDS.search(script) is not None and _INSTALLS.search(script) is None
    return _BUILDS.search(script) is not None and not is_of_extension


def _belongs(folder: str, beside: str) -> bool:
    """Whether a folder above the folder `beside` is in the same project: a package, or at or below the root."""
    return "__init__.py" in _entries(folder) or _is_below(folder, _root(beside) or os.getcwd())


@lru_cache(maxsize=16384)
def _entries(folder: str) -> dict[str, bool]:
    """The names in a folder, and which of them are files."""
    try:
        with os.scandir(folder) as entries:
            inside = (each for each in entries if not each.is_symlink() or _stays(each.path, folder))
            return {each.name: each.is_file() for each in inside}
    except OSError:
        return {}


def _stays(link: str, folder: str) -> bool:
    """Whether a link in a folder leads to something in the same project."""
    root = _base(folder) or folder
    return _is_below(os.path.realpath(link), os.path.realpath(root))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
