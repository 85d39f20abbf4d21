"""What fixes of misplaced tensors write, and where there is none."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchdevlint.config import Settings
from torchdevlint.fix.text import fix_bytes

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"


def fixed(body: str, unsafe: bool = True) -> str:
    """The code after its fixes, of which none fails."""
    code = HEAD + dedent(body).strip("\n") + "\n"
    result = fix_bytes(code.encode(), "case.py", Settings(unsafe_fixes=unsafe))
    assert not result.result.problems
    return result.content.decode().removeprefix(HEAD)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("print(np.mean(y))", "print(np.mean(y.cpu()))"),
        ("print((y + 1).numpy())", "print((y + 1).cpu().numpy())"),
        ("print(np.mean(y+1))", "print(np.mean((y+1).cpu()))"),
        ('print(f"{np.mean(y)} and {y.numpy()}")', 'print(f"{np.mean(y)} and {y.numpy()}")'),
        ("z = torch.ones(3) + y", "z = torch.ones(3, device=y.device) + y"),
        ("z = torch.ones(3, device=None) + y", "z = torch.ones(3, device=y.device) + y"),
        ("z = torch.ones(3, pin_memory=True) + y", "z = torch.ones(3, pin_memory=True).to(y.device) + y"),
    ],
)
def test_an_expression_is_repaired_where_it_stands(line: str, expected: str) -> None:
    assert fixed(f"def f(x):\n    y = x.cuda()\n    {line}\n").splitlines()[-1].strip() == expected


@pytest.mark.parametrize(
    "body",
    [
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 3)])

            def forward(self, flag, count):
                if flag:
                    x = self.layers[0].weight
                start = torch.zeros(3, 3)
                for layer in self.layers:
                    y = layer.weight
                    start = start + y
                return start
        """,
        """
        def f(x: torch.Tensor, bias: torch.Tensor | None = None):
            ones = torch.ones(3)
            if bias is not None:
                return ones + bias
            return x
        """,
        """
        class Schedule:
            def __init__(self):
                self.counts = torch.zeros(5, 2)

            def note(self, x: torch.Tensor, device):
                index = torch.arange(3).to(device)
                self.counts[index] += 1
                return self.counts
        """,
        """
        def f():
            x = torch.arange(3).to("cuda")
            total = torch.zeros(3).to("cpu")
            total += x
            return total
        """,
        """
        def f():
            x = torch.arange(3).to("cuda")
            total = torch.zeros(3).to("cpu")
            return total.add_(x)
        """,
    ],
    ids=["bound in an arm or a loop", "may be None", "an item is written", "a name is written", "written by a method"],
)
def test_there_is_no_fix_where_none_is_surely_right(body: str) -> None:
    code = HEAD + dedent(body)
    result = fix_bytes(code.encode(), "case.py", Settings(unsafe_fixes=True))
    assert result.result.diagnostics
    assert result.content.decode() == code


def test_a_helper_of_sizes_takes_the_device_of_a_layer() -> None:
    body = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.size = 8
            self.fc = nn.Linear(8, 8)

        def start(self, batch):
            return torch.zeros(batch, self.size)

        def forward(self, x):
            return self.fc(x + self.start(x.size(0)))
    """
    assert "torch.zeros(batch, self.size, device=self.fc.weight.device)" in fixed(body)
    assert "torch.zeros(batch, self.size)\n" in fixed(body, unsafe=False)


def test_replicas_have_no_parameters_to_ask() -> None:
    body = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(8, 8)

        def start(self, batch):
            return self.rnn(torch.zeros(1, batch, 8).cuda())


    """
    assert ".to(next(self.rnn.parameters()).device)" in fixed(body)
    assert ".cuda()" in fixed(body + "    net = nn.DataParallel(Net())\n")


@pytest.mark.parametrize(
    "body",
    [
        "x = torch.zeros(3)\n\n\ndef f(device):\n    x.to(device)\n    return x + 1\n",
        "def f(x: torch.Tensor, device):\n    x.to(device)\n",
        "def f(x: torch.Tensor, y: torch.Tensor, device):\n    x.to(device), y.to(device)\n    return x + y\n",
    ],
)
def test_a_move_is_assigned_only_to_a_name_of_its_own_that_is_read_later(body: str) -> None:
    assert fixed(body) == body


