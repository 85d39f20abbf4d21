"""Whether a project is distributed, so that others call what it defines, or is an application: all callers are seen."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePath

from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_of
from torchdevlint.project.uses import Project
from torchdevlint.source.notebook import NOTEBOOK

_DECLARED = {
    "setup.py": regex(r"\bsetup\s*\("),
    "setup.cfg": regex(r"^\[metadata\]", re.MULTILINE),
    "pyproject.toml": regex(r"^\[(?:project|tool\.(?:poetry|flit\.metadata|flit\.module))\]", re.MULTILINE),
}
"""What declares a distribution, by the file at the root of the project."""


_CLASSIFIED = regex(r"\bclassifiers?\s*=|Programming Language ::")
"""What a declaration says for an index of packages, where people look for them; it is often copied with the rest."""
_COMMANDS = regex(r"console_scripts|gui_scripts|^\[(?:project|tool\.poetry)\.(?:gui-)?scripts", re.MULTILINE)
"""What makes functions commands."""
_COMMAND = regex(r"=\s*[\"']?\s*([^\W\d][\w.]*)\s*:\s*([^\W\d]\w*)")
"""A name with the module and the function that it starts: ``train = package.cli:main``."""
_NAME = regex(r"\bname\s*=\s*[\"']?([\w.-]+)")
_INSTALLED = (
    r"(?:pip3?\s+install\s+(?:-\S+\s+)*[\"']?|(?:conda|mamba|uv|poetry)\s+(?:install|add)\s[^\n]*(?<![\w./-]))"
    r"{name}(?![\w./-])"
)
_SHOWN = regex(
    r"(?:pypi\.(?:org|python\.org)|shields\.io/(?:pypi|conda)|badge\.fury\.io|anaconda\.org|\breadthedocs\.\w+)/"
    r"[^\s\"'<>)\]]*|([\w-]+)\.readthedocs\."
)
"""Where an index shows a project, and where the pages for its users are."""
_USED = regex(r"colab\.research\.google\.com/drive/")
"""Notebooks elsewhere that use it."""
_FROM_REPOSITORY = regex(
    r"pip3?\s+install\s+(?:-\S+\s+)*[\"']?(?:[\w.-]+\s*@\s*)?git\+\w+://\S*?([\w.-]+?)(?:\.git)?(?![\w./-])"
)
_ADDRESS = regex(r"https?://[^\s\"']*?([\w.-]+?)(?:\.git|/)?[\"']")
_BUILT = "PKG-INFO"
"""What is at the root of what was downloaded from an index."""
_OF_WORK = (".gitignore", "requirements.txt", "environment.yml", "environment.yaml")
"""What is at the root of a working copy, where its programs are, and of nothing that was installed."""
_MOST_ALONE = 100
"""Of so many files one imports another, or none is asked further."""
_FOR_READERS = (
    "README.md",
    "README.rst",
    "README.txt",
    "README",
    "readme.md",
    "Readme.md",
    "ReadMe.md",
    "readme.txt",
)
_SAYS_WHICH = regex(r"packages")
_LISTED = regex(r"\bpackages\s*=\s*\[(?![^\]]*\bfor\b)[^\[\](){}]*\]")
"""A declaration that names each package that it installs."""
_FROM_FOLDER = regex(r"package_dir[\"']?\s*[=:]")
"""What says that packages lie elsewhere than they are called."""
_OTHER_WAYS = regex(r"namespace|py[-_]modules")
"""What declares that more than regular packages is installed."""
_LOOKED_FOR = regex(
    r"find_packages\(([^()]*(?:\([^()]*\)[^()]*)*)\)|^\[tool\.setuptools\.packages\.find\]((?:\n(?!\[).*)*)",
    re.MULTILINE,
)
"""What says which of the folders are packages that are installed."""
_PATTERNS = r"\b{}\s*=\s*[\[(]((?:\s*(?:\"[^\"]*\"|'[^']*'),?)+)\s*[\])]"
_TEXT = regex(r"[\"']([^\"']*)[\"']")
_ONLY_BUILDS = regex(r"\bext_modules\s*=")
"""What a ``setup.py`` says that builds an extension: then setuptools looks for no packages by itself."""
_NEVER_FOUND = frozenset(
    """
    ci bin debian doc docs documentation manpages news newsfragments changelog test tests unit_test unit_tests example
    examples scripts tools util utils python build benchmark benchmarks exercise exercises htmlcov tasks fabfile
    """.split()
)
"""Folders at the root that setuptools takes for no packages, where nothing says which there are."""


def is_application(project: Project) -> bool:
    """Whether nothing at the root of the project declares something to install, or this file is no part of that.

    Scripts beside a package are no part of it: what is installed are folders with an ``__init__.py``. Where there are
    neither scripts nor notebooks, nor anything for those who read or change the code, it is what was installed.
    """
    folder = os.path.dirname(project.path)
    root = root_of(folder)
    if not is_more_than_a_package(project):
        return False
    texts = {name: project.text_of(os.path.join(root, name)) for name in _DECLARED}
    declared = [each.text for name, each in texts.items() if each is not None and _DECLARED[name].search(each.text)]
    saying = list(filter(_SAYS_WHICH.search, declared))
    place = os.path.relpath(folder, root)
    if declared and not saying:
        return place.partition(os.sep)[0] in _NEVER_FOUND or all(map(_ONLY_BUILDS.search, declared))
    return not any(_may_install(each, project, place) for each in saying)


def is_more_than_a_package(project: Project) -> bool:
    """Whether there are scripts, notebooks, or something for those who read or change the code: none is installed.

    Scripts that have nothing to do with each other, with nothing beside them that says what they are for, are no
    project either: what one of them does says nothing of another.
    """
    root = root_of(os.path.dirname(project.path))
    if is_shown(project, root) or is_of_work(project, root):
        return True
    files = (project.path, *(project.saying(()) or ()))
    if project.path.endswith(NOTEBOOK) or project.notebooks():
        return True
    return _has_scripts(files) and any(next(project.imported(each), None) is not None for each in files[:_MOST_ALONE])


def has_users(project: Project) -> bool:
    """Whether others may use a project beside those who run its own programs, as they do what was installed."""
    if is_application(project):
        return False
    return is_published(project) or not is_more_than_a_package(project)


def declared_commands(project: Project) -> list[tuple[str, str]] | None:
    """The functions of an installed package that declared names start, each with its module; None where it is not told
    which they are.

    What is no part of it, as scripts beside a package are, is not imported by a command either.
    """
    if is_application(project):
        return []
    root = root_of(os.path.dirname(project.path))
    held = (project.text_of(os.path.join(root, name)) for name in _DECLARED)
    declaring = [each.text for each in held if each is not None and _COMMANDS.search(each.text) is not None]
    found = [_COMMAND.findall(each) for each in declaring]
    return [each for held in found for each in held] if all(found) else None


def is_published(project: Project) -> bool:
    """Whether what a project declares is for an index of packages, or people are told to install it, from there or from
    its repository.

    What is declared for `pip install -e .` alone, as research code does to find its own modules, is not: hardly anybody
    has it but those who run its programs. Neither is what names classifiers, as a copied `setup.py` does, where those
    who read of the project are led to no index, nor to anything for its users. What is no application, and declares
    nothing, was installed.
    """
    root = root_of(os.path.dirname(project.path))
    held = (project.text_of(os.path.join(root, name)) for name in _DECLARED)
    declared = [each.text for each in held if each is not None]
    if is_downloaded(project):
        return True
    if not declared:
        return not is_application(project)
    shown = (project.text_of(os.path.join(root, each)) for each in _FOR_READERS)
    texts = [each.text for each in shown if each is not None]
    own = {_plain(name) for each in declared for name in _NAME.findall(each)} | {_plain(os.path.basename(root))}
    if any(map(_CLASSIFIED.search, declared)) and (not texts or any(_leads_to_users(each, own) for each in texts)):
        return True
    names = {re.sub(r"[-_.]+", "[-_.]+", name) for each in declared for name in _NAME.findall(each)}
    if any(re.search(_INSTALLED.format(name=name), text, re.IGNORECASE) for name in names for text in texts):
        return True
    own |= {_plain(name) for each in declared for name in _ADDRESS.findall(each)}
    return any(_plain(name) in own for text in texts for name in _FROM_REPOSITORY.findall(text))


def is_downloaded(project: Project) -> bool:
    """Whether a project is what an index of packages gives, built from a working copy."""
    return project.text_of(os.path.join(root_of(os.path.dirname(project.path)), _BUILT)) is not None


def _leads_to_users(text: str, own: set[str]) -> bool:
    """Whether a text leads to where a project of one of these names is shown, or to notebooks elsewhere.

    What it says of a library or a tool that it uses is about that.
    """
    shown = [(_plain(each[0]), _plain(each[1] or each[0])) for each in _SHOWN.finditer(text)]
    named = any(name and (name in address or page in name) for name in own for address, page in shown)
    return named or _USED.search(text) is not None


def _plain(name: str) -> str:
    """The name of a project as an index compares it: ``torch_struct`` and ``Torch-Struct`` are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_shown(project: Project, root: str) -> bool:
    """Whether there is something to read at the root, which is never installed."""
    return any(project.text_of(os.path.join(root, each)) is not None for each in _FOR_READERS)


