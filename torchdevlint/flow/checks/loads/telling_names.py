"""What a name of a file tells that is known in part: more than a suffix, words to look for, what it may equal."""

from __future__ import annotations

import ast
import re

from torchdevlint.patterns import regex

HOLE = "{}"
"""What stands for a part of a name that is not known."""
_TELLING = regex(r"[^\W\d_]{3}")
_COMMON = frozenset(
    """
    pt pth pkl pickle pk bin tar ckpt chkpt checkpoint checkpoints model models module net t7 th torch data dat npy npz
    json yaml txt csv gz zip best last weights weight params state dict pyt safetensors part tmp bak old new
    """.split()
)
"""Suffixes that files of all kinds have."""
_WORDS = regex(r"[^\W\d]+")
_LETTERS = regex(r"[^\W\d_]+")
_SAME_FOLDER = regex(r"(?<![^/])(?:\./)+|(?<=/)/+")
"""What leads nowhere in a path."""


def is_telling(name: str) -> bool:
    """Whether what is known of a name is more than a suffix that many files have."""
    stem, _, suffix = name.rpartition(".")
    found = name if _is_own(suffix) else stem
    return "." in name and _TELLING.search(found.replace(HOLE, " ")) is not None


def is_for_cpu(name: str) -> bool:
    """Whether a file is called one for the CPU: ``net_cpu.pt`` is written to be read anywhere."""
    words = {each.lower() for each in _LETTERS.findall(name.rpartition("/")[2])}
    return "cpu" in words and not words & {"gpu", "cuda"}


def words_of(name: str) -> tuple[str, str]:
    """What the text of a file says that writes files of this name: the longest word in it, and the suffix.

    A suffix that few files have stands for both: what is before it may come from anywhere.
    """
    stem, _, suffix = name.rpartition(".")
    words = _WORDS.findall(suffix if _is_own(suffix) else stem.replace(HOLE, " "))
    return max(words, key=len), f".{suffix}"


def _is_own(suffix: str) -> bool:
    return HOLE not in suffix and suffix.lower() not in _COMMON and _TELLING.search(suffix) is not None


def parts_of(name: str) -> tuple[str, str]:
    """The same for code that may put the name together: the longest part of a word, and the suffix."""
    word, suffix = words_of(name)
    return max(word.split("_"), key=len), suffix


def plain_path(name: str) -> str:
    """A path without what leads nowhere: ``./net.pth`` and ``net.pth`` are one file."""
    return _SAME_FOLDER.sub("", name)


def path_key(path: ast.expr) -> str:
    """What two paths share that are written down alike, whether they are texts or put together."""
    is_text = isinstance(path, ast.Constant) and isinstance(path.value, str)
    return repr(plain_path(path.value)) if is_text else ast.dump(path)  # type: ignore[attr-defined]


def may_be_equal(one: str, other: str) -> bool:
    """Whether two names with holes are alike, or what is a hole in one of them is written down in the other."""
    one, other = plain_path(one), plain_path(other)
    return _fits(one, other) or _fits(other, one)


def _fits(name: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(HOLE))), name) is not None
