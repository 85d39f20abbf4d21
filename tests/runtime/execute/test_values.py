"""Values are what their descriptions say, the same in every process, and where a setting wants them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="builds values with torch")

from torchdevlint.runtime.execute.values import (  # noqa: E402
    DEFAULT,
    Setting,
    build,
    by_name,
    describe,
    named,
    tensor,
    tensors_in,
    value,
)

META = torch.device("meta")
CPU = torch.device("cpu")
HERE = Setting(META, CPU, CPU)
AWAY = Setting(META, META, META)


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any = None


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(width, width)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool"])
def test_a_tensor_is_random_and_the_same_every_time(dtype: str) -> None:
    first, second = (build(tensor(4, 3, dtype=dtype), HERE) for _ in range(2))
    assert first.dtype is getattr(torch, dtype)
    assert first.shape == (4, 3)
    assert torch.equal(first, second)
    assert len(first.unique()) > 1


def test_the_state_of_the_program_does_not_change_it() -> None:
    torch.manual_seed(1)
    first = build(tensor(4), HERE)
    torch.manual_seed(2)
    assert torch.equal(first, build(tensor(4), HERE))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_a_default_device_of_the_program_does_not_matter(dtype: str) -> None:
    first = build(tensor(4, 3, dtype=dtype), HERE)
    torch.set_default_device("meta")
    try:
        assert torch.equal(first, build(tensor(4, 3, dtype=dtype), HERE))
        assert build({"is": "numpy", "shape": [2]}, HERE).shape == (2,)
        assert build(tensor(3, fill="ones"), HERE).tolist() == [1, 1, 1]
    finally:
        torch.set_default_device(None)


def test_fillings_and_gradients() -> None:
    assert build(tensor(3, fill="ones"), HERE).tolist() == [1, 1, 1]
    assert build(tensor(2, dtype="int64", fill="lengths"), HERE).tolist() == [8, 8]
    assert build({**tensor(3), "grad": True}, HERE).requires_grad
    assert not build(tensor(3), HERE).requires_grad
    assert build(tensor(), HERE).dim() == 0


def test_each_kind_is_where_the_setting_wants_it() -> None:
    assert build(tensor(3), AWAY).device == META
    assert build({**tensor(3), "on": "cpu"}, AWAY).device == CPU
    assert build({"is": "device"}, HERE) == META
    assert build({"is": "module", "make": "nn.Linear(8, 8)"}, AWAY).weight.device == META
    (batch,) = {tuple(each.device for each in batch) for batch in build({"is": "loader", "of": [tensor(3)] * 2}, AWAY)}
    assert batch == (CPU, CPU), "what a loader gives is on the CPU"
    before = AWAY.before_the_move
    assert (before.device, before.tensors, before.modules) == (META, CPU, CPU)


def test_containers_and_instances() -> None:
    both = [tensor(2), value("a")]
    assert isinstance(build({"is": "list", "of": both}, HERE), list)
    assert build({"is": "tuple", "of": both}, HERE)[1] == "a"
    assert build({"is": "dict", "of": {"k": value(3)}}, HERE) == {"k": 3}
    pair = build({"is": "instance", "of": f"{__name__}:Pair", "with": {"left": value(1), "right": DEFAULT}}, HERE)
    assert pair == Pair(1, None)
    block = build({"is": "instance", "of": f"{__name__}:Block", "with": {"width": value(3)}}, AWAY)
    assert block.inner.weight.device == META, "a Module is moved"
    assert named(f"{__name__}:Pair") is Pair


def test_the_others() -> None:
    assert build({"is": "function"}, HERE)(1, 2, key=3) == 1
    assert build({"is": "function"}, HERE)() is None
    assert isinstance(build({"is": "optimizer"}, HERE), torch.optim.Optimizer)
    assert build({"is": "numpy", "shape": [2, 3]}, HERE).shape == (2, 3)
    assert isinstance(build({"is": "generator"}, Setting(CPU, CPU, CPU)), torch.Generator)


def test_a_loader_is_like_one_of_torch() -> None:
    loader = build({"is": "loader", "of": [tensor(8, 8), tensor(8, dtype="int64")]}, HERE)
    assert len(loader) == 2
    assert loader.batch_size == 8
    assert len(loader.dataset) == 16
    assert [each.dtype for each in next(iter(loader))] == [torch.float32, torch.int64]
    single = build({"is": "loader", "of": [tensor(8)]}, HERE)
    assert isinstance(single[0], torch.Tensor)


def test_a_configuration_answers_every_attribute_the_same_way_each_time() -> None:
    config = build({"is": "namespace"}, HERE)
    assert config.hidden_size == config["hidden_size"] == config.get("hidden_size") == 8
    assert config.use_cache is False
    assert config.num_layers == 2
    assert config.get("dropout_of_ours", 3) == 3
    config.width = 5
    assert config.width == 5
    assert config.to_dict()["width"] == 5
    assert "anything" in config
    assert not hasattr(config, "__fspath__")


@pytest.mark.parametrize(("name", "expected"), [("kernel_size", 3), ("_dropout", 0.0), ("VOCAB_SIZE", 32), ("x", None)])
def test_plain_values_by_name(name: str, expected: Any) -> None:
    assert by_name(name) == expected


@pytest.mark.parametrize(
    ("description", "words"),
    [
        (tensor(2, 3), "float32 tensor 2x3 on meta"),
        (tensor(), "float32 tensor 0-dim on meta"),
        ({**tensor(2, dtype="int64"), "on": "cpu"}, "int64 tensor 2 on cpu"),
        (value("a"), "'a'"),
        ({"is": "device"}, "meta"),
        ({"is": "list", "of": [value(1), value(2)]}, "list of 1, 2"),
        ({"is": "dict", "of": {"k": value(1)}}, "{'k': 1}"),
        ({"is": "module", "make": "nn.Linear(8, 8)"}, "nn.Linear(8, 8)"),
        ({"is": "instance", "of": "m:A.B", "with": {"n": value(1), "o": DEFAULT}}, "A.B(n=1)"),
        ({"is": "namespace"}, "an object with plausible attributes"),
        (DEFAULT, "its default"),
        ({"is": "function"}, "a function"),
    ],
)
def test_descriptions_in_words(description: dict[str, Any], words: str) -> None:
    assert describe(description, AWAY) == words
    assert json.loads(json.dumps(description)) == description, "it goes from one process to another"


def test_a_batch_is_told_where_it_is() -> None:
    assert describe({"is": "loader", "of": [tensor(2)]}, AWAY) == "loader of float32 tensor 2 on cpu"


def test_the_tensors_in_a_result() -> None:
    a, b, c, d = (torch.zeros(1) for _ in range(4))
    result = [a, {"k": (b, c)}, Pair(d), torch.nn.Linear(1, 1), 3, "text"]
    assert [id(each) for each in tensors_in(result)] == [id(each) for each in (a, b, c, d)]
    assert list(tensors_in([[[[a]]]])) == []
    assert list(tensors_in(a)) == [a]
