"""Names of what is often kept on the CPU wherever the rest is: lengths, indices, steps, seeds.

Such a name decides towards silence only. It is read by its words: `seq_len` is a length, `time_embedding` is no time.
"""

from __future__ import annotations

from torchdevlint.patterns import regex

_WORD = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HEAD = regex(
    r"(?:.*(?:lens?|lengths?|sizes?|shapes?|idxs?|index|indices|indexes|steps?|times?|seeds?)"
    r"|ids?|inds?|num|nums|numbers?|numel|counts?)$"
)
"""The last word of a name, which says what it is; ``seqlen`` and ``timesteps`` are written as one."""
_QUANTITIES = frozenset({"n", "num", "len", "idx", "index", "count"})
"""The first word of names such as ``num_nodes`` and ``idx_train``."""
_PLACES = frozenset({"cpu", "host"})


def is_bookkeeping(path: str | None) -> bool:
    """Whether the last part of a dotted path, such as ``batch.seq_len``, is the name of what may stay on the CPU."""
    words = [each.group().lower() for each in _WORD.finditer((path or "").rpartition(".")[2])]
    if not words:
        return False
    return words[0] in _QUANTITIES or _HEAD.match(words[-1]) is not None or not _PLACES.isdisjoint(words)
