"""Laws of joins and choices.

A choice is read as a function of a *world*, which says for each branch condition which arm was taken: it may be any
alternative whose conditions hold there. Joining and choosing must neither lose nor add one.
"""

from __future__ import annotations

import ast
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdevlint.flow.state.devices import CPU, DEFAULT, MODEL, TOP, Device, Origin, literal
from torchdevlint.flow.state.joins import (
    alternatives,
    blurred,
    choose,
    compatible,
    distribute,
    element_of,
    join,
    join_all,
    merge,
    sequence,
    settle,
)
from torchdevlint.flow.state.point import only
from torchdevlint.flow.state.tensors import at
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    MAX_ALTERNATIVES,
    MAX_NESTING,
    NONE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Choice,
    Conditions,
    Const,
    Dev,
    Map,
    Number,
    Seq,
    Site,
    Step,
    Tensor,
    Value,
)

KEYS = ("1.0:a", "1.0:b", "2.0:a")
WORLDS = [dict(zip(KEYS, arms, strict=True)) for arms in product((True, False), repeat=len(KEYS))]
DEVICES = (TOP, DEFAULT, CPU, MODEL, literal("cuda"), Device(Origin.EXPRESSION, "device"), Device(Origin.ARGUMENT, "x"))
NODES = tuple(ast.Name(name, ast.Load()) for name in "uvw")
SITES = tuple(Site(node, "torch.zeros", "forward", "Net.forward", False, None) for node in NODES)

World = dict[str, bool]

conditions = st.dictionaries(st.sampled_from(KEYS), st.booleans(), max_size=3).map(lambda held: tuple(held.items()))
devices = st.sampled_from(DEVICES)
tensors = st.builds(
    Tensor,
    devices,
    st.sampled_from([None, AT_LEAST_1, 0, 1, 2]),
    st.lists(st.sampled_from(SITES), max_size=2, unique=True).map(tuple),
    st.sampled_from(NODES).map(lambda node: (Step("made", node, made_by="torch.zeros"),)) | st.just(()),
    st.booleans(),
)
plain = st.one_of(
    st.sampled_from([UNKNOWN, NONE, NUMBER, TEXT, Const(1), Const(True), Const("cuda")]), devices.map(Dev), tensors
)
labels = st.sampled_from([Dev(literal(f"cuda:{number}")) for number in range(4)])
"""Values that two of are never merged into one, so that each can be traced to where it came from."""


def choices_of(held: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    """A value, or one of up to four under conditions, as `choose` builds it."""
    return st.lists(st.tuples(conditions, held), min_size=1, max_size=4).map(choose)


labelled = choices_of(labels)
values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(sequence),
        st.builds(Seq, st.none(), inner),
        st.builds(Map, st.lists(st.tuples(st.sampled_from("ab"), inner), max_size=2).map(tuple), inner),
        choices_of(inner),
    ),
    max_leaves=6,
)


def holds(world: World, held: Conditions) -> bool:
    return all(world[key] is arm for key, arm in held)


def possible(value: Value, world: World) -> set[Value]:
    """What `value` may be where the branches went as `world` says."""
    return {each for held, each in alternatives(value) if holds(world, held)}


def reached(world: World, *paths: tuple[Value, Conditions]) -> set[Value]:
    """What the paths that `world` takes may give; none of them does in a world that cannot be."""
    return {each for value, held in paths if holds(world, held) for each in possible(value, world)}


@given(values)
def test_join_is_idempotent(value: Value) -> None:
    assert join(value, value) == value
    assert join_all([value, value, value]) == value


@given(labelled, labelled, conditions, conditions)
def test_join_is_exact(one: Value, other: Value, one_if: Conditions, other_if: Conditions) -> None:
    joined = join(one, other, one_if, other_if)
    for world in WORLDS:
        expected = reached(world, (one, one_if), (other, other_if))
        if expected and joined != UNKNOWN:
            assert possible(joined, world) == expected


@given(labelled, labelled, conditions, conditions)
def test_the_order_of_two_paths_does_not_matter(
    one: Value, other: Value, one_if: Conditions, other_if: Conditions
) -> None:
    forward, backward = join(one, other, one_if, other_if), join(other, one, other_if, one_if)
    if UNKNOWN not in (forward, backward):
        real = [world for world in WORLDS if reached(world, (one, one_if), (other, other_if))]
        assert all(possible(forward, world) == possible(backward, world) for world in real)


