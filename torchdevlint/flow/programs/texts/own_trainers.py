"""Classes called `Trainer` that a project has itself: those of libraries place models, these say what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdevlint.patterns import regex
from torchdevlint.project.uses import Project

_NAMED = regex(r"\b\w*(?:Trainer|Learner)\b")
_DEFINED = regex(r"^\s*class\s+(\w+)", re.MULTILINE)
_IMPORTED = regex(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def without_own_trainers(text: str, path: str, project: Project) -> str:
    """The text of a file without the names of trainers that it defines, or imports from its project.

    What these are derived from, and where they come from, is written in the files that are imported.
    """
    if _NAMED.search(text) is None:
        return text
    imported = dict(_imported_by(text, path, project))
    defined = {each for each in _DEFINED.findall(text) if each not in imported}
    own = defined.union(name for name, is_own in imported.items() if is_own)
    return _NAMED.sub(lambda found: "" if found[0] in own else found[0], text)


def _imported_by(text: str, path: str, project: Project) -> Iterator[tuple[str, bool]]:
    """The trainers that a file imports, and whether they are of its project."""
    for level, module, names in _IMPORTED.findall(text):
        trainers = _NAMED.findall(names)
        is_own = bool(trainers) and project.locate(path, module, len(level)) is not None
        yield from ((each, is_own) for each in trainers)
