"""What a docstring says of the types of parameters, where there are no annotations.

The forms are those of Google (``x (Tensor): ..``), NumPy (``x : torch.Tensor``) and Sphinx (``:param Tensor x:``,
``:type x: Tensor``). A parameter that may be anything else besides a tensor or None is not listed.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from torchdevlint.patterns import regex

_FORMS = (
    regex(r"^[ \t]*\*{0,2}(\w+)[ \t]*\(([^()\n]+(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*:", re.MULTILINE),
    regex(r"^[ \t]*(\w+)[ \t]*:[ \t]*([^\n]*)$", re.MULTILINE),
    regex(r"^[ \t]*:type[ \t]+(\w+):[ \t]*([^\n]*)$", re.MULTILINE),
)
_SPHINX = regex(r":param[ \t]+([\w.~`:]+)[ \t]+(\w+):")
_BETWEEN = regex(r"[,|/]|\bor\b")
_TENSOR = regex(r"(?:torch\.|autograd\.)*(?:[A-Z][a-z]+)?(?:Tensor|Variable)")
_BESIDES = regex(r"optional|required|None|default.*", re.IGNORECASE)
_WORDS = ("Tensor", "Variable")


@lru_cache(maxsize=512)
def documented_tensors(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The parameters that the docstring of `function` says are tensors, and nothing else."""
    text = ast.get_docstring(function, clean=False) or ""
    if not any(word in text for word in _WORDS):
        return frozenset()
    pairs = [match.groups() for form in _FORMS for match in form.finditer(text)]
    pairs += [(name, kind) for kind, name in _SPHINX.findall(text)]
    return frozenset(name for name, kind in pairs if _is_tensor(kind))


def _is_tensor(kind: str) -> bool:
    """Whether a documented type such as ``:class:`torch.Tensor`, optional`` is that of a tensor alone."""
    words = re.sub(r"(?<=Tensor)\s*\[[^\]]*\]|:\w+:|[`*~]|\([^()]*\)|\bof (?:shape|size|dim).*", " ", kind)
    parts = [part.strip() for part in _BETWEEN.split(words.rstrip(" ."))]
    kinds = [part for part in parts if part and not _BESIDES.fullmatch(part)]
    return bool(kinds) and all(_TENSOR.fullmatch(part) for part in kinds)