def test_a_conversion_is_assigned_by_unsafe_fixes_alone() -> None:
    body = "def f(x: torch.Tensor):\n    x.double()\n    return x + 1\n"
    assert fixed(body, unsafe=False) == body
    assert "    x = x.double()\n" in fixed(body)


def test_a_part_of_a_batch_is_moved_where_it_is_used_or_before_several_uses() -> None:
    body = """
    def train(model, criterion, loader, device):
        model.to(device)
        for images, labels, weights in loader:
            images = images.to(device)
            loss = (criterion(model(images), labels) * weights).sum()
            loss.backward()
            print((labels == 1).sum())
    """
    new = fixed(body)
    assert "        labels = labels.to(device)\n        loss = (criterion(model(images), labels) * weights" in new
    assert fixed(body, unsafe=False) == dedent(body).lstrip()


def test_the_device_is_not_asked_of_what_is_called() -> None:
    body = """
    class Trainer:
        def __init__(self, model, loader, device):
            self.model = model.to(device)
            self.loader = loader

        def predict(self):
            return [self.model(inputs) for inputs, _ in self.loader]

        def evaluate(self):
            for inputs, _ in self.loader:
                print(self.model(inputs))
    """
    assert "model.device" not in fixed(body)


def test_a_device_of_the_file_goes_before_a_literal() -> None:
    body = """
    DEVICE = "cuda"


    def train(model, criterion, loader):
        model.to(DEVICE)
        for images, labels in loader:
            criterion(model(images.to(DEVICE)), labels).backward()
    """
    assert "labels.to(DEVICE)).backward()" in fixed(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for t in (x, y):\n    t = t.to(d)", "x, y = [t.to(d) for t in (x, y)]"),
        ("for k, v in z.items():\n    if v is not None:\n        v = v.to(d)", "        z[k] = v.to(d)"),
        ("{k: v.to(d) for k, v in z.items()}", "z = {k: v.to(d) for k, v in z.items()}"),
        ("for t in (x, y):\n    # why\n    t = t.to(d)", "    t = t.to(d)"),
        ("for t in (x, y):\n    t = t.to(d)\n    print(d)", "    print(d)"),
    ],
)
def test_what_a_loop_moves_is_kept(body: str, expected: str) -> None:
    head = "def f(model: nn.Module, x: torch.Tensor, y: torch.Tensor, z: dict[str, torch.Tensor], d):\n"
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    assert f"\n    {expected}\n    return" in fixed(f"{head}{indented}    return model(x, y, **z)")


@pytest.mark.parametrize(
    "body",
    [
        "def f(x=0.0):\n    return x + torch.arange(3)\n",
        "def f(x: float | torch.Tensor):\n    return x + torch.arange(3)\n",
        'def f(x: "Union[float, torch.Tensor]"):\n    return x + torch.arange(3)\n',
        "def f(x):\n    return x + torch.arange(3)\n\n\nprint(f(1.0))\n",
        "def f(*, x):\n    return x + torch.arange(3)\n\n\nprint(f(x=-1.0))\n",
        """
        def f(x):
            steps = torch.arange(3)
            if isinstance(x, torch.Tensor):
                return x.relu() + steps
            return steps + x
        """,
        """
        f = lambda x: x + torch.arange(3)
        print(f(2.0))
        """,
    ],
)
def test_no_device_is_asked_of_what_may_be_a_number(body: str) -> None:
    code = (
        f"{dedent(body).strip()}\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return f(x=x.relu())\n"
    )
    assert fixed(code) == code


def test_what_is_a_tensor_after_a_test_is_asked() -> None:
    body = """
    def f(x):
        if not isinstance(x, torch.Tensor):
            return x * 2
        assert isinstance(x, torch.Tensor)
        return x + torch.arange(3)


    class Net(nn.Module):
        def forward(self, x):
            return f(x.relu())
    """
    assert "torch.arange(3, device=x.device)" in fixed(body)


