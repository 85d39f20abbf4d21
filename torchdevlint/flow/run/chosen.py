"""What ``a and b`` and ``a or b`` choose among their values."""

from __future__ import annotations

from torchdevlint.flow.state.devices import TOP, Origin, literal
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.values import NONE, Const, Dev, Map, Value


def is_chosen(value: Value) -> bool:
    """Whether it is what ``test and value`` chooses, and no test itself."""
    return isinstance(value, (Dev, Map)) or (isinstance(value, Const) and not isinstance(value.value, bool))


def first_true(values: list[Value]) -> Value:
    """What ``a or b`` gives: any of the values up to one that is true, as a device is which is written down."""
    last = next((number for number, each in enumerate(values) if _is_written_device(each)), len(values) - 1)
    held = [each for value in values[:last] for each in alternatives(value) if each[1] != NONE]
    return choose([*held, *alternatives(values[last])])


def _is_written_device(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, str) and literal(value.value) != TOP
    return isinstance(value, Dev) and value.device.origin is Origin.LITERAL and not value.number
