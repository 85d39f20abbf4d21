"""What a fix makes of a line: the smallest change, in whatever form the line is written."""

from __future__ import annotations

from textwrap import dedent

import pytest
from msgspec.structs import replace

from tests.casefile import settings_for
from torchdevlint.fix.text import fix_bytes
from torchdevlint.model import Applicability

IMPORTS = "import os\n\nimport torch\nfrom torch import nn\n"


def fixed(code: str, text: str, unsafe: bool = True, newline: str = "\n") -> str:
    """A text after the fixes of one rule; the lines of the file end in `newline`."""
    settings = replace(settings_for(code), select=(code,), unsafe_fixes=unsafe)
    whole = f"{IMPORTS}\n\n{dedent(text)}".replace("\n", newline)
    content = fix_bytes(whole.encode(), "case.py", settings).content.decode()
    assert newline == "\n" or "\n" not in content.replace(newline, "")
    return content.replace(newline, "\n").removeprefix(f"{IMPORTS}\n\n")


def applicability(code: str, text: str) -> Applicability | None:
    """How far the fix of the first finding in a text may be applied."""
    settings = replace(settings_for(code), select=(code,), unsafe_fixes=False, unfixable=(code,))
    finding = fix_bytes(f"{IMPORTS}\n\n{dedent(text)}".encode(), "case.py", settings).result.diagnostics[0]
    return None if finding.fix is None else finding.fix.applicability


