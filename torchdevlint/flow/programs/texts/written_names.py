"""Names of functions and classes in texts that are no code: a call says one, or what an option is set to."""

from __future__ import annotations

import re
from pathlib import PurePath

_AS_CODE = r"[\w\])][.:]{0}\b(?!\.\w)|\b{0}\(|`{0}`|\bimport\b[^\n]*\b{0}\b"
"""A name that is called, imported, or said with its module."""
_AS_VALUE = r"""\w[.:]{0}\b|[:=,\-\[][ \t]*["']?{0}["']?[ \t]*(?:[,\]}}#;]|$)"""
"""A name that is said with its module, or as what something in a configuration is set to."""
FOR_PEOPLE = frozenset(".md .rst .txt .sh .bash .slurm .sbatch .bat".split())
"""What tells people how programs are started, or starts them."""


def as_code(name: str) -> re.Pattern[str]:
    """What finds a name where a document, or a text, says it as code does."""
    return re.compile(_AS_CODE.format(re.escape(name)))


def is_written_as_path(path: str, text: str, name: str) -> bool:
    """Whether the configuration at a path has a name as a value, or says it with its module, or a document as code."""
    if PurePath(path).suffix in FOR_PEOPLE:
        return as_code(name).search(text) is not None
    return re.search(_AS_VALUE.format(re.escape(name)), text, re.MULTILINE) is not None


def is_quoted(text: str, name: str) -> bool:
    """Whether a text has a name as one of its own: ``torch.hub.load("me/nets", "resnet")``."""
    return f'"{name}"' in text or f"'{name}'" in text
