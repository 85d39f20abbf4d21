"""A finding stays however much is put around the bug that has nothing to do with it.

What is known of a value is limited: so many alternatives, so many conditions, so many calls. A limit may cost
precision, never the finding.
"""

from __future__ import annotations

import textwrap

import pytest

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes

HEAD = "import torch\nimport torch.nn as nn\n"
HERE = "# here"
BUGS = {
    "TDL001": """
        def f(x: torch.Tensor, o, device):
            # here
            w = torch.ones(3, device=device)
            # here
            x.to(device)
            # here
            return x + w
    """,
    "TDL003": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(3, 3)

            def forward(self, x, o=None):
                # here
                h = torch.zeros(1, x.size(1), 3)
                # here
                y, h = self.rnn(x, h)
                # here
                return y
    """,
    "TDL004": """
        def f(o):
            # here
            y = torch.ones(3, 3).cuda()
            # here
            z = torch.ones(3)
            # here
            return y + z
    """,
    "TDL005": """
        def train(loader, o, device):
            # here
            model = nn.Linear(3, 3).to(device)
            criterion = nn.CrossEntropyLoss()
            # here
            for x, y in loader:
                # here
                x = x.to(device)
                # here
                loss = criterion(model(x), y)
                loss.backward()
    """,
    "TDL006": """
        def f(loader, o, keep):
            # here
            model = nn.Linear(3, 3).to("cuda")
            # here
            for x, y in loader:
                # here
                out = model(x.cuda())
                # here
                keep(out.detach().numpy())
    """,
    "TDL012": """
        def f(x: torch.Tensor, o):
            # here
            mask = torch.zeros(x.shape, device="cuda")
            # here
            return x * mask
    """,
    "TDL014": """
        def f(x: torch.Tensor, o):
            # here
            w = torch.ones(3)
            # here
            return x + w
    """,
    "TDL101": """
        class Net(nn.Module):
            def __init__(self, o):
                super().__init__()
                # here
                self.lin = nn.Linear(3, 3)
                self.scale = torch.ones(3)
                # here

            def forward(self, x, o=None):
                # here
                return self.lin(x) * self.scale
    """,
    "TDL102": """
        class Net(nn.Module):
            def __init__(self, o):
                super().__init__()
                # here
                self.layers = [nn.Linear(3, 3) for _ in range(3)]
                # here

            def forward(self, x, o=None):
                # here
                for layer in self.layers:
                    # here
                    x = layer(x)
                # here
                return x
    """,
    "TDL201": """
        def f(path, o):
            model = nn.Linear(3, 3)
            # here
            state = torch.load(path)
            # here
            model.load_state_dict(state)
            # here
            return model
    """,
}
UNRELATED = {
    "a test": "if o.a{n}:\n    b{n} = {n}\nelse:\n    b{n} = None\n",
    "a test of one name": "if o.a{n}:\n    b = torch.ones({n})\nelif o.b{n} is None:\n    b = None\n",
    "a choice of a device": 'if o.a{n}:\n    d{n} = torch.device("cuda")\nelse:\n    d{n} = torch.device("cpu")\n',
    "a loop": "for k{n} in range(o.a{n}):\n    b{n} = k{n}\nwhile o.b{n}():\n    c{n} = {n}\n",
    "a handler": "try:\n    b{n} = o.a{n}\nexcept ValueError:\n    b{n} = None\n",
    "a way out": "if o.a{n}:\n    return None\n",
    "an error": "if o.a{n} < 0:\n    raise ValueError(o)\n",
}
MANY = (0, 1, 4, 16, 40)


def padded(code: str, unrelated: str, count: int) -> str:
    """`code` with so many statements at each mark, those of a constructor without a way out of it."""
    lines, number, inside = [], 0, ""
    for line in textwrap.dedent(code).splitlines():
        indent, text = line[: len(line) - len(line.lstrip())], line.strip()
        inside = text if text.startswith("def ") else inside
        if text != HERE:
            lines.append(line)
        elif not ("return" in unrelated and "__init__" in inside):
            block = "".join(unrelated.format(n=number + each) for each in range(count))
            lines += textwrap.indent(block, indent).splitlines()
            number += count
    return HEAD + "\n".join(lines) + "\n"


def codes(text: str) -> set[str]:
    return {one.code for one in check_bytes(text.encode(), "m.py", Settings()).diagnostics}


@pytest.mark.parametrize("kind", UNRELATED)
@pytest.mark.parametrize("code", BUGS)
def test_statements_beside_a_bug_take_no_finding_away(code: str, kind: str) -> None:
    lost = [count for count in MANY if code not in codes(padded(BUGS[code], UNRELATED[kind], count))]
    assert not lost, padded(BUGS[code], UNRELATED[kind], lost[0])


MADE = {
    "TDL003": "h = ", "TDL004": "z = ", "TDL006": "model = ", "TDL012": "mask = ", "TDL014": "w = ",
    "TDL101": "self.scale = ", "TDL102": "self.layers = ", "TDL201": "state = ",
}  # fmt: skip
"""The statement that is in one arm of many, by how it begins."""


@pytest.mark.parametrize("code", MADE)
def test_other_arms_of_a_chain_take_no_finding_away(code: str) -> None:
    for count in MANY:
        lines = []
        for line in padded(BUGS[code], "", 0).splitlines():
            indent, text = line[: len(line) - len(line.lstrip())], line.strip()
            if text.startswith(MADE[code]):
                others = "".join(f"if o == {n}:\n    {MADE[code]}None\nel" for n in range(count))
                chain = f"{others}if o == {count}:\n    {text}\nelse:\n    raise ValueError(o)"
                lines += textwrap.indent(chain, indent).splitlines()
            else:
                lines.append(line)
        assert code in codes("\n".join(lines)), count


NET = "class Net(nn.Module):\n    def forward(self, x):\n        return [each(x) for each in self.layers]\n\n"
DEEP = {
    "TDL004": ("def f(o, keep):", "y = torch.ones(3).cuda()\nz = torch.ones(3)\nkeep(y + z)"),
    "TDL006": ("def f(o, keep):", 'y = nn.Linear(3, 3).to("cuda")(torch.ones(3).cuda())\nkeep(y.detach().numpy())'),
    "TDL014": ("def f(x: torch.Tensor, o, keep):", "w = torch.ones(3)\nkeep(x + w)"),
    "TDL102": (f"{NET}    def __init__(self, o):", "super().__init__()\nself.layers = [nn.Linear(3, 3)]"),
    "TDL201": ("def f(path, o, model):", "model.load_state_dict(torch.load(path))"),
}
"""The head of a function, and its statements."""


@pytest.mark.parametrize("code", DEEP)
def test_tests_around_a_bug_take_no_finding_away(code: str) -> None:
    head, body = DEEP[code]
    start = 8 if "class" in head else 4
    for depth in (0, 1, 4, 8, 16):
        tests = [" " * (start + 4 * each) + f"if o.a{each}:" for each in range(depth)]
        lines = [head, *tests, textwrap.indent(body, " " * (start + 4 * depth))]
        assert code in codes(HEAD + "\n".join(lines) + "\n"), depth


TOUCHED = {
    "a part": "if o.a{n}:\n    out = out[o.b{n}]\n",
    "a copy": "if o.a{n}:\n    out = out.clone()\nelse:\n    out = out * 2\n",
    "more": "for k{n} in o.a{n}:\n    out = out + k{n}\n",
}


@pytest.mark.parametrize("kind", TOUCHED)
def test_a_tensor_that_stays_where_it_is_is_known_however_often_it_is_changed(kind: str) -> None:
    code = "def f(o):\n    out = torch.ones(3, 3, 3).cuda()\n    # here\n    return out.numpy()\n"
    assert [count for count in MANY if "TDL006" not in codes(padded(code, TOUCHED[kind], count))] == []
