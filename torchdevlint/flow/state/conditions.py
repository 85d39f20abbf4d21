"""Branch conditions: which sets of them can hold together, and what holds where one or the other does."""

from __future__ import annotations

from torchdevlint.flow.state.compared_keys import Compared, Switch
from torchdevlint.flow.state.values import Conditions


def compatible(one: Conditions, other: Conditions) -> bool:
    """Whether both sets of branch conditions can hold together."""
    if one and other:
        for key, arm in one:
            if (key, not arm) in other:
                return False
            if type(key) is Compared:
                for other_key, other_arm in other:
                    if type(other_key) is Compared and key.excludes(arm, other_key, other_arm):
                        return False
    return True


def extended(conditions: Conditions, more: Conditions) -> Conditions:
    """`conditions`, and of `more` what is not among them."""
    if not more or not conditions:
        return conditions or more
    return conditions + tuple([each for each in more if each not in conditions])


def either(one: Conditions, other: Conditions) -> Conditions | None:
    """The conditions under which one or the other set holds, if that can be said exactly."""
    if not one or one == other:
        return one
    if not other:
        return other
    if len(one) == len(other) == 1:
        (key, arm), (other_key, other_arm) = one[0], other[0]
        return () if arm is not other_arm and key == other_key else None
    mine = theirs = None
    is_one = True
    for each in one:
        if each not in other:
            if mine is not None:
                is_one = False
                break
            mine = each
    if mine is None:
        return one
    for each in other:
        if each not in one:
            if theirs is not None or not is_one:
                return None
            theirs = each
    if theirs is None:
        return other
    (key, arm), (other_key, other_arm) = mine, theirs
    if key == other_key and arm is not other_arm:
        return tuple([each for each in one if each != mine])
    return None


def parted_by_switch(one: Conditions, other: Conditions) -> bool:
    """Whether one set holds in one arm of a test for an accelerator or a device, and the other one in the other arm."""
    return any(type(key) is Switch and (key, not arm) in other for key, arm in one)


def leave_device_open(conditions: Conditions) -> bool:
    """Whether they hold where no device was given: then what is not moved may be elsewhere, by another decision."""
    return any(type(key) is Switch and key.absent is arm for key, arm in conditions)


def asks_for_none(key: str) -> bool:
    """Whether the test with this key asks whether something is there at all."""
    return key.endswith(" is None")


def asks_kind_of(key: str, name: str) -> bool:
    """Whether the test with this key asks what kind of thing `name` is, such as a tensor or an array."""
    return any(f"{function}({name}" in key for function in _OF_KIND)


_OF_KIND = ("hasattr", "is_tensor", "isinstance", "type")
