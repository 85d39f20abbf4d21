"""What can be called by code outside, and the values of a call, by the names of its parameters. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

Description = dict[str, Any]
"""A value as JSON (`execute.values`)."""
Values = Mapping[str, Description]
INIT = "init."
"""What the keys of a constructor's arguments begin with."""
RECEIVER = "self"
"""The key of an instance that was seen in use, with its constructor's arguments."""
BEFORE = "before."
"""What the keys of the calls begin with that the instance got before."""
FUNCTION, METHOD, MODULE = "function", "method", "module"


class Callee(Struct, frozen=True, order=True):
    """One function, Module or method, and where it is defined. `kind` is ``function``, ``method`` or ``module``."""

    module: str
    qualname: str
    kind: str
    filename: str
    line: int

    @property
    def name(self) -> str:
        return f"{self.module}:{self.qualname}"

    @property
    def owner(self) -> str:
        """``module:Class`` of what has a class."""
        return f"{self.module}:{self.qualname.partition('.')[0]}"


def is_argument(key: str) -> bool:
    """Whether a key is one of the call's own arguments."""
    return key != RECEIVER and not key.startswith((INIT, BEFORE))


def as_call(given: Values) -> dict[str, Any]:
    """Arguments as those of an expression: by place up to what ``*args`` takes, then by name."""
    keys = list(given)
    starred = next((number for number, key in enumerate(keys) if key.startswith("*") and key[1] != "*"), -1)
    listed: list[Description] = []
    for key in keys[: starred + 1]:
        listed += given[key]["of"] if key.startswith("*") else [given[key]]
    with_names: dict[str, Description] = {}
    for key in keys[starred + 1 :]:
        with_names |= given[key]["of"] if key.startswith("**") else {key: given[key]}
    return {**({"args": listed} if listed else {}), "with": with_names}