@given(st.lists(st.tuples(conditions, labelled), min_size=1, max_size=4))
def test_choose_is_exact(pairs: list[tuple[Conditions, Value]]) -> None:
    chosen = choose(pairs)
    if chosen == UNKNOWN:
        return
    for world in WORLDS:
        expected = set().union(*(possible(value, world) for held, value in pairs if holds(world, held)))
        assert not expected or possible(chosen, world) == expected


@given(labelled, labelled, conditions, conditions)
def test_no_alternative_contradicts_itself(one: Value, other: Value, one_if: Conditions, other_if: Conditions) -> None:
    """Such a one could never be ruled out again."""
    for result in (join(one, other, one_if, other_if), choose([(one_if, one), (other_if, other)])):
        assert all(any(holds(world, held) for world in WORLDS) for held, _ in alternatives(result))


@given(labelled)
def test_distribute_keeps_the_conditions(value: Value) -> None:
    def rename(each: Value) -> Value:
        assert isinstance(each, Dev)
        return Dev(literal(f"xpu:{each.device.index}"))

    if isinstance(value, Choice):
        renamed = distribute(value, rename)
        for world in WORLDS:
            assert possible(renamed, world) == {rename(each) for each in possible(value, world)}


def test_what_became_one_becomes_one_with_a_third() -> None:
    """No two alternatives that are left could be one, whatever order the paths came in."""
    a, b = KEYS[:2]
    paths: list[Conditions] = [((a, True), (b, True)), ((a, False),), ((a, True), (b, False))]
    for order in permutations(paths):
        assert choose([(held, NONE) for held in order]) == NONE


@given(st.lists(st.tuples(conditions, labelled), min_size=1, max_size=4))
def test_choosing_again_changes_nothing(pairs: list[tuple[Conditions, Value]]) -> None:
    chosen = choose(pairs)
    assert choose(list(alternatives(chosen))) == chosen


@given(st.lists(st.tuples(conditions, values), min_size=1, max_size=9), values)
def test_alternatives_are_few(pairs: list[tuple[Conditions, Value]], other: Value) -> None:
    chosen = choose(pairs)
    for result in (chosen, join(chosen, other), join_all([value for _, value in pairs])):
        assert len(alternatives(result)) <= MAX_ALTERNATIVES
        assert not isinstance(result, Choice) or len(result.alternatives) > 1
        assert not any(isinstance(each, Choice) for _, each in alternatives(result))


def test_too_many_alternatives_are_unknown() -> None:
    many = [((), Dev(literal(f"cuda:{number}"))) for number in range(MAX_ALTERNATIVES + 1)]
    assert choose(many) == UNKNOWN
    assert isinstance(choose(many[:-1]), Choice)
    assert choose([]) == UNKNOWN
    assert join_all([]) == UNKNOWN


@given(values, conditions)
def test_settle_only_removes_what_is_ruled_out(value: Value, held: Conditions) -> None:
    before, after = alternatives(value), alternatives(settle(value, held))
    assert {each for _, each in after} <= {each for _, each in before}
    kept = [each for at_, each in before if compatible(at_, held)]
    assert [each for _, each in after] in (kept, [each for _, each in before])


@given(labelled, conditions)
def test_settle_loses_nothing_that_can_still_be(value: Value, held: Conditions) -> None:
    settled = settle(value, held)
    for world in WORLDS:
        if holds(world, held):
            assert possible(value, world) <= possible(settled, world)


@given(conditions, conditions)
def test_conditions_are_compatible_where_a_world_has_both(one: Conditions, other: Conditions) -> None:
    together = any(holds(world, one) and holds(world, other) for world in WORLDS)
    assert compatible(one, other) is compatible(other, one) is together


@given(tensors, devices.filter(lambda device: device != TOP))
def test_a_tensor_that_is_moved_on_one_path_is_nowhere_known(tensor: Tensor, device: Device) -> None:
    moved = at(tensor, device, Step("moved", NODES[0]))
    came_from = bool(tensor.steps) or bool(tensor.creations)
    if tensor.moved or tensor.device == device or not came_from:
        return
    for joined in (
        join(tensor, moved),
        join(moved, tensor),
        join(tensor, moved, ((KEYS[0], False),), ((KEYS[0], True),)),
    ):
        assert isinstance(joined, Tensor)
        assert joined.device == TOP
        assert joined.creations == ()


