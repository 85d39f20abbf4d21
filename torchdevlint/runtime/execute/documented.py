"""The types that a docstring gives for parameters, written as annotations: what old code has in their place.

The forms are those of Sphinx (``:type x: int``, ``:param int x:``), Google (``x (int): ..``) and NumPy (``x : int``).
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

_FORMS = (
    re.compile(r"^[ \t]*:type[ \t]+(?P<name>\w+):[ \t]*(?P<kind>[^\n]+)$", re.MULTILINE),
    re.compile(r":param[ \t]+(?P<kind>[\w.~`:\[\]]+)[ \t]+(?P<name>\w+):"),
    re.compile(r"^ *\*{0,2}(?P<name>\w+) *\((?P<kind>[^()\n]+(?:\([^()\n]*\)[^()\n]*)*)\) *:", re.MULTILINE),
    re.compile(r"^[ \t]*(?P<name>\w+)[ \t]+:[ \t]*(?P<kind>[^\n]+)$", re.MULTILINE),
)
_MARKS = re.compile(r"(?<!\w):\w+:|[`*~]|\b(?:is )?(?:an? )?instance of ")
_ASIDES = re.compile(r"^(?:optional|required|keyword.only|default\b.*|(?:of )?shape\b.*|if .*)$", re.IGNORECASE)
_OR = re.compile(r"\s*(?:[|/]|\bor\b)\s*")
_ITEMS = re.compile(r"^(list|tuple|sequence|iterable|set)s?(?: of |\(|\[)\s*([\w. |]+?)s?[)\]]?$", re.IGNORECASE)
_WORDS = {
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "double": "float",
    "string": "str",
    "text": "str",
    "tensor": "Tensor",
    "variable": "Tensor",
    "torch tensor": "Tensor",
    "array": "ndarray",
    "numpy array": "ndarray",
    "np array": "ndarray",
    "np.array": "ndarray",
    "callable": "Callable",
    "dictionary": "dict",
}


def documented(function: Callable[..., Any]) -> dict[str, str]:
    """The annotations that a function, or a class and its constructor, would have by their docstrings."""
    found: dict[str, str] = {}
    for text in _docstrings(function):
        for form in _FORMS:
            for match in form.finditer(text):
                kind = annotation(match["kind"])
                if kind:
                    found.setdefault(match["name"], kind)
    return found


def annotation(kind: str) -> str:
    """A documented type as an annotation: ``list of Tensors, optional`` is ``list[Tensor]``. Empty if it tells none."""
    plain = _MARKS.sub("", kind).strip().rstrip(".")
    parts = [part.strip() for part in re.split(r",(?![^\[(]*[\])])", plain)]
    kept = [part for part in parts if part and not _ASIDES.match(part)]
    return " | ".join(_one(part) for each in kept for part in _OR.split(each) if part)


def _one(part: str) -> str:
    items = _ITEMS.match(part)
    if items is not None:
        inside, holder = _one(items[2]), items[1].lower()
        return f"tuple[{inside}, ...]" if holder == "tuple" else f"list[{inside}]"
    return _WORDS.get(part.lower(), part)


def _docstrings(function: Callable[..., Any]) -> list[str]:
    """The docstring of a function; of a constructor also that of its class, which is where most describe it."""
    one: Any = function
    if inspect.isclass(one):
        texts = [vars(one).get("__doc__"), getattr(one.__init__, "__doc__", None)]
    elif getattr(one, "__name__", "") == "__init__":
        owner: Any = sys.modules.get(one.__module__)
        for name in one.__qualname__.split(".")[:-1]:
            owner = getattr(owner, name, None)
        texts = [one.__doc__, getattr(owner, "__doc__", None)]
    else:
        texts = [getattr(one, "__doc__", None)]
    return [text for text in texts if isinstance(text, str)]
