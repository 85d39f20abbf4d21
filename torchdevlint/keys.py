"""What the keys of a configuration may hold, and how a TOML value is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from torchdevlint.model import Severity

FAIL_ON = (*(one.value for one in Severity), "never")
"""The mildest severity that makes the exit code 1."""

_VERSION = r"[0-9]+(\.[0-9]+){1,2}"
_RELEASES = r"[0-9][0-9A-Za-z.*+!-]*"
_RANGE = rf"(~=|[=!]=|[<>]=?)\s*{_RELEASES}"
"""Versions and a range of them, as far as an editor is to know; packaging reads them."""


class Kind(Struct, frozen=True):
    """What a key holds: its description in error messages and in the reference, and how a TOML value is read.

    `read` returns the field's value, or raises ValueError with what was wanted more precisely (or without a text).
    `schema` says in JSON Schema what it takes.
    """

    description: str
    read: Callable[[Any], Any]
    schema: dict[str, Any]


def _object(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _exactly(wanted: type | tuple[type, ...]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise ValueError
        return value

    return read


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError
    return tuple(value)


def _table(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_table(value: Any) -> tuple[tuple[str, Any], ...]:
        if not isinstance(value, dict):
            raise ValueError
        return tuple((key, read(item)) for key, item in value.items())

    return read_table


def _severity(value: Any) -> str:
    values = [one.value for one in Severity]
    if value not in values:
        raise ValueError(f"a table from codes to one of {', '.join(values)}")
    return str(value)


def _threshold(value: Any) -> str:
    if value not in FAIL_ON:
        raise ValueError
    return str(value)


def _version(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(_VERSION, value):
        raise ValueError
    return value


def _requirement(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    is_allowed(value, "0")
    return value


def is_allowed(requirement: str, version: str) -> bool:
    """Whether a version is one of those that are required; a bare version means that one alone, as in ruff.

    Raises ValueError for what is no requirement.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version) == Version(requirement)
    except InvalidVersion:
        pass
    try:
        return SpecifierSet(requirement).contains(version, prereleases=True)
    except InvalidSpecifier as error:
        raise ValueError from error


def _positive(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError
    return float(value)


_SEVERITIES = {"enum": [one.value for one in Severity]}
_STRING = {"type": "string"}
_STRINGS = {"type": "array", "items": _STRING}

BOOLEAN = Kind("a boolean", _exactly(bool), {"type": "boolean"})
STRING = Kind("a string", _exactly(str), _STRING)
STRINGS = Kind("a list of strings", _strings, _STRINGS)
STRING_TABLE = Kind("a table from strings to strings", _table(_exactly(str)), _object(_STRING))
LIST_TABLE = Kind("a table from strings to lists of strings", _table(_strings), _object(_STRINGS))
SEVERITY_TABLE = Kind("a table from codes to severities", _table(_severity), _object(_SEVERITIES))
THRESHOLD = Kind(f"one of {', '.join(FAIL_ON)}", _threshold, {"enum": list(FAIL_ON)})
VERSION = Kind('a version such as "2.4"', _version, {**_STRING, "pattern": f"^{_VERSION}$"})
REQUIREMENT = Kind(
    'a requirement such as ">=0.1,<2"',
    _requirement,
    {**_STRING, "pattern": rf"^\s*({_RELEASES}|{_RANGE}(\s*,\s*{_RANGE})*)?\s*$"},
)
SECONDS = Kind("a positive number of seconds", _positive, {"type": "number", "exclusiveMinimum": 0})
