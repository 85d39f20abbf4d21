"""Where the factories of the tables put their results, by calling them: on the default device, or always on the CPU.

The meta device stands for an accelerator: it is a device of its own, and every machine has it.
"""

from __future__ import annotations

import warnings

import pytest

from torchdevlint.flow.knowledge import torch_api

torch = pytest.importorskip("torch", reason="calls the factories that the tables list")

FACTORY_CALLS = {
    "arange": "torch.arange(3)",
    "as_tensor": "torch.as_tensor([1.])",
    "asarray": "torch.asarray([1.])",
    "bartlett_window": "torch.bartlett_window(3)",
    "blackman_window": "torch.blackman_window(3)",
    "empty": "torch.empty(2)",
    "empty_permuted": "torch.empty_permuted((2,), (0,))",
    "empty_strided": "torch.empty_strided((2,), (1,))",
    "eye": "torch.eye(2)",
    "from_file": "torch.from_file(__file__, size=2)",
    "from_numpy": "torch.from_numpy(numpy.ones(2))",
    "frombuffer": "torch.frombuffer(bytearray(8), dtype=torch.uint8)",
    "full": "torch.full((2,), 1.)",
    "hamming_window": "torch.hamming_window(3)",
    "hann_window": "torch.hann_window(3)",
    "kaiser_window": "torch.kaiser_window(3)",
    "linspace": "torch.linspace(0, 1, 2)",
    "logspace": "torch.logspace(0, 1, 2)",
    "normal": "torch.normal(0., 1., (2,))",
    "ones": "torch.ones(2)",
    "rand": "torch.rand(2)",
    "randint": "torch.randint(3, (2,))",
    "randn": "torch.randn(2)",
    "randperm": "torch.randperm(2)",
    "range": "torch.range(0, 2)",
    "scalar_tensor": "torch.scalar_tensor(1.)",
    "tensor": "torch.tensor([1.])",
    "tril_indices": "torch.tril_indices(2, 2)",
    "triu_indices": "torch.triu_indices(2, 2)",
    "zeros": "torch.zeros(2)",
}
OF_OTHER_LAYOUTS = {name for name in torch_api.OTHER_FACTORIES if name.startswith("sparse_")} | {"empty_quantized"}
"""Sparse and quantised tensors, which the meta device has not."""


def test_every_factory_is_called() -> None:
    assert set(FACTORY_CALLS) == torch_api.FACTORIES - OF_OTHER_LAYOUTS


@pytest.mark.parametrize("name", sorted(FACTORY_CALLS))
def test_factories_follow_the_default_device_or_do_not(name: str) -> None:
    numpy = pytest.importorskip("numpy", reason="one factory takes an array") if name == "from_numpy" else None
    known = {"torch": torch, "numpy": numpy, "__file__": __file__}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = eval(FACTORY_CALLS[name], known)
        with torch.device("meta"):
            under = eval(FACTORY_CALLS[name], known)
    assert made.device.type == "cpu"
    assert (under.device.type == "cpu") is (name in torch_api.CPU_FACTORIES)
    if name in torch_api.VECTOR_FACTORIES:
        assert made.ndim == 1
    elif name in torch_api.MATRIX_FACTORIES:
        assert made.ndim == 2


@pytest.mark.parametrize("name", sorted(torch_api.LEGACY_CONSTRUCTORS))
def test_legacy_constructors_stay_on_the_cpu(name: str) -> None:
    with torch.device("meta"):
        assert getattr(torch, name)(2).device.type == "cpu"
    with pytest.raises((TypeError, RuntimeError)):
        getattr(torch, name)(2, device="meta")


@pytest.mark.parametrize("name", sorted(torch_api.LIKE_FACTORIES))
def test_like_factories_keep_the_device(name: str) -> None:
    there = torch.ones(2, device="meta")
    arguments = {"full_like": (1.0,), "randint_like": (3,)}.get(name, ())
    assert getattr(torch, name)(there, *arguments).device.type == "meta"
