"""What a fix makes of a line: the smallest change, in whatever form the line is written."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

from tests.casefile import settings_for
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Applicability

IMPORTS = "import os\n\nimport torch\nfrom torch import nn\n"


def fixed(code: str, text: str, unsafe: bool = True) -> str:
    """A text after the fixes of one rule."""
    settings = replace(settings_for(code), select=(code,), unsafe_fixes=unsafe)
    whole = f"{IMPORTS}\n\n{dedent(text)}"
    return fix_bytes(whole.encode(), "case.py", settings).content.decode().removeprefix(f"{IMPORTS}\n\n")


def applicability(code: str, text: str) -> Applicability | None:
    """How far the fix of the only finding in a text may be applied."""
    settings = replace(settings_for(code), select=(code,), unsafe_fixes=False, unfixable=(code,))
    (finding,) = fix_bytes(f"{IMPORTS}\n\n{dedent(text)}".encode(), "case.py", settings).result.diagnostics
    return None if finding.fix is None else finding.fix.applicability


LINES = {
    "TDL201": [
        ("state = torch.load('a.pt',)", "state = torch.load('a.pt', map_location=\"cpu\",)"),
        ("state = torch.load('a.pt', map_location=None)", "state = torch.load('a.pt', map_location=\"cpu\")"),
        (
            "state = torch.load(\n    'a.pt',  # the best\n)",
            "state = torch.load(\n    'a.pt', map_location=\"cpu\",  # the best\n)",
        ),
    ],
    "TDL302": [
        ("os.environ['CUDA_VISIBLE_DEVICE'] = '0'", "os.environ['CUDA_VISIBLE_DEVICES'] = '0'"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = 0  # one", "os.environ['CUDA_VISIBLE_DEVICES'] = \"0\"  # one"),
        ("os.environ.update(CUDA_VISIBLE_DEVICE = '0')", "os.environ.update(CUDA_VISIBLE_DEVICES = '0')"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = None", "os.environ['CUDA_VISIBLE_DEVICES'] = None"),
    ],
    "TDL303": [
        ("x = torch.ones(2, device='gpu')", "x = torch.ones(2, device='cuda')"),
        ("x = torch.ones(2, device='GPU:1')", "x = torch.ones(2, device='cuda:1')"),
        (
            "x = torch.LongTensor([1], device='cuda')",
            "x = torch.tensor([1], device='cuda', dtype=torch.int64)",
        ),
        ("x = torch.LongTensor(2, device='cuda')", "x = torch.LongTensor(2, device='cuda')"),
    ],
    "TDL601": [
        ("x = torch.ones(2,).to('cuda')", "x = torch.ones(2, device='cuda',)"),
        (
            "x = torch.ones(2, dtype=torch.int64).to('cuda', torch.float32)",
            "x = torch.ones(2, dtype=torch.int64).to('cuda', torch.float32)",
        ),
        ("x = torch.ones(2).view(1, 2).to('cuda')", "x = torch.ones(2, device='cuda').view(1, 2)"),
        (
            "def f(x):\n    y = x.rows()\n    return y - torch.ones(2).type_as(y)",
            "def f(x):\n    y = x.rows()\n    return y - torch.ones(2, device=y.device, dtype=y.dtype)",
        ),
        ("x = torch.ones(\n    2\n).to('cuda')", "x = torch.ones(\n    2, device='cuda'\n)"),
    ],
}


@pytest.mark.parametrize(
    ("code", "before", "after"), [(code, *pair) for code, pairs in LINES.items() for pair in pairs]
)
def test_a_line_becomes(code: str, before: str, after: str) -> None:
    assert fixed(code, before) == after


UNSAFE = {
    "TDL201": "state = torch.load('a.pt')",
    "TDL303": "name = 'gpu'\nx = torch.ones(2, device=name)",
    "TDL305": "def f(thing, device='cpu'):\n    return thing.cuda(device)",
    "TDL601": "x = torch.linspace(0, 1, 5).to('cuda', torch.float16)",
}
SAFE = {
    "TDL201": "nn.Linear(2, 2).load_state_dict(torch.load('a.pt'))",
    "TDL302": "os.environ['CUDA_VISIBLE_DEVICE'] = '0'",
    "TDL303": "x = torch.ones(2, device='gpu')",
    "TDL304": "def f(x: torch.Tensor):\n    return torch.ones(2, device=x.get_device())",
    "TDL305": "def f(device='cpu'):\n    return nn.Linear(2, 2).cuda(device)",
    "TDL601": "x = torch.linspace(0, 1, 5).to('cuda')",
}


@pytest.mark.parametrize(("code", "text"), UNSAFE.items())
def test_a_fix_that_may_change_more_is_unsafe(code: str, text: str) -> None:
    assert applicability(code, text) is Applicability.UNSAFE


@pytest.mark.parametrize(("code", "text"), SAFE.items())
def test_a_fix_that_changes_nothing_else_is_safe(code: str, text: str) -> None:
    assert applicability(code, text) is Applicability.SAFE
