"""Where the linter says that functions make tensors, against the simulated backend: by default, and where told."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runtime import operations
from torchdevlint.flow.knowledge import torch_api

torch = pytest.importorskip("torch", reason="executes the functions that the linter knows")

from torchdevlint.runtime.simulated import simulate  # noqa: E402

FACTORIES = {name: arguments for arguments, group in operations.FACTORIES.items() for name in group.split()}
NEW = {name: arguments for arguments, group in operations.NEW.items() for name in group.split()}
NOT_CALLED = {"empty_quantized", "from_file", "from_numpy"}
"""Quantised, of a file, and of an array."""
TAKE_NO_DEVICE = {"frombuffer"}
ACCELERATOR = torch.device("cuda", 0)


@pytest.fixture(autouse=True, scope="module")
def _machine() -> Iterator[None]:
    with simulate(2):
        yield


def made(text: str) -> str:
    """The type of the device of the tensor that an expression gives."""
    tensor = eval(text, {"torch": torch, "x": torch.ones(2, 2, device="cuda"), "cpu": torch.ones(2, 2)})
    return str(tensor.device.type)


def test_every_factory_is_called() -> None:
    assert FACTORIES.keys() == torch_api.FACTORIES - NOT_CALLED
    assert NEW.keys() == torch_api.NEW_METHODS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FACTORIES))
def test_a_factory_makes_a_tensor_where_it_is_told(name: str) -> None:
    call = f"torch.{name}({FACTORIES[name]}"
    assert made(f"{call})") == "cpu"
    if name not in TAKE_NO_DEVICE:
        assert made(f"{call}, device='cuda')") == "cuda"
    with torch.device("cuda"):
        by_default = "cpu" if name in torch_api.CPU_FACTORIES else "cuda"
        assert made(f"{call})") == by_default


@pytest.mark.parametrize("name", sorted(torch_api.LIKE_FACTORIES))
def test_a_factory_of_likes_follows_its_tensor(name: str) -> None:
    rest = {"full_like": ", 0.5", "randint_like": ", 3"}.get(name, "")
    assert made(f"torch.{name}(x{rest})") == "cuda"
    assert made(f"torch.{name}(x{rest}, device='cpu')") == "cpu"
    with torch.device("cuda"):
        assert made(f"torch.{name}(torch.ones(2, 2, device='cpu'){rest})") == "cpu"


@pytest.mark.parametrize("name", sorted(NEW))
def test_a_new_method_follows_its_tensor(name: str) -> None:
    assert made(f"x.{name}({NEW[name]})") == "cuda"
    with torch.device("cuda"):
        assert made(f"torch.ones(2, device='cpu').{name}({NEW[name]})") == "cpu"


@pytest.mark.parametrize("name", sorted(torch_api.LEGACY_CONSTRUCTORS))
def test_a_legacy_constructor_makes_a_tensor_on_the_cpu(name: str) -> None:
    assert made(f"torch.{name}(2)") == "cpu"
    with torch.device("cuda"):
        assert made(f"torch.{name}(2)") == "cpu"
    if name != "Tensor":
        assert made(f"torch.cuda.{name}(2)") == "cuda"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(torch_api.DATA_FACTORIES))
def test_data_that_is_a_tensor_keeps_its_device(name: str) -> None:
    assert made(f"torch.{name}(x)") == "cuda"
    assert made(f"torch.{name}([x.sum(), x.sum()])") == "cpu"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(torch_api.SPARSE_FACTORIES))
def test_sparse_tensors_are_where_their_values_are(name: str) -> None:
    arguments = eval(f"[{FACTORIES[name].partition(', layout')[0]}]")
    rest = ", layout=torch.sparse_csr" if "layout" in FACTORIES[name] else ""
    place = torch_api.SPARSE_FACTORIES[name].index("values")
    written = [f"torch.tensor({each}{', device=x.device' if at == place else ''})" for at, each in enumerate(arguments)]
    there = [f"torch.tensor({each}, device=x.device)" for each in arguments]
    assert made(f"torch.{name}({', '.join(there)}{rest})") == "cuda"
    with pytest.raises(RuntimeError, match="device"):
        made(f"torch.{name}({', '.join(written)}{rest})")


@pytest.mark.parametrize("name", sorted(torch_api.NAMESPACED_FACTORIES))
def test_factories_of_other_namespaces_follow_the_default_device(name: str) -> None:
    head, _, tail = name.rpartition(".")
    space: Any = torch.nn.Transformer if head.endswith("Transformer") else importlib.import_module(head)
    arguments: tuple[Any, ...] = (4,)
    options: dict[str, Any] = {"general_cosine": {"a": [0.5, 0.5]}, "general_hamming": {}}.get(tail, {})
    function = getattr(space, tail)
    assert function(*arguments, **options).device.type == "cpu"
    assert function(*arguments, device="cuda", **options).device == ACCELERATOR
    with torch.device("cuda"):
        assert function(*arguments, **options).device == ACCELERATOR


def test_methods_that_move() -> None:
    assert made("cpu.cuda()") == made("cpu.to('cuda')") == made("cpu.type(torch.cuda.FloatTensor)") == "cuda"
    assert made("x.cpu()") == made("x.to('cpu')") == made("x.type(torch.FloatTensor)") == "cpu"
    assert [name for name in torch_api.DTYPE_METHODS if made(f"x.{name}()") != "cuda"] == []
    attributes = torch_api.TENSOR_ATTRIBUTES - {"grad", "imag"}  # there is no gradient, and `x` is real
    assert [name for name in sorted(attributes) if made(f"x.{name}") != "cuda"] == []


@pytest.mark.parametrize(
    ("text", "works"),
    [
        ("x[torch.tensor([0])]", True),
        ("x[cpu > 0]", True),
        ("cpu[x > 0]", False),
        ("cpu[x.long()]", False),
        ("cpu[x.argmax()]", True),
        ("x.index_select(0, torch.tensor([0]))", False),
        ("x.index_put((torch.tensor([0]),), torch.tensor(0.5))", True),
        ("x.masked_fill(cpu > 0, 0.5)", False),
    ],
)
def test_indices(text: str, works: bool) -> None:
    x, cpu = torch.ones(1, 1, device="cuda") - 1, torch.ones(1, 1)
    known = {"torch": torch, "x": x, "cpu": cpu}
    if works:
        assert eval(text, known).device == (ACCELERATOR if text.startswith("x") else torch.device("cpu"))
    else:
        with pytest.raises(RuntimeError, match="device"):
            eval(text, known)
