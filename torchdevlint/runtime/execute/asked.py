"""What an exception says of the kind of value that it wants: a text, one of some words, a dict, a Module, one more.

The texts are those of Python's interpreter and PyTorch, and what programs write of choices (``one of 'mean', 'sum'``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchdevlint.runtime.execute.slots import MODELS, candidates_for
from torchdevlint.runtime.execute.usage import Usage
from torchdevlint.runtime.execute.values import DEFAULT, SIZE, Description, by_name, tensor, value
from torchdevlint.runtime.execute.words import quoted_in

Path = tuple[Any, ...]
Leaf = tuple[Path, Description]

MOST_WORDS = 4
_NO_ATTRIBUTE = r"has no attribute '(?:%s)'"
_OF_CHOICES = re.compile(
    r"(?i)\b(one of|must be|should be|expected|available|supported?|valid|allowed|known|choose|choices|options?)\b"
)
_MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)", re.DOTALL)


def for_kinds(text: str, leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """Values of another kind in place of tensors and sizes, or arguments that are missing."""
    if missing := _MISSING.search(text):
        yield from _given_as_well(list(quoted_in(missing[1])), leaves)
    if unknown := re.search(r"'(?:types\.)?SimpleNamespace' object has no attribute '(\w+)'", text):
        for path, one in leaves:
            if one["is"] == "namespace":
                yield path, {**one, "asked": [*one.get("asked", ()), unknown[1]]}
        return
    for pattern, make in _KINDS:
        if pattern.search(text):
            for path, one in leaves:
                if one["is"] == "tensor" or kind_of(one) == "int":
                    yield from ((path, each) for each in make(_name_of(path)))


def kind_of(one: Description) -> str:
    """The name of its type, as an exception says it; a type of its own is none of these."""
    if one["is"] == "value":
        return type(one["value"]).__name__
    return "Tensor" if one["is"] == "tensor" else str(one["is"])


def for_words(text: str, leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """The words that are quoted, in place of a text; in place of a tensor only where they are said to be choices."""
    found = list(quoted_in(text))
    if not found:
        return
    texts = [path for path, one in leaves if one["is"] == "value" and isinstance(one["value"], str)]
    is_choice = _OF_CHOICES.search(text) is not None and len(found) > 1
    given = {one["value"] for _, one in leaves if one["is"] == "value" and isinstance(one["value"], str)}
    chosen = [word for word in found if word not in given][:MOST_WORDS]
    for path in texts or ([path for path, one in leaves if one["is"] == "tensor"] if is_choice else []):
        yield from ((path, value(word)) for word in chosen)


def _given_as_well(names: Sequence[str], leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """What is missing, in ``**kwargs`` or in ``*args``."""
    likeliest = {name: candidates_for(name, "", Usage(), {})[0] for name in names}
    for path, one in leaves:
        key = str(path[0])
        if len(path) > 1 or "*" not in key or one["is"] not in ("default", "dict", "tuple"):
            continue
        if "**" in key:
            yield path, {"is": "dict", "of": {**one.get("of", {}), **likeliest}}
        elif one == DEFAULT:
            yield path, {"is": "tuple", "of": list(likeliest.values())}


def _name_of(path: Path) -> str:
    return str(
        next((each for each in reversed(path) if isinstance(each, str) and each not in ("of", "with")), "")
    ).rpartition(".")[2]


def _text(name: str) -> list[Description]:
    known = by_name(name)
    return [value(known if isinstance(known, str) else name)]


_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], list[Description]]], ...] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (
            _NO_ATTRIBUTE
            % "lower|upper|startswith|endswith|strip|replace|format|encode|title"
            + r"|attribute name must be string|must be (?:a )?str\b|expected str\b|Tensor\.split\(\) missing"
            r"|Tensor\.__contains__ only supports|can only concatenate str \(not",
            _text,
        ),
        (
            _NO_ATTRIBUTE % "keys|items|get|update|pop" + r"|is not a mapping|must be a mapping",
            lambda _name: [{"is": "dict", "of": {}}, {"is": "dict", "of": {"input": tensor(SIZE, SIZE)}}],
        ),
        (
            _NO_ATTRIBUTE % "append|extend|insert",
            lambda _name: [{"is": "list", "of": [tensor(SIZE, SIZE)] * 2}],
        ),
        (
            _NO_ATTRIBUTE % "astype|copy" + r"|numpy\.ndarray",
            lambda _name: [{"is": "numpy", "shape": [SIZE] * rank} for rank in (2, 3, 1)],
        ),
        (
            _NO_ATTRIBUTE % "parameters|named_parameters|modules|named_modules|children|state_dict|train|eval|zero_grad"
            + r"|is not a Module subclass",
            lambda _name: [{"is": "module", "make": make} for make in MODELS[:3]],
        ),
        (_NO_ATTRIBUTE % "__name__|__code__", lambda _name: [{"is": "function"}]),
    )
)