@pytest.mark.parametrize(
    "body",
    [
        'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = (0,  # the first\n    1)\n',
        "def f(x: torch.Tensor, y: torch.Tensor):\n    return y.cuda(x.  # there\n        get_device())\n",
    ],
)
def test_no_fix_takes_a_comment_along(body: str) -> None:
    assert fixed(body) == body
    assert fixed(body.replace("  # the first", "").replace("  # there", "")) != body


@pytest.mark.parametrize(
    "body",
    [
        "state = torch.load(p)\n    m.load_state_dict(state)",
        "c = torch.load(p)\n    m.load_state_dict(c['model'])\n    o.load_state_dict(c.get('optimizer'))",
        "c = torch.load(p)\n    if 'ema' in c:\n        state = c.pop('ema')\n        m.load_state_dict(state)",
    ],
)
def test_what_only_feeds_load_state_dict_is_safely_read_to_the_cpu(body: str) -> None:
    code = f"def f(m, o, p):\n    {body}\n"
    assert fixed(code, unsafe=False) == code.replace("torch.load(p)", 'torch.load(p, map_location="cpu")')


@pytest.mark.parametrize(
    "body",
    [
        "state = torch.load(p)\n    m.load_state_dict(state)\n    return state",
        "c = torch.load(p)\n    m.load_state_dict(c['model'])\n    return c['mean'] + 1",
        "c = torch.load(p)\n    o = c['model']\n    m.load_state_dict(o)\n    return o['weight']",
        "c = torch.load(p)\n    m.load_state_dict(c['model'], assign=True)",
        "c = torch.load(p)\n    m.load_state_dict(strip(c))",
        "global o\n    o = torch.load(p)\n    m.load_state_dict(o)",
    ],
)
def test_what_is_used_otherwise_is_not_safely_read_to_the_cpu(body: str) -> None:
    code = f"def f(m, p):\n    {body}\n"
    assert fixed(code, unsafe=False) == code


@pytest.mark.parametrize(
    "call",
    ["m.load_state_dict(torch.load(p), True, True)", "m.load_state_dict(torch.load(p), **given)"],
)
def test_what_assigns_a_state_dict_is_not_safely_read_to_the_cpu(call: str) -> None:
    assert fixed(f"def f(m, p, given):\n    {call}\n", unsafe=False) == f"def f(m, p, given):\n    {call}\n"


def test_a_class_may_keep_the_state_dict_that_it_is_given() -> None:
    body = """
    class Average:
        def load_state_dict(self, state):
            self.shadow = state["shadow"]


    def f(average, p):
        average.load_state_dict(torch.load(p))
    """
    assert fixed(body, unsafe=False) == dedent(body).strip() + "\n"


def test_a_bare_tuple_is_put_in_parentheses() -> None:
    body = """
    def f(x: torch.Tensor, y: torch.Tensor, device):
        for t in x, y:
            t = t.to(device)
        return x + y
    """
    assert "x, y = [t.to(device) for t in (x, y)]" in fixed(body)


def test_a_parameter_that_is_moved_stays_one() -> None:
    body = """
    def f(device):
        w = nn.Parameter(torch.ones(3)).to(device)
        return torch.optim.SGD([w], lr=0.1)
    """
    assert fixed(body, unsafe=False) == dedent(body).strip() + "\n"


@pytest.mark.parametrize("given", ["x.device, memory_format=torch.channels_last", "x + x"])
def test_a_move_that_the_factory_cannot_do_stays(given: str) -> None:
    code = f"import torch\n\n\ndef f(x: torch.Tensor):\n    return torch.zeros(1, 3, 2, 2).to({given}) + x\n"
    result = fix_bytes(code.encode(), "case.py", Settings(select=("TDL601",), unsafe_fixes=True))
    assert result.content.decode() == code


def test_a_name_that_stands_for_another_thing_is_not_the_device() -> None:
    body = """
    class Learner:
        def __init__(self, device):
            self.device = torch.device(device)
            self.net = nn.Linear(4, 3).to(self.device)

        def step(self, batch):
            x, device = batch
            return nn.functional.cross_entropy(self.net(x.to(self.device)), device)

        def fit(self, data):
            for batch in torch.utils.data.DataLoader(data):
                self.step(batch).backward()
    """
    assert "device.to(device)" not in fixed(body)
