"""Which files are worth inferring anything about, told from their bytes alone.

The gate must be *sound*: if any rule could report on a file, it says yes. Saying yes too often only costs time. A rule
that speaks about files which none of the tests below lets through must widen them. What the rules need today:

* a name of PyTorch, which comes from an import whose text contains ``torch`` (also ``pytorch_lightning``,
  ``torchvision``, a ``# torchdevlint:`` comment), or is the word ``cuda`` in any case;
* ``accelerate``, which wraps models;
* a tensor that is known by its use alone, in a file that never names torch: it is reported for a call that changes its
  device or dtype, such as ``.to(``;
* a call that ends in ``DDP`` or ``DataParallel``, as wrappers of models are called;
* a base class called ``Module``, a method called ``forward``, a parameter called ``device`` or ``map_location``, and
  ``.numpy()``, of which rules speak whatever they come from;
* ``device_map`` and ``load_in_8bit``, by which a library puts a model on an accelerator;
* an environment variable that is meant to be ``CUDA_VISIBLE_DEVICES``: the file names the environment, and of the five
  pieces of that name at least two survive up to three wrong letters;
* ``# noqa: TDL001``, which may be an unused suppression;
* what rules of other people look for, which is given.

What a file has from other files of its project is asked by `torchdevlint.project.reach`.

Files that are turned away still have to be parsed, since a syntax error is a finding in any file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from torchdevlint.patterns import regex
from torchdevlint.source.text import declared_encoding

MOVING_METHODS = (
    "to cuda cpu xpu mps npu hpu mtia mlu ipu ve xla type type_as double float half bfloat16 int long short char byte "
    "bool cfloat cdouble chalf"
)
"""Methods whose dropped result is reported on a tensor of whatever origin."""

_PIECES = (b"cuda", b"_vis", b"ible", b"_dev", b"ices")
_ENVIRONMENT = regex(rb"environ|putenv|setenv")
_METHOD = rb"[\s\\]*(?:" + "|".join(MOVING_METHODS.split()).encode() + rb")[\s\\]*[(#]"
_MOVE, _AT_START = regex(rb"\." + _METHOD), regex(rb"\n" + _METHOD)
"""A method before a bracket or a comment. Comments between it and its dot or bracket are not skipped: a text may
consist of comments, and to look through them from each dot takes the square of the time.
"""
_DOT_AND_COMMENT = regex(rb"\.[\s\\]*#")
_NAMES = regex(
    rb"\bModule\b|\bdef[\s\\]+forward\b|\bdevice\b|\b(?:device_map|map_location|load_in_[48]bit)\b|\bnumpy[\s\\]*[(#]|DDP\b|\bddp\b|DataParallel\b"
)
_SUPPRESSION = regex(rb"tdl\d")
_ASCII_COMPATIBLE = regex(r"utf-?8|ascii|us-ascii", re.IGNORECASE)


def may_hold_findings(data: bytes, words: Sequence[bytes] = ()) -> bool:
    """Whether any rule could report on a file with these bytes; False is certain, True is a guess.

    `words`, in lower case, are what is of interest to rules besides that: see `torchdevlint.rules.words`.
    """
    if _mentions(data, words):
        return True
    if data.isascii():
        return False
    encoding = declared_encoding(data)
    if encoding and not _ASCII_COMPATIBLE.fullmatch(encoding[0]):
        return True
    # Python folds identifiers: full-width or mathematical letters that spell `torch` are the name `torch`.
    text = data.decode("utf-8", "ignore")
    folded = unicodedata.normalize("NFKC", text)
    return folded != text and _mentions(folded.encode("utf-8", "ignore"), words)


def _mentions(data: bytes, words: Sequence[bytes]) -> bool:
    if b"torch" in data or b"accelerate" in data:
        return True
    lower = data.lower()
    if b"cuda" in lower or _SUPPRESSION.search(lower) or any(word in lower for word in words):
        return True
    if _ENVIRONMENT.search(data) and sum(piece in lower for piece in _PIECES) >= 2:
        return True
    if _MOVE.search(data) or _NAMES.search(data):
        return True
    return _DOT_AND_COMMENT.search(data) is not None and _starts_after_a_comment(data.replace(b"\r", b"\n"))


def _starts_after_a_comment(data: bytes) -> bool:
    """Whether a method starts a line, and the line before it has a comment, so that its dot may be before that."""
    starts = (found.start() for found in _AT_START.finditer(data))
    return any(b"#" in data[data.rfind(b"\n", 0, start) + 1 : start] for start in starts)
