"""Files that no Python of today has to read.

They have no word of torch, or were left by a tool, and nothing imports them; or they are for an old Python.
"""

from __future__ import annotations

import ast
import os
from pathlib import PurePath

from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_of
from torchdevlint.project.modules import HELD
from torchdevlint.project.packaging import has_users, is_of_work, is_shown
from torchdevlint.project.put_aside import is_put_aside
from torchdevlint.project.releases import torch_of
from torchdevlint.project.tree import from_root, importers, saying
from torchdevlint.project.uses import Project, around
from torchdevlint.source.magics import translate
from torchdevlint.source.nodes import is_bare_constant
from torchdevlint.source.python import module_of
from torchdevlint.source.python_2 import is_for_python_2
from torchdevlint.source.text import UndecodableError, decode

_LEFT_BY_TOOLS = ("tempCodeRunnerFile.py",)
"""What "Code Runner" of an editor leaves of a selection that it ran."""
_WITHOUT_BODY = regex(
    rb"(?m)^([ \t]*)(?:async[ \t]+)?(?:def|class)\b[^\n#]*:"
    rb"(?=[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*(?!\1[ \t])[ \t]*(?:\S|\Z))"
)
"""A definition in one line, with nothing below it that is further in."""
_WITHOUT_NAME = regex(rb"(?m)^[ \t]*(?:def|class)[ \t]*$")
_TEXT = regex(rb"(?s)(\"{3}|'{3}).*?\1")
_DEFINES = regex(rb"(?m)^(?:async[ \t]+def|def|class)\b")
_RUNS = regex(
    rb"(?m)^(?!(?:import|from|async[ \t]+def|def|class)\b|[@#)\]}\r\n]|[ \t]|\Z"
    rb"|\w+[ \t]*(?::[^=\n]*)?=[ \t]*(?:[^=(\n]*$|[\[{](?![^\n]*\bfor\b)|logging\.getLogger\())|__main__"
)
"""A line that is not further in, and neither imports nor defines anything, or is a main guard.

A display (``sizes = {1: int(2 * width)}``) defines something, whatever it calls; a comprehension may do anything.
"""
_OF_CONFLICT = regex(rb"(?m)^(?:<{7}|\|{7}|>{7})(?: [^\n]*)?$|^={7}\r?$")
"""The lines by which git tells two versions of a file apart that it could not merge."""
_DECLARING = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)
_EXPORTED = b"# Commented out IPython magic to ensure Python compatibility."
_MAGIC = regex(rb"(?m)^[ \t]*[!%]")
_ASYNC = regex(rb"\basync(?=\s*=[^=])")
_FIRST_FOR_3_7 = (0, 4, 1)
_FEWEST_OTHERS = 4
"""With fewer other files, or without something to read about it, the project may not be there as a whole."""


def is_aside(filename: str, data: bytes) -> bool:
    """Whether a file that cannot be parsed hurts no use of torch: nothing of its project imports it.

    So it is with what was put aside, whatever it holds, and with the cells of a notebook that were saved as a module:
    who runs them pastes them into one. So it is in an application with what was begun and left, and with definitions
    beside modules that are imported, if nothing says the name of their file, or in a package that nobody imports.
    """
    path = os.path.abspath(filename)
    if os.path.basename(path) in _LEFT_BY_TOOLS:
        return True
    if os.path.isfile(path) and is_put_aside(from_root(path)) and importers(path) == ():
        return True
    if path.endswith(".py") and os.path.isfile(path) and _is_of_cells(data) and importers(path) == ():
        return True
    if not path.endswith(".py") or not os.path.isfile(path):
        return False
    if b"torch" in data and not (_is_begun(data) or _is_left_among_others(path, data) or _is_handed_on(path, data)):
        return False
    if len(saying(path, ()) or ()) < _FEWEST_OTHERS or _packages_around(path) is None:
        return False
    project = around(filename, HELD.library)
    if project is None or not _is_there_as_a_whole(project):
        return False
    return b"torch" not in data or not has_users(project)


