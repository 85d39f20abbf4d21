"""Laws of the device lattice, and what is known of the pairs that matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdevlint.flow.state.devices import (
    CPU,
    DEFAULT,
    MODEL,
    TOP,
    Device,
    Origin,
    Relation,
    join,
    literal,
    on_cpu,
    relation,
)

CUDA, CUDA_0, CUDA_1 = literal("cuda"), literal("cuda:0"), literal("cuda:1")
META, MPS, CPU_0 = literal("meta"), literal("mps"), literal("cpu:0")
DEVICE = Device(Origin.EXPRESSION, "device")
SELF_DEVICE = Device(Origin.EXPRESSION, "self.device")
ARGUMENT = Device(Origin.ARGUMENT, "x")

names = st.sampled_from(["", "cpu", "cuda", "meta", "mps", "xpu", "device", "self.device", "x"])
devices = st.one_of(
    st.sampled_from([TOP, DEFAULT, CPU, MODEL, CUDA, CUDA_0, CUDA_1, META, DEVICE, ARGUMENT]),
    st.builds(Device, st.sampled_from(Origin), names, st.none() | st.integers(0, 3)),
)


@given(devices, devices)
def test_relation_is_symmetric(one: Device, other: Device) -> None:
    assert relation(one, other) is relation(other, one)


@given(devices)
def test_nothing_is_known_of_top(device: Device) -> None:
    top = Device(Origin.TOP, device.name, device.index)
    assert relation(top, device) is Relation.UNKNOWN
    assert relation(top, top) is Relation.UNKNOWN


@given(devices)
def test_what_is_known_agrees_with_itself(device: Device) -> None:
    expected = Relation.UNKNOWN if device.origin is Origin.TOP else Relation.AGREE
    assert relation(device, Device(device.origin, device.name, device.index)) is expected


@given(devices, devices)
def test_only_devices_that_are_told_apart_differ(one: Device, other: Device) -> None:
    if relation(one, other) is Relation.DIFFER:
        assert one != other
        assert not (on_cpu(one) and on_cpu(other))


@given(devices, devices, devices)
def test_agreement_is_transitive_where_it_counts(one: Device, other: Device, third: Device) -> None:
    """What agrees with one of two devices that differ never agrees with both."""
    if relation(one, other) is Relation.DIFFER:
        assert {relation(third, one), relation(third, other)} != {Relation.AGREE}


@given(devices, devices)
def test_join_is_commutative(one: Device, other: Device) -> None:
    assert join(one, other) == join(other, one)


@given(devices, devices, devices)
def test_join_is_associative(one: Device, other: Device, third: Device) -> None:
    assert join(join(one, other), third) == join(one, join(other, third))


@given(devices)
def test_join_is_idempotent_and_top_absorbs(device: Device) -> None:
    assert join(device, device) == device
    assert join(device, TOP) == TOP


@given(devices, devices, devices)
def test_join_forgets_and_never_invents(one: Device, other: Device, third: Device) -> None:
    """What surely holds of a join holds of both of its sides."""
    known = relation(join(one, other), third)
    if known is not Relation.UNKNOWN:
        assert relation(one, third) is known
        assert relation(other, third) is known


@given(st.text() | st.from_regex(r"\A[a-z]+:\w*\Z"))
def test_any_text_names_a_device_or_nothing(text: str) -> None:
    device = literal(text)
    assert device == TOP or device.origin is Origin.LITERAL
    assert device == TOP or text == device.describe() or device.index is not None or text == f"{device.name}:"


@pytest.mark.parametrize("text", ["", ":0", "cuda:", "cuda:x", "cuda:-1", "cuda: 1", "cuda:²", "cuda:١", "0", "a b"])
def test_what_torch_does_not_take_as_a_device_is_unknown(text: str) -> None:
    assert literal(text) == TOP


def test_a_number_that_is_too_long_for_python_is_unknown() -> None:
    assert literal("cuda:" + "9" * 10_000) == TOP


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (DEFAULT, CPU, Relation.AGREE),
        (DEFAULT, CPU_0, Relation.AGREE),
        (DEFAULT, MODEL, Relation.DIFFER),
        (DEFAULT, CUDA, Relation.DIFFER),
        (DEFAULT, CUDA_1, Relation.DIFFER),
        (DEFAULT, MPS, Relation.DIFFER),
        (DEFAULT, DEVICE, Relation.DIFFER),
        (DEFAULT, ARGUMENT, Relation.DIFFER),
        (DEFAULT, META, Relation.UNKNOWN),
        (CPU, MODEL, Relation.DIFFER),
        (CPU, CUDA_0, Relation.DIFFER),
        (CPU, DEVICE, Relation.UNKNOWN),
        (CPU, ARGUMENT, Relation.UNKNOWN),
        (CPU, META, Relation.UNKNOWN),
        (CUDA_0, CUDA_1, Relation.DIFFER),
        (CUDA, CUDA_0, Relation.UNKNOWN),
        (CUDA, MPS, Relation.UNKNOWN),
        (CUDA, META, Relation.UNKNOWN),
        (CUDA, MODEL, Relation.UNKNOWN),
        (CUDA, DEVICE, Relation.UNKNOWN),
        (DEVICE, SELF_DEVICE, Relation.UNKNOWN),
        (DEVICE, MODEL, Relation.UNKNOWN),
        (ARGUMENT, MODEL, Relation.UNKNOWN),
        (ARGUMENT, Device(Origin.ARGUMENT, "y"), Relation.UNKNOWN),
        (MODEL, MODEL, Relation.AGREE),
    ],
    ids=lambda each: each.describe() if isinstance(each, Device) else each.value,
)
def test_what_is_known_of_two_devices(one: Device, other: Device, expected: Relation) -> None:
    assert relation(one, other) is expected


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (TOP, "an unknown device"),
        (DEFAULT, "the CPU (default device)"),
        (CUDA, "cuda"),
        (CUDA_1, "cuda:1"),
        (DEVICE, "`device`"),
        (MODEL, "the model's device"),
        (ARGUMENT, "the device of `x`"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_devices_in_words(device: Device, words: str) -> None:
    assert device.describe() == words
