"""What a fix names is what the inference looked at: bound there, the same value, there already, and a tensor."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.fix.test_placements import fixed

LAYER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, ids):
"""


def unchanged(body: str, unsafe: bool = True) -> bool:
    return fixed(body, unsafe) == dedent(body).strip("\n") + "\n"


@pytest.mark.parametrize(
    "body",
    [
        """
        model = nn.Linear(3, 3).cuda()


        def predict(x):
            return model(x)
        """,
        """
        def show(x):
            x = x.cpu().numpy()
            return torch.from_numpy(x).cuda()
        """,
        """
        def pair(x, y):
            if x.is_cuda:
                x = x.cpu()
                y = y.cuda()
            return y
        """,
        """
        def f(x, device):
            x = x.to(device)
            device = "cpu"
            return x.relu() if device else torch.zeros(3) + x.relu()
        """,
        """
        def f(index):
            index = torch.tensor(index)
            index = index.cuda()
            return torch.ones(3, device=index.device)[index]
        """,
        """
        def f(x, mask):
            y = torch.ones(3).cuda()
            mask = mask.cuda()
            return y * mask
        """,
        """
        class Model:
            def __init__(self, device):
                self.net = nn.Linear(3, 3).to(device)

            def f(self, y: torch.Tensor):
                y.cuda()
        """,
        """
        def f(x: torch.Tensor):
            y = x.cuda()
            for _ in range(3):
                z = torch.zeros(3)
                print(z, y)
                y = y.cpu()
        """,
    ],
)
def test_no_name_is_written_that_means_another_thing_there(body: str) -> None:
    assert unchanged(body)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("h = self.fc(ids)\nids = ids.cpu()\nmask = torch.ones(3)\nreturn h * mask", "torch.ones(3, device=h.device)"),
        (
            "h = self.fc(ids)\nids = ids.cpu()\nmask = torch.ones(3).cuda()\nreturn h * mask",
            "torch.ones(3).to(h.device)",
        ),
        ("h = self.fc(ids)\ndel ids\nmask = torch.ones(3)\nreturn h * mask", "torch.ones(3, device=h.device)"),
        (
            "h = self.fc(ids)\nwith open('x') as ids:\n    mask = torch.ones(3)\nreturn h * mask",
            "torch.ones(3, device=h.device)",
        ),
        (
            "y = self.fc(ids)\nfor _ in ids:\n    mask = torch.ones(3)\n    print(y * mask)\n    y = y + 1\nreturn y",
            "torch.ones(3, device=ids.device)",
        ),
        ("mask = torch.ones(3)\nh = self.fc(ids)\nreturn h * mask", "torch.ones(3, device=ids.device)"),
    ],
)
def test_of_several_names_one_is_written_that_is_there_already(lines: str, expected: str) -> None:
    body = LAYER + "".join(f"        {line}\n" for line in lines.splitlines())
    assert expected in fixed(body, unsafe=False)


@pytest.mark.parametrize(
    "lines",
    [
        "try:\n    y = x.relu()\nexcept ValueError as x:\n    raise\nreturn torch.zeros(3).mul(2).add(y.sum())",
        "y = x.cuda()\nwhile (torch.zeros(3) + x.cuda()).sum() > 0:\n    y = y.cpu()\n    x = x.cpu()\nreturn y",
        "if x is None:\n    z = torch.zeros(3)\nelse:\n    z = torch.ones(3)\nreturn z + other.cuda()",
    ],
)
def test_what_a_loop_a_handler_or_a_test_may_change_is_not_asked(lines: str) -> None:
    body = "def f(x, other):\n" + "".join(f"    {line}\n" for line in lines.splitlines())
    assert "x.device" not in fixed(body)


@pytest.mark.parametrize(
    "line",
    [
        "p = torch.full((3,), 0.5)\n    return x.relu() * torch.bernoulli(p)",
        "return x.relu() * nn.functional.dropout(torch.ones(3))",
        "return x.relu() * torch.empty(3).uniform_()",
        "p = torch.ones(3)\n    print(torch.multinomial(p, 1))\n    return x.relu() * p",
        "p = torch.ones(3)\n    y = x.relu() * p\n    return y, torch.randn_like(p)",
        "return x.relu() * torch.distributions.Bernoulli(torch.full((3,), 0.5)).sample()",
        "drop = nn.Dropout(0.5)\n    return x.relu() * drop(torch.ones(3))",
    ],
)
def test_what_random_numbers_are_drawn_by_is_not_safely_made_elsewhere(line: str) -> None:
    net = "class Net(nn.Module):\n    def forward(self, x):\n        return f(x)\n"
    body = f"def f(x: torch.Tensor):\n    {line}\n\n\n{net}"
    assert "device=x.device" not in fixed(body, unsafe=False)
    assert "device=x.device" in fixed(body)


@pytest.mark.parametrize(
    "body",
    [
        "def f(x: torch.Tensor):\n    y = x > 0\n    y.type(torch.float32)\n    return x.masked_fill(y, 0.0)\n",
        "def f(x: torch.Tensor, y: torch.Tensor):\n    z = x.relu()\n    z.to(y)\n    return z\n",
        "def f(x: torch.Tensor):\n    y = x.relu()\n    y.cpu()\n    return y + x\n",
        "def f():\n    x = torch.ones(3)\n    x.cuda()\n    return np.mean(x)\n",
        "def f():\n    x, y = torch.zeros(3), torch.ones(3)\n    x.cuda()\n    return x + y\n",
        """
        def f(x: torch.Tensor, y: torch.Tensor):
            for t in (x, y):
                t = t.cuda()
            return x.numpy(), y
        """,
    ],
)
def test_an_assignment_after_which_later_lines_do_something_else_is_not_safe(body: str) -> None:
    assert unchanged(body, unsafe=False)
    assert not unchanged(body)


@pytest.mark.parametrize(
    "body",
    [
        """
        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.p = nn.Parameter(torch.ones(3))
                self.p.to(device)

            def forward(self, x):
                return self.p * x
        """,
        """
        def f(device):
            w = nn.Parameter(torch.ones(3))
            w.to(device)
            return torch.optim.SGD([w], lr=0.1)
        """,
    ],
)
def test_a_parameter_is_not_replaced_by_a_tensor(body: str) -> None:
    assert unchanged(body)


def test_lengths_that_are_a_list_on_some_path_are_not_copied() -> None:
    body = """
    class Net(nn.Module):
        def forward(self, x, given=None):
            lengths = x.ne(0).sum(2).sum(1) if given is None else [1, 2]
            return nn.utils.rnn.pack_padded_sequence(x, lengths)
    """
    assert unchanged(body)
    assert "lengths.cpu()" in fixed(body.replace(" if given is None else [1, 2]", ""), unsafe=False)


HANDED_ON = """
def pairs(root, device=None):
    made = [Resized(root), Flipped(root)]
    return made if device is None else [OnDevice(each, device) for each in made]


def task_sets(root, device=None):
    found = pairs(root)
    first, second = found
    {asked}
    return Tasks(first), Tasks(second)
"""


@pytest.mark.parametrize(("asked", "is_safe"), [("assert isinstance(first, Image)", False), ("print(first)", True)])
def test_a_device_is_not_handed_on_safely_where_the_class_of_the_result_is_asked(asked: str, is_safe: bool) -> None:
    """With a device the data sets are wrapped, and have another class, which nobody has tried."""
    body = HANDED_ON.replace("{asked}", asked)
    assert not unchanged(body)
    assert unchanged(body, unsafe=False) is not is_safe