@given(tensors, tensors)
def test_merge_never_invents_a_device_or_a_number_of_dimensions(one: Tensor, other: Tensor) -> None:
    merged = merge(one, other)
    if merged is None:
        return
    assert isinstance(merged, Tensor)
    assert merged.device in (TOP, one.device) if one.device == other.device else merged.device == TOP
    assert set(merged.creations) <= {*one.creations, *other.creations}
    if merged.ndim == AT_LEAST_1:
        assert 0 not in (one.ndim, other.ndim)
        assert None not in (one.ndim, other.ndim)
    elif merged.ndim is not None:
        assert one.ndim == other.ndim == merged.ndim


@given(values, values)
def test_merge_is_idempotent_and_its_order_does_not_decide_where_a_tensor_is(one: Value, other: Value) -> None:
    assert merge(one, one) == one
    forward, backward = merge(one, other), merge(other, one)
    assert (forward is None) is (backward is None)
    if isinstance(forward, Tensor) and isinstance(backward, Tensor):
        assert forward.device == backward.device
        assert forward.ndim == backward.ndim
        assert set(forward.creations) == set(backward.creations)


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (Const(1), Const(2), NUMBER),
        (Const(1), NUMBER, NUMBER),
        (Const(True), Const(1), NUMBER),
        (Const(1), Const("1"), None),
        (Const("cuda"), Const("cpu"), None),
        (NONE, Const(1), None),
        (NONE, Tensor(DEFAULT), None),
        (Tensor(DEFAULT), Tensor(MODEL), None),
        (Tensor(DEFAULT, 1), Tensor(DEFAULT, 2), Tensor(DEFAULT, AT_LEAST_1)),
        (Tensor(DEFAULT, 0), Tensor(DEFAULT, 2), Tensor(DEFAULT)),
        (UNKNOWN, NUMBER, None),
        (Number(), TEXT, None),
    ],
)
def test_what_is_one_value_after_two_paths(one: Value, other: Value, merged: Value | None) -> None:
    assert merge(one, other) == merged
    assert merge(other, one) == merged


def test_constants_are_equal_only_with_their_types() -> None:
    assert Const(True) != Const(1)
    assert Const(1.0) != Const(1)
    assert len({Const(True), Const(1), Const(1.0)}) == 3


@given(values)
def test_blurring_leaves_no_choice_and_no_device(value: Value) -> None:
    """What is None or one other thing is taken for that thing."""
    result = blurred(value)
    assert not isinstance(result, Choice)
    if isinstance(value, Choice):
        others = [each for _, each in value.alternatives if each != NONE]
        assert result in ((others[0],) if len(others) == 1 else (UNKNOWN, Tensor(TOP)))


@given(st.lists(values, max_size=4))
def test_an_item_of_a_sequence_is_one_of_its_items_or_blurred(items: list[Value]) -> None:
    made = sequence(items)
    assert made.items == tuple(items)
    assert element_of(made) == made.element
    assert made.element == blurred(join_all(items))


@given(st.lists(tensors, min_size=1, max_size=4))
def test_where_an_item_is_is_known_only_where_all_are(items: list[Tensor]) -> None:
    element = sequence(list(items)).element
    if isinstance(element, Tensor) and element.device != TOP:
        assert {item.device for item in items} == {element.device}


@given(values)
def test_only_gives_what_is_there_once(value: Value) -> None:
    found = only(value, Tensor)
    held = [each for _, each in alternatives(value) if isinstance(each, Tensor)]
    assert found == (held[0] if len(held) == 1 else None)


@given(tensors)
def test_iterating_takes_one_dimension_off(tensor: Tensor) -> None:
    element = element_of(tensor)
    assert isinstance(element, Tensor)
    assert element.device == tensor.device
    assert element.ndim == (tensor.ndim - 1 if tensor.ndim is not None and tensor.ndim > 0 else None)


def test_containers_are_no_deeper_than_is_compared() -> None:
    """Comparing and hashing goes through everything inside, twice where an item is the element too."""
    listed: Value = NUMBER
    mapped: Value = NUMBER
    for _ in range(40):
        listed, mapped = sequence([listed, listed]), Map((("a", mapped), ("b", mapped)), mapped)
        assert isinstance(listed, Seq)
        assert isinstance(mapped, Map)
        assert max(listed.depth, mapped.depth) <= MAX_NESTING


def test_of_a_table_of_data_no_item_is_known() -> None:
    few, many = (Map(tuple((n, Tensor(CPU)) for n in range(size)), Tensor(CPU), True) for size in (300, 301))
    assert len(few.items) == 300
    assert (many.items, many.element, many.closed) == ((), UNKNOWN, False)
