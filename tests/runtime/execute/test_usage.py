"""What a body says of the names that it reads."""

from __future__ import annotations

import ast
import textwrap

import pytest

from torchdevlint.runtime.execute.usage import Usage, usages


def usage(body: str, name: str = "x") -> Usage:
    return usages(ast.parse(textwrap.dedent(body)).body).get(name, Usage())


def loops(body: str, name: str = "x") -> list[str]:
    return [ast.unparse(each) for each in usage(body, name).elements]


@pytest.mark.parametrize(
    ("body", "rank", "at_least"),
    [
        ("b, c, h, w = x.shape", 4, 0),
        ("n, d = x.size()", 2, 0),
        ("(n,) = x.shape", 1, 0),
        ("b, *rest = x.shape", 0, 1),
        ("b, *rest, w = x.size()", 0, 2),
        ("n = x.size(0)", 0, 1),
        ("n, m = x.size(0), x.size(2)", 0, 3),
        ("n = x.size(-2)", 0, 2),
        ("n = x.shape[1]", 0, 2),
        ("n = x.shape[-1]", 0, 1),
        ("y = x.transpose(1, 2)", 0, 3),
        ("y = x.permute(0, 2, 1)", 3, 0),
        ("y = x[:, 0, None]", 0, 2),
        ("y = x[:, :, 0]", 0, 3),
        ("y = torch.bmm(x, w)", 3, 0),
        ("y = F.conv2d(x, w)", 4, 0),
        ("y = F.interpolate(x, 3)", 4, 0),
        ("y = torch.nn.functional.conv1d(w, x)", 0, 0),
        ("a, b = x.size(0)", 0, 1),
        ("a, b = x", 0, 0),
        ("y = x", 0, 0),
    ],
)
def test_ranks(body: str, rank: int, at_least: int) -> None:
    found = usage(body)
    assert (found.rank, found.at_least) == (rank, at_least)


@pytest.mark.parametrize("body", ["b, c = x.shape", "torch.exp(x)", "F.relu(x)", "x.unsqueeze(0)", "y = x.device"])
def test_evidence_for_a_tensor(body: str) -> None:
    assert usage(body).tensor


@pytest.mark.parametrize(
    "body", ["x", "f(x)", "torch.where(mask, x)", "x()", "x[0]", "x.size_hint", "torch.zeros(x)", "for y in x: pass"]
)
def test_no_evidence_for_a_tensor(body: str) -> None:
    assert not usage(body).tensor


@pytest.mark.parametrize(
    ("body", "flag"),
    [
        ("x(1)", "called"),
        ("torch.zeros(2, x)", "sized"),
        ("for i in range(x): pass", "sized"),
        ("y.to(x)", "device"),
        ("y.cuda(x)", "device"),
        ("torch.zeros(3, device=x)", "device"),
        ("torch.exp(x)", "torch_argument"),
    ],
)
def test_what_each_use_says(body: str, flag: str) -> None:
    assert getattr(usage(body), flag) is True
    assert getattr(usage("x"), flag) is False


def test_a_path_is_known_under_its_own_name() -> None:
    found = usages(ast.parse("y = torch.zeros(self.config.width) * self.scale.unsqueeze(0)").body)
    assert found["self.scale"].tensor
    assert found["self.scale"].attributes == {"unsqueeze"}
    assert found["self.config"].attributes == {"width"}
    assert not found["self.config"].tensor
    assert found["self.config.width"].sized


@pytest.mark.parametrize(
    ("body", "targets"),
    [
        ("for image, label in x: pass", ["(image, label)"]),
        ("for step, (image, label) in enumerate(x): pass", ["(image, label)"]),
        ("for step, batch in enumerate(x): pass", ["batch"]),
        ("for batch in tqdm(x): pass", ["batch"]),
        ("for batch in iter(x): pass", ["batch"]),
        ("y = [a for a, b in x]", ["(a, b)"]),
        ("for batch in x.items(): pass", []),
        ("for a in x: pass\nfor b, c in x: pass", ["a", "(b, c)"]),
    ],
)
def test_the_elements_of_what_is_looped_over(body: str, targets: list[str]) -> None:
    assert loops(body) == targets


def test_the_keys_of_a_batch() -> None:
    body = "for x in loader:\n    y = x['image']\n    z = model(x['label'])\n    w = x[0]\n"
    assert usage(body).keys == ["image", "label"]
    assert loops(body, "loader") == ["x"]


@pytest.mark.parametrize(
    ("body", "constants"),
    [
        ("if x == 'mean': pass", ["mean"]),
        ("if x == 'mean':\n    pass\nelif x == 'sum':\n    pass\n", ["mean", "sum"]),
        ("y = x is None", [None]),
        ("y = x > 3", [3]),
        ("y = 'mean' == x", []),
        ("y = 0 < x < 3", []),
    ],
)
def test_the_constants_that_it_is_compared_with(body: str, constants: list[object]) -> None:
    assert usage(body).compared == constants


@pytest.mark.parametrize(
    ("body", "sized"),
    [
        ("torch.Tensor(x, 3)", True),
        ("torch.FloatTensor(3, x).normal_()", True),
        ("nn.Linear(x, 3)", True),
        ("torch.nn.Conv2d(3, x, 1)", True),
        ("nn.BatchNorm1d(x)", True),
        ("torch.Tensor(x)", False),
        ("nn.Sequential(x)", False),
        ("F.linear(x, w)", False),
    ],
)
def test_what_makes_layers_and_tensors_takes_sizes(body: str, sized: bool) -> None:
    found = usage(body)
    assert found.sized == sized
    assert not (sized and found.tensor)
