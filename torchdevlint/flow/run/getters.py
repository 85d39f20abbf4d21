"""What methods of something unknown give that it holds: it is where that is."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import MODEL, Device
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import Choice, Const, Tensor, Unknown, Value
from torchdevlint.patterns import regex


def looked_up(given: Device, callee: ast.Attribute, arguments: Arguments) -> Value | None:
    """What ``d.get("key")`` gives, where `d` came from an argument: what a batch holds is where the batch is.

    ``d.get(key, t)`` gives a tensor if `t` is one.
    """
    if callee.attr not in ("get", "pop"):
        return None
    key, default = arguments.value(0, "key"), arguments.value(1, "default")
    if not isinstance(default, Tensor):
        named = isinstance(key, Const) and isinstance(key.value, str)
        return Unknown(given=given) if named and given == MODEL else None
    return Choice((((), given_tensor(given, callee.value)), ((), default)))


def is_getter(callee: ast.Attribute, arguments: Arguments) -> bool:
    """Whether it is ``x.lengths()``: what is asked for without an argument is held, as what an attribute gives.

    What is drawn or brought to the host is made there, and what a word for a whole (``x.next()``) gives may be data.
    """
    return not arguments.all_values and _MAKES.search(callee.attr) is None


_MAKES = regex(
    r"cpu|numpy|(?:^|_)np(?:$|_)|list|dict|sampl|host|item|next|read|load|data|reset|step|copy", re.IGNORECASE
)