PLACED = "def step(x: torch.Tensor, y: torch.Tensor, device):\n    x = x.to(device)\n    y = {}\n    return x + y\n"
READ = "def read(path, device=None):\n    return torch.load(path, map_location=device)"
LINES = {
    "TDL012": [
        (PLACED.format("y.cuda()"), PLACED.format("y.to(device)")),
        (PLACED.format("y.cuda(non_blocking=False)"), PLACED.format("y.to(device)")),
        (PLACED.format("y.cuda(non_blocking = True)"), PLACED.format("y.to(device, non_blocking=True)")),
    ],
    "TDL104": [
        (
            "w = torch.ones(2, requires_grad=True).cuda()\ntorch.optim.SGD([w])",
            "w = torch.ones(2).cuda().requires_grad_()\ntorch.optim.SGD([w])",
        ),
        (
            "w = torch.ones(2).requires_grad_().cuda()\ntorch.optim.SGD([w])",
            "w = torch.ones(2).cuda().requires_grad_()\ntorch.optim.SGD([w])",
        ),
        (
            "w = torch.ones(2, requires_grad=True) * 2\ntorch.optim.SGD([w])",
            "w = (torch.ones(2) * 2).requires_grad_()\ntorch.optim.SGD([w])",
        ),
    ],
    "TDL201": [
        ("state = torch.load('a.pt',)", "state = torch.load('a.pt', map_location=\"cpu\",)"),
        (f"{READ}\n\n\nx = read('a.pt')\n", f"{READ}\n\n\nx = read('a.pt', device=\"cpu\")\n"),
        (f"{READ}.to(device)\n\n\nx = read('a.pt')\n", f"{READ}.to(device)\n\n\nx = read('a.pt')\n"),
        ("state = torch.load('a.pt', map_location=None)", "state = torch.load('a.pt', map_location=\"cpu\")"),
        (
            "state = torch.load(\n    'a.pt',  # the best\n)",
            "state = torch.load(\n    'a.pt', map_location=\"cpu\",  # the best\n)",
        ),
    ],
    "TDL203": [
        (
            "m = nn.Linear(2, 2)\no = torch.optim.Adagrad(m.parameters())  # o\n\nm.cuda()  # m\nx = 1\n",
            "m = nn.Linear(2, 2)\nm.cuda()  # m\no = torch.optim.Adagrad(m.parameters())  # o\n\nx = 1\n",
        ),
        (
            "m = nn.Linear(2, 2)\no = torch.optim.Adagrad(m.parameters())\nd = 'cuda'\nm.to(d)\n",
            "m = nn.Linear(2, 2)\no = torch.optim.Adagrad(m.parameters())\nd = 'cuda'\nm.to(d)\n",
        ),
        (
            "m = nn.Linear(2, 2)\no = torch.optim.Adagrad(m.parameters()); m.cuda()\n",
            "m = nn.Linear(2, 2)\no = torch.optim.Adagrad(m.parameters()); m.cuda()\n",
        ),
    ],
    "TDL301": [
        (
            "torch.cuda.init()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n",
            "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\ntorch.cuda.init()\n",
        ),
        (
            "n = torch.cuda.get_device_name()\nos.environ['CUDA_VISIBLE_DEVICES'] = n\n",
            "n = torch.cuda.get_device_name()\nos.environ['CUDA_VISIBLE_DEVICES'] = n\n",
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
    "TDL310": [
        (
            "def f(n, *, device=None):\n    return torch.ones(n)  # n\n",
            "def f(n, *, device=None):\n    return torch.ones(n, device=device)  # n\n",
        ),
        (
            "def f(n, device=None):\n    return torch.zeros(n) + torch.ones(n)\n",
            "def f(n, device=None):\n    return torch.zeros(n) + torch.ones(n)\n",
        ),
    ],
    "TDL405": [
        (
            "from transformers import AutoModel\nm = AutoModel.from_pretrained('a', device_map='auto').cuda()\n",
            "from transformers import AutoModel\nm = AutoModel.from_pretrained('a', device_map='auto')\n",
        ),
        (
            "from transformers import AutoModel\nm = AutoModel.from_pretrained('a', device_map='auto')\nm.cuda()\n",
            "from transformers import AutoModel\nm = AutoModel.from_pretrained('a', device_map='auto')\nm.cuda()\n",
        ),
    ],
    "TDL501": [
        ("d = torch.device('cuda')", "d = torch.device('cuda' if torch.cuda.is_available() else \"cpu\")"),
        ("x = torch.ones(2).cuda()", "x = torch.ones(2).cuda()"),
    ],
    "TDL503": [
        (
            "d = torch.device('cuda') if torch.cuda.is_available() else torch.device('cpu')",
            "d = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device('cpu')",
        ),
        (
            "d = 'cuda:0' if torch.cuda.is_available() else 'cpu'",
            "d = 'cuda:0' if torch.cuda.is_available() else 'cpu'",
        ),
    ],
    "TDL505": [
        (
            "torch.set_default_tensor_type(torch.cuda.HalfTensor)",
            "torch.set_default_tensor_type(torch.cuda.HalfTensor)",
        ),
    ],
    "TDL506": [
        (
            "x = torch.ones(2).double().to('mps').float()",
            "x = torch.ones(2).double().float().to('mps')",
        ),
    ],
    "TDL601": [
        ("x = torch.ones(2,).to('cuda')", "x = torch.ones(2, device='cuda',)"),
        (
            "x = torch.ones(2, dtype=torch.int64).to('cuda', torch.float32)",
            "x = torch.ones(2, dtype=torch.int64).to('cuda', torch.float32)",
        ),
        ("x = torch.ones(2).view(1, 2).to('cuda')", "x = torch.ones(2, device='cuda').view(1, 2)"),
        (
            "def f(x):\n    y = x.clone()\n    return y - torch.ones(2).type_as(y)",
            "def f(x):\n    y = x.clone()\n    return y - torch.ones(2, device=y.device, dtype=y.dtype)",
        ),
        ("x = torch.ones(\n    2\n).to('cuda')", "x = torch.ones(\n    2, device='cuda'\n)"),
    ],
}


@pytest.mark.parametrize(
    ("code", "before", "after"), [(code, *pair) for code, pairs in LINES.items() for pair in pairs]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_line_becomes(code: str, before: str, after: str, newline: str) -> None:
    assert fixed(code, before, newline=newline) == after


UNSAFE = {
    "TDL310": "def f(n, device='cuda'):\n    return torch.ones(n)",
    "TDL104": "w = torch.rand(2, requires_grad=True) / 2\ntorch.optim.SGD([w])",
    "TDL201": "state = torch.load('a.pt')",
    "TDL303": "name = 'gpu'\nx = torch.ones(2, device=name)",
    "TDL305": "def f(thing, device='cpu'):\n    return thing.cuda(device)",
    "TDL601": "x = torch.linspace(0, 1, 5).to('cuda', torch.float16)",
}
SAFE = {
    "TDL310": "def f(n, device=None):\n    return torch.ones(n)",
    "TDL104": "w = torch.rand(2, requires_grad=True).cuda()\ntorch.optim.SGD([w])",
    "TDL201": "nn.Linear(2, 2).load_state_dict(torch.load('a.pt'))",
    "TDL302": "os.environ['CUDA_VISIBLE_DEVICE'] = '0'",
    "TDL303": "x = torch.ones(2, device='gpu')",
    "TDL304": "def f(x: torch.Tensor):\n    return torch.ones(2, device=x.get_device())",
    "TDL305": "def f(device='cpu'):\n    return nn.Linear(2, 2).cuda(device)",
    "TDL601": "x = torch.linspace(0, 1, 5).to('cuda')",
}

DROPPED = """from torch.autograd import grad as differentiate

def f(net: nn.Module, x: torch.Tensor, w: torch.Tensor):
    y = (x * w).sum()
    BEFORE
    w.cuda()
    AFTER
    return net(x.cuda(), w)
"""


@pytest.mark.parametrize(
    ("before", "after", "applied"),
    [
        ("pass", "g = net(w)", Applicability.SAFE),
        ("pass", "g = torch.autograd.grad(y, w)", Applicability.UNSAFE),
        ("pass", "g = differentiate(y, [x, w])", Applicability.UNSAFE),
        ("g = torch.autograd.grad(y, w)", "pass", Applicability.SAFE),
        ("pass", "w.cpu()", Applicability.UNSAFE),
        ("pass", "x.cpu()", Applicability.SAFE),
        ("pass", "w = w.cpu()", Applicability.SAFE),
        ("pass", "w.numpy()", Applicability.UNSAFE),
    ],
)
def test_a_move_that_later_lines_take_for_lost(before: str, after: str, applied: Applicability) -> None:
    """A gradient is asked for by what was calculated with; what is brought back in vain would stay where it was put."""
    text = DROPPED.replace("BEFORE", before).replace("AFTER", after)
    assert applicability("TDL001", text) is applied


MODULE = """
class Net(nn.Module):
    {before_it}

    def __init__(self, device):
        super().__init__()
        {first}

    def forward(self, x: torch.Tensor):
        return {used}
"""
ATTRIBUTES = {
    "TDL101": [
        (
            "self.x = torch.ones(2)  # it",
            'self.register_buffer("x", torch.ones(2), persistent=False)  # it',
            "x + self.x",
        ),
        ("self.x = (torch.ones(2))", 'self.register_buffer("x", (torch.ones(2)), persistent=False)', "x + self.x"),
        ("self.x = self.y = torch.ones(2)", "self.x = self.y = torch.ones(2)", "x + self.x"),
    ],
    "TDL102": [
        ("self.x = [nn.Linear(2, 2)]", "self.x = nn.ModuleList([nn.Linear(2, 2)])", "self.x[0](x)"),
        ("self.x = nn.Linear(2, 2), nn.ReLU()", "self.x = nn.Linear(2, 2), nn.ReLU()", "self.x[0](x)"),
        ("self.x = [nn.Linear(2, 2)]", "self.x = [nn.Linear(2, 2)]", "self.x.pop()(x)"),
        ("self.x = [[nn.Linear(2, 2)]]", "self.x = [[nn.Linear(2, 2)]]", "self.x[0][0](x)"),
        ("self.x = {1: nn.Linear(2, 2)}", "self.x = {1: nn.Linear(2, 2)}", "self.x[1](x)"),
        ("self.x = {'up': nn.Linear(2, 2)}", "self.x = nn.ModuleDict({'up': nn.Linear(2, 2)})", "self.x['up'](x)"),
        ("self.x = {'type': nn.Linear(2, 2)}", "self.x = {'type': nn.Linear(2, 2)}", "self.x['type'](x)"),
    ],
    "TDL103": [
        ("self.x = nn.Parameter(x).to(device)", "self.x = nn.Parameter(x.to(device))", "x + self.x"),
        ("self.x = nn.Parameter(x + 1).cuda()", "self.x = nn.Parameter((x + 1).cuda())", "x + self.x"),
        ("self.x = nn.Parameter(data=x).cuda()", "self.x = nn.Parameter(data=x.cuda())", "x + self.x"),
    ],
}


@pytest.mark.parametrize(
    ("code", "before", "after", "used"), [(code, *each) for code, group in ATTRIBUTES.items() for each in group]
)
def test_an_attribute_becomes(code: str, before: str, after: str, used: str) -> None:
    first = f"x = torch.ones(2)\n        {before}"
    written = fixed(code, MODULE.format(before_it="pass", first=first, used=used))
    assert written == MODULE.format(before_it="pass", first=first.replace(before, after), used=used)


def test_a_buffer_is_not_in_the_way_of_another_attribute() -> None:
    text = MODULE.format(before_it="x = None", first="self.x = torch.ones(2)", used="x + self.x")
    assert fixed("TDL101", text) == text


def test_a_buffer_waits_for_its_module() -> None:
    text = MODULE.format(before_it="pass", first="pass", used="x + self.x")
    text = text.replace("super().__init__()", "self.x = torch.ones(2)").replace(
        "        pass\n\n    def f", "        super().__init__()\n\n    def f"
    )
    assert fixed("TDL101", text) == text


@pytest.mark.parametrize(("code", "text"), UNSAFE.items())
def test_a_fix_that_may_change_more_is_unsafe(code: str, text: str) -> None:
    assert applicability(code, text) is Applicability.UNSAFE


@pytest.mark.parametrize(("code", "text"), SAFE.items())
def test_a_fix_that_changes_nothing_else_is_safe(code: str, text: str) -> None:
    assert applicability(code, text) is Applicability.SAFE
