"""The inference against torch itself, on small calls of everything that the tables list.

What is made on the CPU in `forward` clashes with the input unless it is 0-dim. So an expression of which torch
gives a 0-dim tensor must never be reported, and one of which it gives more dimensions should be.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.conftest import each_part
from torchdevlint.flow.knowledge import torch_api

from .snippets import HEAD, mixed_rows

torch = pytest.importorskip("torch", reason="calls the functions that the tables list")

VECTOR, MATRIX, NUMBERS = "torch.ones(3)", "torch.ones(3, 3)", "torch.ones(3).long()"
RESTS = (
    "", "0", "1", "0, 1", "0, keepdim=True", "0, keepdim=False", "dim=0", "dim=-1", "(0,)", "()", "False", "0.5",
    VECTOR, MATRIX, f"{VECTOR}, {VECTOR}", f"{MATRIX}, {MATRIX}", f"0, {NUMBERS}", f"0, {NUMBERS}, {VECTOR}",
    "torch.tensor(1.)", f"{VECTOR} > 0", f"{VECTOR} > 0, {VECTOR}",
)  # fmt: skip
SPACES = {
    "torch": torch_api.TORCH_TENSOR | torch_api.TORCH_TUPLE | torch_api.TORCH_LIST,
    "F": torch_api.FUNCTIONAL_TENSOR | torch_api.FUNCTIONAL_TUPLE,
    "torch.linalg": torch_api.LINALG_TENSOR | torch_api.LINALG_TUPLE,
}
NOT_CALLED = {"set_"}
"""Takes the storage of another tensor, whatever its size."""
METHODS = torch_api.METHOD_TENSOR | torch_api.METHOD_TUPLE | torch_api.METHOD_LIST
KNOWN = {"torch": torch, "F": torch.nn.functional}

FORMS = """
torch.zeros(2, 3)
torch.zeros((2, 3))
torch.zeros([2])
torch.zeros(())
torch.zeros([])
torch.zeros(1)
torch.zeros(size=(2, 3))
torch.zeros(size=())
torch.ones(1).sum()
torch.empty(2)
torch.rand(2, 2)
torch.randn(3)
torch.arange(3)
torch.range(0, 2)
torch.linspace(0, 1, 2)
torch.logspace(0, 1, 2)
torch.randperm(3)
torch.bartlett_window(3)
torch.blackman_window(3)
torch.hamming_window(3)
torch.hann_window(3)
torch.kaiser_window(3)
torch.eye(2)
torch.tril_indices(2, 2)
torch.triu_indices(2, 2)
torch.full((2,), 1.)
torch.full((), 1.)
torch.full(size=(), fill_value=1.)
torch.full(size=(2,), fill_value=1.)
torch.empty_strided((2,), (1,))
torch.empty_strided((), ())
torch.empty_permuted((2,), (0,))
torch.randint(3, (2,))
torch.randint(0, 3, (2,))
torch.randint(0, 3, ())
torch.randint(0, 3, size=())
torch.randint(high=3, size=(2,))
torch.normal(0., 1., (2,))
torch.normal(0., 1., ())
torch.normal(0., 1., size=(2, 2))
torch.tensor(1.)
torch.tensor([1.])
torch.tensor([[1.]])
torch.tensor(data=1.)
torch.as_tensor(1.)
torch.as_tensor([1.])
torch.asarray(1.)
torch.scalar_tensor(1.)
torch.Tensor(2)
torch.Tensor([1.])
torch.FloatTensor(2, 3)
torch.LongTensor([1])
torch.zeros_like(torch.ones(2))
torch.zeros_like(torch.tensor(1.))
torch.ones(2).new_zeros(2)
torch.ones(3)[0]
torch.ones(3)[:1]
torch.ones(3, 3)[0]
torch.ones(3, 3)[0, 0]
torch.ones(3, 3)[:, 0]
torch.ones(3, 3)[..., 0]
torch.ones(3, 3)[None]
torch.ones(3)[None, 0]
torch.ones(3)[-1]
torch.ones(3)[[0, 1]]
torch.ones(3)[torch.tensor([0])]
torch.ones(3) @ torch.ones(3)
torch.ones(3, 3) @ torch.ones(3)
torch.ones(3) @ torch.ones(3, 3)
torch.ones(3, 3) @ torch.ones(3, 3)
torch.ones(3) + torch.tensor(1.)
torch.tensor(1.) + torch.tensor(1.)
torch.tensor(1.) * 2
-torch.tensor(1.)
-torch.ones(2)
2 ** torch.ones(2)
torch.ones(2) > 0
torch.ones(3).reshape(3, 1)
torch.ones(1).reshape(())
torch.ones(1).reshape([])
torch.ones(1).view(())
torch.ones(1).view(-1)
torch.ones(1).squeeze()
torch.ones(3).norm()
torch.ones(3, 3).norm(2)
torch.ones(3, 3).norm(2, 1)
torch.ones(3, 3).norm(p=2, dim=1)
torch.ones(3, 3).std(False)
torch.ones(3, 3).std(unbiased=False)
torch.ones(3, 3).sum(0)
torch.ones(3).sum(0)
torch.ones(3).sum(axis=0)
torch.ones(3, 3).sum(0).sum(0)
torch.ones(3, 3).sum((0, 1))
torch.ones(3, 3).max(1)[0]
torch.ones(3, 3).max(1).values
torch.ones(3).max(0)[0]
torch.ones(3).max(0).values
torch.ones(3, 3).max()
torch.ones(3).mode()[0]
torch.ones(3, 3).mode(1)[0]
torch.ones(3).topk(1)[0]
torch.ones(3).unbind()[0]
torch.ones(3, 3).unbind(0)[0]
torch.stack([torch.tensor(1.), torch.tensor(1.)])
torch.stack([torch.tensor(1.), torch.tensor(1.)]).sum()
torch.cat([torch.ones(1), torch.ones(1)])
torch.cat(tensors=[torch.ones(1), torch.ones(1)])
torch.einsum("i,i->", torch.ones(3), torch.ones(3))
torch.signal.windows.hann(3)
torch.fft.fftfreq(3)
torch.nn.Transformer.generate_square_subsequent_mask(3)
""".strip().splitlines()
"""Ways to write a tensor, each of which is an expression of its own."""


def forms_of(space: str, name: str) -> list[list[str]]:
    """Calls of an operation of a namespace, or of a method: with numbers only where nothing else might do."""
    groups = []
    for first in ((VECTOR, MATRIX), (NUMBERS,)):
        if space:
            groups.append(
                [f"{space}.{name}({', '.join(filter(None, (each, rest)))})" for each in first for rest in RESTS]
            )
        else:
            groups.append([f"{each}.{name}({rest})" for each in first for rest in RESTS])
    return groups


def evaluate(expression: str) -> Any:
    """What torch gives, or None where it refuses the arguments."""
    try:
        return eval(expression, dict(KNOWN))
    except Exception:  # noqa: BLE001 - any refusal will do
        return None


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without warnings, and on one thread: the tensors are small, and there are many."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)


def tensors(expression: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The expression of each tensor that a call gave, with the tensor."""
    if isinstance(value, torch.Tensor):
        yield expression, value
    elif isinstance(value, (tuple, list)):
        for place, each in enumerate(value[:2]):
            if isinstance(each, torch.Tensor):
                yield f"{expression}[{place}]", each


