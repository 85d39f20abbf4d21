"""Rounds of a loop: whether a further one would tell anything, and what is left of those that are not run."""

from __future__ import annotations

from torchdevlint.flow.run.container_calls import append
from torchdevlint.flow.scope.loop_rounds import Loop, bound_first_in, filled_in
from torchdevlint.flow.scope.names import first_name
from torchdevlint.flow.state.joins import join
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Map, Names, Record, Seq, Value

_SEVERAL = frozenset({Choice, Map, Record, Seq})
"""Of what may be one thing in one round and another in the next, each round has to be run."""


def ends_with(loop: Loop, state: State, entered: State) -> bool:
    """Whether the round that began with `entered` and left `state` is the last one to be run.

    It is if the next one would find all names as it did, but for those that each round binds before it reads them, and
    for lists and dicts that it fills and does not read. These are left as after two rounds: nobody knows their length.
    """
    if state.touched is not entered.touched:
        return False
    env, paths = state.env, state.paths
    changed = [(name, value) for name, value in entered.env.items() if env.get(name) is not value]
    changed = [(name, value) for name, value in changed if env.get(name) != value]
    if not changed and paths == entered.paths:
        return True
    bound = bound_first_in(loop)
    if paths != entered.paths and not _differ_in(paths, entered.paths).issubset(bound):
        return False
    changed = [each for each in changed if each[0] not in bound]
    filled = filled_in(loop) if changed else frozenset()
    if not all(name in filled and name in env for name, _ in changed):
        return False
    left = {name: _after_another(env[name], value) for name, value in changed}
    found = {name: value for name, value in left.items() if value is not None}
    if len(found) < len(left):
        return False
    env.update(found)
    return True


def _differ_in(one: Names, other: Names) -> set[str]:
    """The names whose attributes or items are not known to be the same."""
    return {first_name(path) for path in (*one.keys(), *other.keys()) if one.get(path) != other.get(path)}


def _after_another(held: Value, before: Value) -> Value | None:
    """What a container holds after one round or two, the first of which left `held`; None where that is not plain."""
    if type(held) is Map and type(before) is Map:
        kept = dict(before.items)
        put = [value for key, value in held.items if kept.get(key) != value]
        return held if _SEVERAL.isdisjoint(map(type, (held.element, *put))) else None
    if type(held) is not Seq or type(before) is not Seq:
        return None
    if held.items is None:
        return held if _SEVERAL.isdisjoint(map(type, (held.element, *held.members))) else None
    if before.items is None or held.items[: len(before.items)] != before.items:
        return None
    added = held.items[len(before.items) :]
    if not _SEVERAL.isdisjoint(map(type, added)):
        return None
    further = held
    for each in added:
        further = append(further, each)
    return join(held, further)