def is_of_work(project: Project, folder: str) -> bool:
    """Whether a folder has what only those of a working copy have, as what says what is needed to run what is there."""
    return any(project.text_of(os.path.join(folder, each)) is not None for each in _OF_WORK)


@lru_cache(maxsize=16)
def _has_scripts(paths: tuple[str, ...]) -> bool:
    """Whether one of the files of a project is in no package, nor below one."""
    packages = {PurePath(each).parent for each in paths if os.path.basename(each) == "__init__.py"}
    return any(packages.isdisjoint(PurePath(each).parents) for each in paths)


def _may_install(declared: str, project: Project, folder: str) -> bool:
    """Whether a declaration may take up the files of a folder, which is given from the root."""
    names = folder.split(os.sep)
    if _is_left_out(declared, names):
        return False
    if _OTHER_WAYS.search(declared):
        return True
    if project.text_of(os.path.join(os.path.dirname(project.path), "__init__.py")) is not None:
        lists = [] if names == [os.curdir] or _FROM_FOLDER.search(declared) else _LISTED.findall(declared)
        named = rf"['\"](?:src[./\\])?{re.escape(names[0])}['\"./\\]"
        return not lists or any(re.search(named, each) for each in lists)
    named = r"[./\\]".join(map(re.escape, names))
    return names[0] == "src" or (names != [os.curdir] and re.search(rf"['\"]{named}['\"]", declared) is not None)


def _is_left_out(declared: str, names: list[str]) -> bool:
    """Whether all that a declaration says of where packages are looked for leaves a folder out, or what is around it.

    Strictly, setuptools takes up `tests.unit` where only `tests` is excluded, which nobody means.
    """
    found = [first or second for first, second in _LOOKED_FOR.findall(declared)]
    around = [".".join(names[:count]) for count in range(1, len(names) + 1)]
    return bool(found) and names != [os.curdir] and all(_leaves_out(each, around) for each in found)


def _leaves_out(found: str, around: list[str]) -> bool:
    included, excluded = (_patterns(kind, found) for kind in ("include", "exclude"))
    if any(fnmatchcase(name, each) for name in around for each in excluded):
        return True
    return bool(included) and not any(fnmatchcase(name, each) for name in around for each in included)


def _patterns(kind: str, found: str) -> list[str]:
    """The texts in a list that is called so."""
    held = re.search(_PATTERNS.format(kind), found)
    return [] if held is None else _TEXT.findall(held[1])