PARTS = 3
of_each_part = each_part(PARTS, "behaviour")


def operations() -> list[tuple[str, str]]:
    """Each with its namespace; that of methods is empty."""
    named = [(space, name) for space, names in SPACES.items() for name in sorted(names - torch_api.FACTORIES)]
    return [*named, *(("", name) for name in sorted(METHODS - set(torch_api.DEVICE_METHODS) - NOT_CALLED))]


@cache
def results_of(space: str, name: str) -> tuple[tuple[str, str, int], ...]:
    """Each expression of a tensor that torch could make, with the operation and the number of dimensions."""
    with quietly():
        for group in forms_of(space, name):
            made = [(each, value) for form in group for each, value in tensors(form, evaluate(form))]
            if made:
                return tuple((expression, name, tensor.ndim) for expression, tensor in made)
    return ()


def results(part: int) -> list[tuple[str, str, int]]:
    """Those of one of the `PARTS` of all operations; functions and methods of a name are of the same part."""
    names = sorted({name for _, name in operations()})[part::PARTS]
    return [each for space, name in operations() if name in names for each in results_of(space, name)]


def reported(expressions: list[str]) -> set[str]:
    """Those expressions that are reported where they meet the input of `forward`."""
    head = [*HEAD.splitlines(), "class Net(nn.Module):", "    def forward(self, x: torch.Tensor):"]
    rows = mixed_rows("\n".join([*head, *(f"        x + ({each})" for each in expressions)]))
    return {expressions[row - len(head) - 1] for row in rows}


