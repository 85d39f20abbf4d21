"""Genuine errors of the installed torch, and of Python: one of the changes that they suggest makes the call run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch raises the errors")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from torchdevlint.runtime.execute.changes import Change, changed  # noqa: E402
from torchdevlint.runtime.execute.repair import repairs  # noqa: E402
from torchdevlint.runtime.execute.values import Description, Setting, build, tensor, value  # noqa: E402

CPU = torch.device("cpu")
HERE = Setting(CPU, CPU, CPU)
IMAGE, MATRIX, LONG = tensor(8, 8, 8, 8), tensor(8, 8), tensor(8, dtype="int64")
Program = Callable[..., Any]
MOST = 6
"""A suggestion that comes later is tried too late."""


def outcome(program: Program, values: dict[str, Description]) -> Exception | None:
    torch.manual_seed(0)
    try:
        program(**{key: build(one, HERE) for key, one in values.items()})
    except Exception as error:  # noqa: BLE001 (whatever torch raises)
        return error
    return None


def unpack(x: Any) -> Any:
    b, n, d = x.shape
    return b + n + d


def lengths(x: Any) -> Any:
    return [0] * x


def joined(x: Any) -> Any:
    return [torch.ones(1)] + x  # noqa: RUF005 (it is the message of this form)


def area(size: Any) -> Any:
    height, width = size
    return torch.zeros(height, width)


def filled(x: Any) -> Any:
    made = torch.zeros(3)
    made[0] = x
    return made


def gradient(x: Any) -> Any:
    return x.sum().backward()


def decided(x: Any) -> Any:
    return 1 if x > 0 else 2


BROKEN: dict[str, tuple[Program, dict[str, Description]]] = {
    "a linear layer": (nn.Linear(5, 3), {"input": MATRIX}),
    "a linear layer on a vector": (nn.Linear(5, 3), {"input": tensor(8)}),
    "a linear layer gets integers": (nn.Linear(8, 3), {"input": tensor(8, 8, dtype="int64")}),
    "a product of two matrices": (lambda x, y: x @ y, {"x": tensor(8, 8), "y": tensor(5, 3)}),
    "channels of a convolution": (nn.Conv2d(3, 4, 3), {"input": IMAGE}),
    "the rank of a 2-d convolution": (nn.Conv2d(8, 4, 3), {"input": MATRIX}),
    "the rank of a 1-d convolution": (nn.Conv1d(8, 4, 3), {"input": IMAGE}),
    "the rank of a 3-d convolution": (nn.Conv3d(8, 4, 3), {"input": MATRIX}),
    "a kernel that is larger than the image": (nn.Conv2d(8, 4, 16), {"input": IMAGE}),
    "a transposed convolution": (nn.ConvTranspose2d(3, 4, 3), {"input": IMAGE}),
    "pooling": (nn.MaxPool2d(2), {"input": MATRIX}),
    "pooling below one pixel": (nn.MaxPool2d(16), {"input": IMAGE}),
    "an embedding of floats": (nn.Embedding(32, 8), {"input": MATRIX}),
    "indices that are floats": (lambda x, i: x[i], {"x": MATRIX, "i": tensor(8)}),
    "gather with floats": (lambda x, i: x.gather(0, i), {"x": MATRIX, "i": MATRIX}),
    "index_select with floats": (lambda x, i: x.index_select(0, i), {"x": MATRIX, "i": tensor(8)}),
    "one_hot of floats": (F.one_hot, {"input": tensor(8)}),
    "an LSTM of another input size": (nn.LSTM(5, 8), {"input": MATRIX}),
    "an LSTM gets an image": (nn.LSTM(8, 8), {"input": IMAGE}),
    "a GRU of another input size": (nn.GRU(5, 8), {"input": tensor(8, 8, 8)}),
    "a cell of another input size": (nn.GRUCell(5, 8), {"input": MATRIX}),
    "too few values to unpack": (unpack, {"x": MATRIX}),
    "too many values to unpack": (unpack, {"x": IMAGE}),
    "batch norm of images": (nn.BatchNorm2d(8), {"input": MATRIX}),
    "batch norm of vectors": (nn.BatchNorm1d(8), {"input": IMAGE}),
    "batch norm of other channels": (nn.BatchNorm2d(3), {"input": IMAGE}),
    "group norm of other channels": (nn.GroupNorm(2, 6), {"input": IMAGE}),
    "layer norm of another width": (nn.LayerNorm(5), {"input": MATRIX}),
    "layer norm of two dimensions": (nn.LayerNorm([5, 8]), {"input": tensor(8, 5, 3)}),
    "cross entropy of floats": (nn.CrossEntropyLoss(), {"input": MATRIX, "target": tensor(8)}),
    "cross entropy of a matrix of integers": (
        nn.CrossEntropyLoss(),
        {"input": MATRIX, "target": tensor(8, 8, dtype="int64")},
    ),
    "nll loss of floats": (nn.NLLLoss(), {"input": MATRIX, "target": tensor(8)}),
    "binary cross entropy of integers": (
        nn.BCEWithLogitsLoss(),
        {"input": MATRIX, "target": tensor(8, 8, dtype="int64")},
    ),
    "binary cross entropy of other sizes": (nn.BCELoss(), {"input": MATRIX, "target": tensor(8)}),
    "two sizes that do not meet": (lambda x, y: x + y, {"x": tensor(8, 8), "y": tensor(8, 3)}),
    "two sizes that do not meet in front": (lambda x, y: x + y, {"x": tensor(3, 8), "y": tensor(8, 8)}),
    "concatenated ranks": (lambda x, y: torch.cat([x, y]), {"x": MATRIX, "y": tensor(8, 8, 8)}),
    "a batch of products": (torch.bmm, {"input": MATRIX, "mat2": tensor(8, 8, 8)}),
    "a product of matrices only": (torch.mm, {"input": tensor(8, 8, 8), "mat2": MATRIX}),
    "a transposed vector": (lambda x: x.transpose(1, 2), {"x": MATRIX}),
    "an index too many": (lambda x: x[:, :, 0], {"x": MATRIX}),
    "a mask of floats": (lambda x, m: x.masked_fill(m, 0), {"x": MATRIX, "m": MATRIX}),
    "where of floats": (lambda x, m: torch.where(m, x, x), {"x": MATRIX, "m": MATRIX}),
    "the inverse of what is no bool": (lambda x: ~x, {"x": MATRIX}),
    "the mean of integers": (lambda x: x.mean(), {"x": LONG}),
    "the softmax of integers": (lambda x: x.softmax(0), {"x": LONG}),
    "a gradient of integers": (lambda x: x.requires_grad_(), {"x": LONG}),
    "a size that is a tensor": (torch.zeros, {"size": MATRIX}),
    "one size of several that is a tensor": (lambda n: torch.zeros(2, n), {"n": MATRIX}),
    "a range of a tensor": (lambda x: list(range(x)), {"x": MATRIX}),
    "a list times a tensor": (lengths, {"x": {"is": "list", "of": [MATRIX]}}),
    "one number of many": (lambda x: x.item(), {"x": MATRIX}),
    "a decision about many numbers": (decided, {"x": MATRIX}),
    "the float of many numbers": (lambda x: float(x + 1), {"x": MATRIX}),
    "a loop over a number": (lambda x: [each + 1 for each in x], {"x": value(8)}),
    "a list and a tensor": (joined, {"x": MATRIX}),
    "torch.cat of a number": (torch.cat, {"tensors": value(3)}),
    "a tensor that is called": (lambda x: x(torch.ones(8, 8)), {"x": MATRIX}),
    "a number that is called": (lambda x: x(torch.ones(8, 8)), {"x": value(3)}),
    "the shape of a number": (lambda x: x.shape, {"x": value(8)}),
    "the device of a list": (lambda x: x.device, {"x": {"is": "list", "of": [MATRIX]}}),
    "the view of nothing": (lambda x: x.view(-1), {"x": value(None)}),
    "an attribute of a tensor": (lambda x: x.hidden_size + x.width, {"x": MATRIX}),
    "a gradient that is not there": (gradient, {"x": MATRIX}),
    "a missing key": (lambda x: x["mask"], {"x": {"is": "dict", "of": {"input": MATRIX}}}),
    "another missing key": (lambda x: x["input"] + x["bias"], {"x": {"is": "dict", "of": {"input": MATRIX}}}),
    "a batch inside of a loader": (
        lambda x: [nn.Linear(5, 3)(image) for image, _ in x],
        {"x": {"is": "loader", "of": [MATRIX, LONG]}},
    ),
    "a field of an instance": (
        lambda x: nn.Embedding(32, 8)(x.left),
        {"x": {"is": "instance", "of": f"{__name__}:Pair", "with": {"left": MATRIX}}},
    ),
    "attention of another width": (
        lambda q, k: nn.MultiheadAttention(8, 2)(q, k, k),
        {"q": tensor(8, 8), "k": tensor(8, 8, 8)},
    ),
    "a packed sequence of a vector": (
        nn.utils.rnn.pack_padded_sequence,
        {"input": tensor(8), "lengths": {"is": "list", "of": [value(8)] * 8}},
    ),
    "the inverse of a vector": (torch.linalg.inv, {"A": tensor(8)}),
    "a view of another size": (lambda x: x.view(8, 64), {"x": MATRIX}),
    "bincount of floats": (torch.bincount, {"input": tensor(8)}),
    "two names for a number": (area, {"size": value(8)}),
    "two names for three numbers": (area, {"size": {"is": "tuple", "of": [value(8)] * 3}}),
    "a number that is indexed": (lambda n: torch.zeros(n[0], n[1]), {"n": value(8)}),
    "the length of a number": (lambda n: torch.zeros(len(n), n[0]), {"n": value(8)}),
    "a list that is too short": (lambda x: x[2], {"x": {"is": "list", "of": [MATRIX, MATRIX]}}),
    "an element that is no number": (filled, {"x": MATRIX}),
    "a shift of floats": (lambda x: x << 1, {"x": MATRIX}),
    "a hidden state of a batch": (lambda x: nn.GRU(8, 8)(x, torch.zeros(1, 8, 8)), {"x": MATRIX}),
    "a hidden state without a batch": (lambda x: nn.RNN(8, 8)(x, torch.zeros(1, 8)), {"x": tensor(8, 8, 8)}),
    "two states of a batch": (
        lambda x: nn.LSTM(8, 8)(x, (torch.zeros(1, 8, 8), torch.zeros(1, 8, 8))), {"x": MATRIX},
    ),
    "a text and a tensor": (lambda name: "the " + name, {"name": MATRIX}),
}
GAPS = frozenset(
    {
        "pooling",
        "gather with floats",
        "cross entropy of floats",
        "nll loss of floats",
        "binary cross entropy of integers",
        "binary cross entropy of other sizes",
        "the inverse of what is no bool",
        "a list times a tensor",
        "a size that is a tensor",
        "one number of many",
        "attention of another width",
    }
)
"""Their messages suggest nothing that helps today."""


class Pair:
    def __init__(self, left: Any) -> None:
        self.left = left


@pytest.mark.parametrize("name", BROKEN)
def test_one_suggested_change_is_enough(name: str) -> None:
    program, values = BROKEN[name]
    before = copy.deepcopy(values)
    error = outcome(program, values)
    assert error is not None, "the program runs as it is, and shows nothing"
    suggested = list(repairs(error, values))
    fixing = [
        place for place, (path, one) in enumerate(suggested) if outcome(program, changed(values, path, one)) is None
    ]
    if name in GAPS:
        assert not fixing, "a gap is closed, take it out"
        return
    assert fixing, f"{type(error).__name__}: {error}: {suggested}"
    assert fixing[0] < MOST, f"{error}: {suggested[: fixing[0]]}"
    assert values == before, "what is there is not changed"


def test_a_text_that_says_nothing_suggests_nothing() -> None:
    assert list(repairs(ValueError("it went wrong somehow"), {"x": MATRIX})) == []
    assert list(repairs(AssertionError(), {"x": MATRIX})) == []


def test_a_value_that_is_right_is_not_suggested_again() -> None:
    error = outcome(nn.Linear(5, 3), {"input": MATRIX})
    assert error is not None
    right: dict[str, Description] = {"input": tensor(8, 5), "flag": value(True)}
    assert list(repairs(error, right)) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("x",), {"x": LONG, "y": MATRIX}),
        (("y",), {"x": {"is": "list", "of": [{"is": "dict", "of": {"k": MATRIX}}]}, "y": LONG}),
        (("x", "of", 0), {"x": {"is": "list", "of": [LONG]}, "y": MATRIX}),
        (("x", "of", 0, "of", "k"), {"x": {"is": "list", "of": [{"is": "dict", "of": {"k": LONG}}]}, "y": MATRIX}),
    ],
)
def test_a_change_is_of_one_place(path: tuple[Any, ...], expected: dict[str, Description]) -> None:
    values: dict[str, Description] = {"x": {"is": "list", "of": [{"is": "dict", "of": {"k": MATRIX}}]}, "y": MATRIX}
    before = copy.deepcopy(values)
    assert changed(values, path, LONG) == expected
    assert values == before


def test_every_change_leads_to_what_can_be_built() -> None:
    """Whatever a message says, of whatever values."""
    values: dict[str, Description] = {
        "a": MATRIX, "b": LONG, "c": value(3), "d": {"is": "namespace"}, "e": {"is": "function"},
        "f": {"is": "list", "of": [MATRIX, value(None)]}, "g": {"is": "dict", "of": {"k": tensor()}},
        "h": {"is": "loader", "of": [IMAGE, LONG]}, "i": {"is": "module", "make": "nn.Linear(8, 8)"},
    }  # fmt: skip
    errors = {str(error): error for program, broken in BROKEN.values() if (error := outcome(program, broken))}
    assert len(errors) > 40
    seen: list[Change] = []
    for error in errors.values():
        for path, description in repairs(error, values):
            build(changed(values, path, description)[path[0]], HERE)
            seen.append((path, description))
    assert len(seen) > 300


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("Shape dimension mismatch: expected 4 dimensions, got 2.", [8, 8, 8, 8]),
        ("Shape mismatch at dimension 1: expected 2, got 8. Expected shape: ['*', '2']", [8, 2]),
        ("Invalid img2 shape, we expect BxCxHxW. Got: torch.Size([8, 8])", [8, 8, 8, 8]),
        ("points must have shape (N, 2)", [8, 2]),
        ("expected a tensor of shape [B, 3, H, W], not [8, 8]", [8, 3, 8, 8]),
        ("Input tensor shape: torch.Size([8, 8]). Wrong shape: expected 3 dims. Received 2-dim tensor.", [8, 8, 8]),
    ],
)
def test_what_libraries_say_of_shapes(text: str, shape: list[int]) -> None:
    path, first = next(iter(repairs(ValueError(text), {"x": MATRIX})))
    assert (path, first["shape"]) == (("x",), shape)


def test_what_is_unpacked_into_fewer_is_shorter_or_a_tuple() -> None:
    found = [one for _, one in repairs(ValueError("too many values to unpack (expected 4)"), {"x": MATRIX})]
    assert tensor(4, 8) in found[:MOST]
    assert {"is": "tuple", "of": [MATRIX] * 4} in found[:MOST]


KINDS = {"x": MATRIX, "**more": {"is": "default"}, "*rest": {"is": "default"}, "config": {"is": "namespace"}}


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("'Tensor' object has no attribute 'lower'", "x", value("x")),
        ("'Tensor' object has no attribute 'keys'", "x", {"is": "dict", "of": {}}),
        ("'Tensor' object has no attribute 'append'", "x", {"is": "list", "of": [MATRIX, MATRIX]}),
        ("'Tensor' object has no attribute 'astype'", "x", {"is": "numpy", "shape": [8, 8]}),
        ("torch.FloatTensor is not a Module subclass", "x", {"is": "module", "make": "nn.Linear(8, 8)"}),
        ("'types.SimpleNamespace' object has no attribute 'width'", "config", {"is": "namespace", "asked": ["width"]}),
        (
            "Base.__init__() missing 2 required positional arguments: 'num_classes' and 'weights'",
            "**more",
            {"is": "dict", "of": {"num_classes": value(8), "weights": MATRIX}},
        ),
        ("f() missing 1 required positional argument: 'size'", "*rest", {"is": "tuple", "of": [value(8)]}),
    ],
)
def test_other_kinds_of_values(text: str, path: str, expected: Description) -> None:
    suggested = [(key, one) for key, one in repairs(TypeError(text), KINDS) if key == (path,)]
    assert suggested[0] == ((path,), expected)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("mode must be one of ['mean', 'sum'], not 'how'", {"mode": value("how")}, ["mean", "sum"]),
        ('unknown `how`, choose from "mean", "sum"', {"mode": value("how")}, ["mean", "sum"]),
        ("expected one of 'mean', 'sum'", {"mode": MATRIX}, ["mean", "sum"]),
        ("mode must be one of ['mean', 'sum']", {"mode": value("sum")}, ["mean"]),
        ("'Tensor' object has no member 'mean'", {"mode": MATRIX}, []),
        ("it isn't one, and can't be", {"mode": value("how")}, []),
        ("mode must be one of ['mean', 'sum']", {"mode": value(3)}, []),
    ],
)
def test_words_that_an_exception_lists(text: str, values: dict[str, Description], expected: list[str]) -> None:
    assert [one["value"] for _, one in repairs(ValueError(text), values) if one["is"] == "value"] == expected
