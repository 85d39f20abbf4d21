"""Whether a project is distributed, so that others call what it defines, or is an application: all callers are seen."""

from __future__ import annotations

import os
import re

from torchdevlint.project.locate import root_of
from torchdevlint.project.uses import Project

_DECLARED = {
    "setup.py": re.compile(r"\bsetup\s*\("),
    "setup.cfg": re.compile(r"^\[metadata\]", re.MULTILINE),
    "pyproject.toml": re.compile(r"^\[(?:project|tool\.(?:poetry|flit\.metadata|flit\.module))\]", re.MULTILINE),
}
"""What declares a distribution, by the file at the root of the project."""


def is_application(project: Project) -> bool:
    """Whether nothing at the root of the project declares something to install."""
    root = root_of(os.path.dirname(project.path))
    texts = {name: project.text_of(os.path.join(root, name)) for name in _DECLARED}
    return not any(text is not None and _DECLARED[name].search(text.text) for name, text in texts.items())