UNKNOWN_FORMS = frozenset(
    [
        "torch.ones(3)[[0, 1]]",  # what is in a list may be a mask of 0-dim
        "torch.ones(3, 3).mode(1)[0]",  # reduces, but is not among the reductions
    ]
)


@pytest.mark.parametrize("expression", FORMS)
def test_the_number_of_dimensions_of_what_is_written(expression: str) -> None:
    known_as_one = bool(reported([expression]))
    with quietly():
        value = evaluate(expression)
    assert isinstance(value, torch.Tensor)
    if value.ndim == 0:
        assert not known_as_one
    else:
        assert known_as_one or expression in UNKNOWN_FORMS


@of_each_part
def test_0_dim_results_do_not_clash(part: int) -> None:
    expressions = [expression for expression, _, ndim in results(part) if ndim == 0]
    assert len(expressions) > 500 // PARTS
    assert sorted(reported(expressions)) == []


@of_each_part
def test_results_with_dimensions_do(part: int) -> None:
    """Of most operations; what may be 0-dim is only known where the arguments say so."""
    found = reported([expression for expression, _, ndim in results(part) if ndim])
    names = {name for _, name, ndim in results(part) if ndim}
    silent = names - {name for expression, name, _ in results(part) if expression in found}
    assert len(names) > 300 // PARTS
    one_or_several = {"unique_consecutive"}
    assert silent <= torch_api.MAYBE_SCALAR | torch_api.CROSSING | one_or_several, sorted(silent)


@of_each_part
def test_results_are_where_the_operands_are(part: int) -> None:
    """On the meta device, which runs every operation for its shape: no listed one ends up anywhere else."""
    with quietly():
        elsewhere = {
            name
            for expression, name, _ in results(part)
            if name not in torch_api.CROSSING
            for _, tensor in tensors(expression, evaluate(on_meta(expression)))
            if tensor.device.type != "meta"
        }
    assert elsewhere == set()


def on_meta(expression: str) -> str:
    return re.sub(r"torch\.(ones|tensor)\(([^()]*)\)", r"torch.\1(\2, device='meta')", expression)


@pytest.mark.parametrize("name", sorted(torch_api.REDUCTIONS))
def test_reductions_leave_no_dimension_or_one_less(name: str) -> None:
    x = torch.ones(2, 3)
    if name != "logsumexp":
        assert getattr(x, name)().ndim == 0
    reduced = getattr(x, name)(dim=1)
    for each in reduced if isinstance(reduced, tuple) else [reduced]:
        assert each.ndim == 1
    assert isinstance(reduced, tuple) is (name in torch_api.PAIR_WITH_DIM)


@pytest.mark.parametrize("name", sorted(torch_api.MAYBE_SCALAR & METHODS))
def test_what_may_be_0_dim_is_somewhere(name: str) -> None:
    if name in RARELY_0_DIM:
        assert evaluate(RARELY_0_DIM[name]).ndim == 0
    else:
        found = [each for space, named in operations() if named == name for each in results_of(space, named)]
        assert any(ndim == 0 for _, _, ndim in found)


RARELY_0_DIM = {"squeeze": "torch.ones(1).squeeze()", "take": "torch.ones(3).take(torch.tensor(0))"}