def _is_of_cells(data: bytes) -> bool:
    """Whether Python would read a file but for what IPython adds to it: ``!pip install``, ``%matplotlib``.

    What Colab has exported as a program is meant to be one.
    """
    if not _MAGIC.search(data) or _EXPORTED in data:
        return False
    try:
        module_of("\n".join(translate(decode(data).splitlines()).rows))
    except (UndecodableError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_begun(data: bytes) -> bool:
    """Whether a file would be read if its definitions had bodies, and it runs nothing: it was begun and left."""
    filled = _WITHOUT_NAME.sub(b"", _WITHOUT_BODY.sub(rb"\g<0> pass", data + b"\n"))
    if filled == data + b"\n":
        return False
    try:
        tree = module_of(filled)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(isinstance(each, _DECLARING) or is_bare_constant(each) for each in tree.body)


def _is_left_among_others(path: str, data: bytes) -> bool:
    """Whether a file only defines something, and nobody says its name, while others beside it are imported."""
    if not _only_defines(data):
        return False
    name, folder = os.path.splitext(os.path.basename(path))[0], os.path.dirname(path)
    if name == "__init__" or saying(path, (name,)) != () or saying(path, (name,), beside_code=True) != ():
        return False
    return any(importers(each) for each in saying(path, ()) or () if os.path.dirname(each) == folder)


def _is_handed_on(path: str, data: bytes) -> bool:
    """Whether a file only defines something, and the packages around it hand that on to nobody.

    Others of the project that are imported are what its programs are made of.
    """
    if not _only_defines(data) or not importers(path):
        return False
    packages = _packages_around(path)
    if packages is None or any(saying(path, (each,)) != () for each in ("import_module", "__import__")):
        return False
    beside = (each for each in saying(path, ("torch",)) or () if not any(_is_below(each, one) for one in packages))
    return any(map(importers, beside))


def _only_defines(data: bytes) -> bool:
    """Whether a file defines functions or classes at its top level, and runs nothing there."""
    text = _OF_CONFLICT.sub(b"", _TEXT.sub(b"", data))
    return not _RUNS.search(text) and _DEFINES.search(text) is not None


def _packages_around(path: str) -> set[str] | None:
    """The `__init__` of packages around a file that alone import it, and each other; None if something else does.

    To import anything of a package is to run its `__init__`.
    """
    left, packages = [path], set[str]()
    while left:
        found = importers(left.pop())
        if found is None or not all(
            os.path.basename(each) == "__init__.py" and _is_below(path, each) for each in found
        ):
            return None
        left += [each for each in found if each not in packages]
        packages.update(found)
    return packages if not packages or _is_for_itself(min(packages, key=len)) else None


def _is_for_itself(init: str) -> bool:
    """Whether nothing outside of a package imports anything of it, nor a program inside."""
    programs = set(saying(init, ("__main__",)) or ())
    inside = [each for each in saying(init, ()) or () if _is_below(each, init)]
    importing = {each for one in inside for each in importers(one) or ()}
    return all(_is_below(each, init) and each not in programs for each in importing)


def _is_below(path: str, init: str) -> bool:
    """Whether a file is in the package of an `__init__.py`, or in one of that."""
    return path.startswith(os.path.dirname(init) + os.sep)


def is_read_when_imported(filename: str, data: bytes) -> bool:
    """Whether Python reads a file that it would refuse to run: in a module, comments may hold bytes of any encoding."""
    path = os.path.abspath(filename)
    if b"__main__" in data or not os.path.isfile(path) or not importers(path):
        return False
    try:
        module_of(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_there_as_a_whole(project: Project) -> bool:
    """Whether there is something to read about a project, or about one that it is a part of, or what its programs need
    is written down, for all or for those in one of its folders.
    """
    root = root_of(os.path.dirname(project.path))
    around = (each for each in PurePath(project.path).parents if each.is_relative_to(root))
    if any(is_of_work(project, str(each)) for each in around):
        return True
    while not is_shown(project, root):
        inner, root = root, root_of(os.path.dirname(root))
        if inner == root or not inner.startswith(root):
            return False
    return True


def is_for_old_python(filename: str, data: bytes, reason: str, in_notebook: bool) -> bool:
    """Whether a file, of which the parser says `reason`, is for Python 2, or for Python 3 before 3.7.

    There ``async`` was a name: ``x.cuda(async=True)``. No Python from 3.7 on has run torch before 0.4.1.
    """
    if is_for_python_2(data, reason, in_notebook):
        return True
    if in_notebook or not _ASYNC.search(data):
        return False
    try:
        module_of(_ASYNC.sub(b"asynchronous", data))
    except (SyntaxError, ValueError) as error:
        if not is_for_python_2(data, str(error), in_notebook):
            return False
    project = around(filename, HELD.library)
    return project is not None and torch_of(project).most < _FIRST_FOR_3_7
