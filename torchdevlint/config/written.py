"""Values of settings as TOML."""

from __future__ import annotations

import json


def written(value: object) -> str:
    """The value of a field, as it would stand in a configuration; pairs are a table."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(f"{json.dumps(key)} = {written(item)}" for key, item in value) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
