"""What is held where one machine has an accelerator and the other has none: what was chosen for the one that has."""

from __future__ import annotations

from msgspec.structs import replace

from torchdevlint.flow.state.values import NONE, UNKNOWN, Map, Value


def with_accelerator(chosen: Value, otherwise: Value) -> Value:
    """What is held after a test for an accelerator: what the machine with one chose.

    Where that is nothing, None or an entry less, and the other machine is told something, nobody forgot to say it: then
    it is unknown.
    """
    if chosen == NONE and otherwise != NONE:
        return UNKNOWN
    if isinstance(chosen, Map) and isinstance(otherwise, Map) and chosen.closed:
        keys = {key for key, _ in chosen.items}
        if any(key not in keys for key, _ in otherwise.items) or not otherwise.closed:
            return replace(chosen, closed=False)
        at = dict(otherwise.items)
        items = tuple((key, with_accelerator(value, at[key]) if key in at else value) for key, value in chosen.items)
        return replace(chosen, items=items)
    return chosen
