"""Names of what is often kept on the CPU wherever the rest is: lengths, indices, steps, seeds.

Such a name decides towards silence only. It is read by its words: `seq_len` is a length, `time_embedding` is no time.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from torchdevlint.patterns import regex

_WORD = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_QUANTITY = regex(r"(?:.*(?:lens?|lengths?|sizes?|shapes?|steps?|seeds?)|num|nums|numbers?|numel|counts?)$")
"""The last word of a name, which says what it is; ``seqlen`` and ``timesteps`` are written as one."""
_POSITION = regex(r"(?:.*(?:idxs?|index|indices|indexes|times?)|ids?|inds?)$")
_QUANTITIES = frozenset({"n", "num", "len", "count"})
"""The first word of names such as ``num_nodes``."""
_POSITIONS = frozenset({"idx", "index"})
_PLACES = frozenset({"cpu", "host"})


@lru_cache(maxsize=8192)
def is_bookkeeping(path: str | None) -> bool:
    """Whether the last part of a dotted path, such as ``batch.seq_len``, is the name of what may stay on the CPU."""
    words = _words(path)
    return is_quantity(path) or (bool(words) and (words[0] in _POSITIONS or _POSITION.match(words[-1]) is not None))


@lru_cache(maxsize=8192)
def is_quantity(path: str | None) -> bool:
    """The same but for indices and times, which a layer looks up or embeds where its weights are."""
    words = _words(path)
    if not words:
        return False
    return words[0] in _QUANTITIES or _QUANTITY.match(words[-1]) is not None or not _PLACES.isdisjoint(words)


def _words(path: str | None) -> list[str]:
    return [each.group().lower() for each in _WORD.finditer((path or "").rpartition(".")[2])]


def is_called_text(key: ast.expr) -> bool:
    """Whether the key of an item says that it is a text, which stays where it is: ``batch["caption"]``."""
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and _TEXT.match(key.value.lower()) is not None


_TEXT = regex(
    r"(?:.*[_.])?(?:task|text|caption|prompt|sentence|instruction|question|title|description"
    r"|path|file|file_?name|fname|url)s?$"
)
"""Names of files are texts as well."""
