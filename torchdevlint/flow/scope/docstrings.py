"""What a docstring says of the types of parameters, where there are no annotations.

The forms are those of Google (``x (Tensor): ..``), NumPy (``x : torch.Tensor``) and Sphinx (``:param Tensor x:``,
``:type x: Tensor``). A parameter that may be anything else besides a tensor or None is not listed.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode

_FORMS = (
    regex(r"^[ \t]*\*{0,2}(\w+)[ \t]*\(([^()\n]+(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*:", re.MULTILINE),
    regex(r"^[ \t]*(\w+)[ \t]*:[ \t]*([^\n]*)$", re.MULTILINE),
    regex(r"^[ \t]*:type[ \t]+(\w+):[ \t]*([^\n]*)$", re.MULTILINE),
)
_SPHINX = regex(r":param[ \t]+([\w.~`:]+)[ \t]+(\w+):")
_BETWEEN = regex(r"[,|/]|\bor\b")
_ELEMENTS = r"(?:float|bool|boolean|int|integer|long|binary|byte|double)s?(?:\d+)?"
_TENSOR = regex(
    rf"(?:torch\.|autograd\.)*(?:[A-Z][a-z]+)?(?:Tensor|Variable)|(?:{_ELEMENTS}\s+)?(?:torch\.)?[Tt]ensor(?:\s+of\s+{_ELEMENTS})?"
)
_BESIDES = regex(r"optional|required|None|default.*|(?:shape|size|dims?|dtype)\b.*|(?:float|int)\d+", re.IGNORECASE)
"""What may stand beside the type without being another one."""
_OPTIONAL = regex(r"(?:typing\.)?Optional\[([^\[\]]*)\]")
_ASIDE = regex(r"\[[^\[\]]*\]|:\w+:|[`*~]|\([^()]*\)|\b(?:of|with) (?:the )?(?:shape|size|dim).*")
"""Sizes, roles and marks of reStructuredText, and what is said of the shape."""
_WORDS = ("Tensor", "Variable", "tensor")


def documented_tensors(function: FunctionNode, owner: ast.ClassDef | None = None) -> frozenset[str]:
    """The parameters that the docstring of `function` says are tensors, and nothing else.

    Those of ``__init__`` may be described by the class that owns it.
    """
    own = _tensors_of(function)
    return own | _tensors_of(owner) if owner is not None and function.name == "__init__" else own


@lru_cache(maxsize=512)
def _tensors_of(described: FunctionNode | ast.ClassDef) -> frozenset[str]:
    text = ast.get_docstring(described, clean=False) or ""
    if not any(word in text for word in _WORDS):
        return frozenset()
    pairs = [match.groups() for form in _FORMS for match in form.finditer(text)]
    pairs += [(name, kind) for kind, name in _SPHINX.findall(text)]
    return frozenset(name for name, kind in pairs if _is_tensor(kind))


def _is_tensor(kind: str) -> bool:
    """Whether a documented type such as ``:class:`torch.Tensor`, optional`` is that of a tensor alone."""
    words = _ASIDE.sub(" ", _OPTIONAL.sub(r"\1", kind))
    parts = [part.strip() for part in _BETWEEN.split(words.rstrip(" ."))]
    kinds = [part for part in parts if part and not _BESIDES.fullmatch(part)]
    return bool(kinds) and all(_TENSOR.fullmatch(part) for part in kinds)
