"""Which releases of torch a project asks for, as far as it says so to those who install it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_of
from torchdevlint.project.uses import Project

Release = tuple[int, ...]
"""The numbers of a release, such as ``(1, 13)``."""
OLDEST: Release = (0,)
_LAST = 10**6
NEWEST: Release = (_LAST,)
_DECLARING = (
    "requirements.txt",
    "requirement.txt",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "environment.yml",
    "environment.yaml",
    "Pipfile",
)
"""Files at the root of a project by which it is installed."""
_FOR_READERS = ("README.md", "README.rst", "README.txt", "README", "readme.md")
_NUMBER = r"\d+(?:\.\d+)*"
_CLAUSE = rf"(?:===?|=|~=|>=|<=|!=|<|>|\^)\s*v?{_NUMBER}[\w.*+=-]*"
_ASKED = regex(
    rf"(?<![\w./-])(?:py)?torch(?:-[cg]pu)?[\"']?\s*(?:=\s*[\"']|=\s*\{{\s*version\s*=\s*[\"']|\()?\s*"
    rf"(?P<clauses>{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)"
)
"""``torch==0.3.1``, ``torch = "^1.2"``, ``pytorch=1.4=py3.7``, ``'torch>=1.0,<1.6'``, ``torch (>=1.0)``."""
_EACH = regex(rf"(?P<how>===?|=|~=|>=|<=|!=|<|>|\^)\s*v?(?P<number>{_NUMBER})(?P<open>\.\*)?")
_WHEEL = regex(rf"/torch-(?P<number>{_NUMBER})[\w.+%-]*\.whl")
_COMMENT = regex(r"(?m)#.*$")
_SHOWN = regex(
    rf"\bpytorch(?:\s+version)?[\s*_`(:=~v\[-]{{0,4}}(?P<number>{_NUMBER})"
    r"(?P<more>[\s`*)\]]*(?:\+|or\b|and\s+(?:above|higher|later|newer|up)\b))?",
    re.IGNORECASE,
)
_INTERFACE: Release = (1,)
"""Releases before that differ in what programs say; a README names later ones as those that were tried."""


class Asked(Struct, frozen=True):
    """The releases of torch that a project admits, from `least` to `most`, and the text that says so in a file."""

    least: Release = OLDEST
    most: Release = NEWEST
    text: str = ""
    source: str = ""


Reader = Callable[[str], tuple[Asked, ...]]


def torch_of(project: Project) -> Asked:
    """The releases of torch that the files at the root of a project ask for, those of the one that admits the newest.

    Where none of them names torch with a number, a README that names old ones alone counts: ``PyTorch 0.3``.
    """
    root = root_of(os.path.dirname(project.path))
    found = [each for name in _DECLARING for each in _said(project, root, name, _declared)]
    if not found:
        found = [each for name in _FOR_READERS for each in _said(project, root, name, _named)]
        found = found if found and max(each.most for each in found) < _INTERFACE else []
    if not found:
        return Asked()
    newest = max(found, key=lambda each: each.most)
    return replace(newest, least=min(each.least for each in found))


def _said(project: Project, root: str, name: str, read: Reader) -> Iterator[Asked]:
    held = project.text_of(os.path.join(root, name))
    if held is not None:
        yield from (replace(each, source=name) for each in read(held.text))


@lru_cache(maxsize=16)
def _declared(text: str) -> tuple[Asked, ...]:
    """The demands of torch in a file by which a project is installed."""
    found = [_bounds(each["clauses"].strip()) for each in _ASKED.finditer(_COMMENT.sub("", text))]
    found += [_bounds(f"=={each['number']}") for each in _WHEEL.finditer(text)]
    return tuple(found)


@lru_cache(maxsize=16)
def _named(text: str) -> tuple[Asked, ...]:
    """The releases of torch that a text for readers names; one with a ``+`` has none above it."""
    found = ((_numbers(each["number"]), each) for each in _SHOWN.finditer(text))
    return tuple(Asked(number, NEWEST if each["more"] else number, f"torch {each['number']}") for number, each in found)


def _bounds(clauses: str) -> Asked:
    """What a demand admits; ``<1.6`` admits all that is before 1.6, ``=1.6`` and ``==1.6.*`` all that begin so."""
    least, most = OLDEST, NEWEST
    for each in _EACH.finditer(clauses):
        how, number = each["how"], _numbers(each["number"])
        if how not in ("<", "<=", "!="):
            least = max(least, number)
        if how in ("==", "===", "=", "<="):
            most = min(most, (*number, _LAST) if how == "=" or each["open"] else number)
        elif how in ("<", "~=", "^"):
            most = min(most, _before(number if how == "<" else _next(number, how)))
    return Asked(least, most, f"torch{clauses}")


def _numbers(text: str) -> Release:
    return tuple(int(each) for each in text.split(".")[:3])


def _next(number: Release, how: str) -> Release:
    """The first release that ``~=1.4.2`` (1.5), ``~=1.4`` (2) or ``^1.4`` (2) does not admit."""
    if how == "^":
        kept = next((at for at, each in enumerate(number) if each), len(number) - 1)
    else:
        kept = max(len(number) - 2, 0)
    return (*number[:kept], number[kept] + 1)


def _before(number: Release) -> Release:
    """What stands for the last release before one."""
    kept = list(number)
    while len(kept) > 1 and kept[-1] == 0:
        kept.pop()
    return (*kept[:-1], kept[-1] - 1, _LAST)
