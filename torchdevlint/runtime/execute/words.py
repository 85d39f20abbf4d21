"""Words that a parameter may be given: of a `Literal`, an enumeration, the body's comparisons, an exception."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator, Sequence
from typing import Any

from torchdevlint.runtime.execute.target import FunctionNode
from torchdevlint.runtime.execute.usage import Usage
from torchdevlint.runtime.execute.values import Description, value

MOST = 8
"""Words that are tried for one name."""
_QUOTED = re.compile(r"""(?<![\w'"])(?:'([^'\s]{1,40})'|"([^"\s]{1,40})"|`([^`\s]{1,40})`)(?!\w)""")


def of_body(usage: Usage, module: Any) -> list[Description]:
    """The words that a function compares a name with, or looks for it among: ``if mode in MODES``."""
    listed = [each for path in usage.members for each in _held_by(attribute(module, path))]
    return [value(each) for each in dict.fromkeys([*usage.compared, *listed]) if isinstance(each, str)][:MOST]


def of_literal(contents: Sequence[str]) -> list[Description]:
    """The values of ``Literal["mean", "sum"]``, given by their expressions."""
    found = []
    for text in contents:
        try:
            found.append(value(ast.literal_eval(text.strip())))
        except (ValueError, SyntaxError):
            continue
    return found


def of_enumeration(found: type[enum.Enum]) -> list[Description]:
    path = f"{found.__module__}:{found.__qualname__}"
    return [{"is": "name", "of": f"{path}.{each.name}"} for each in found]


def are_all(candidates: Sequence[Description]) -> bool:
    """Whether words are all that is tried."""
    return all(each["is"] == "value" and isinstance(each["value"], str) for each in candidates)


def quoted_in(text: str) -> Iterator[str]:
    """The words in quotation marks, as an error lists what it knows: ``expected one of 'mean', 'sum'``."""
    yield from dict.fromkeys(next(filter(None, found.groups())) for found in _QUOTED.finditer(text))


def attribute(module: Any, path: str) -> Any:
    """What a dotted path names in a module, None if there is no such thing."""
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _held_by(found: Any) -> list[Any]:
    """What is in a container that a module has."""
    if isinstance(found, (frozenset, set)):
        return sorted(each for each in found if isinstance(each, str))
    return list(found) if isinstance(found, (tuple, list, dict)) else []


def split(text: str, at: str) -> list[str]:
    """Split outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == at and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def annotated(node: FunctionNode) -> dict[str, str]:
    """The annotations of the parameters, as they are written."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return {each.arg: ast.unparse(each.annotation) for each in every if each.annotation is not None}
