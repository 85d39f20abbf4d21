"""The keys of a configuration as a JSON schema, for editors and for tools that write configurations.

It describes a ``torchdevlint.toml``, or the table ``[tool.torchdevlint]``. What only others can tell is not in it:
which codes and formats there are, and whether a pattern can be read. ``schema.json`` beside this module is what it
gives.
"""

from __future__ import annotations

from typing import Any

from torchdevlint.config.settings import Key, Settings, Verify, default_of, kebab, keys_of


def schema() -> dict[str, Any]:
    """The schema, as draft 7 of JSON Schema, which the editors of TOML know."""
    verify = {"description": "What `torchdevlint verify` needs to know about the user's code.", **_table(Verify)}
    table = _table(Settings)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "torchdevlint",
        "description": "`torchdevlint.toml`, or the table `[tool.torchdevlint]` of `pyproject.toml`.",
        **table,
        "properties": {**table["properties"], "verify": verify},
    }


def _table(record: type[Settings] | type[Verify]) -> dict[str, Any]:
    properties = {kebab(name): _key(key, default_of(record, name)) for name, key in keys_of(record).items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _key(key: Key, default: object) -> dict[str, Any]:
    shown = {} if default is None else {"default": _plain(key.kind.schema, default)}
    return {"description": key.help, **key.kind.schema, **shown}


def _plain(kind: dict[str, Any], default: Any) -> Any:
    if not isinstance(default, tuple):
        return default
    return dict(default) if kind["type"] == "object" else list(default)
