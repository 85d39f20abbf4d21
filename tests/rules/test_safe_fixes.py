"""Safe fixes leave a program that ran as it was: what looks like the line that is fixed, and would run otherwise."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.test_fix_edits import fixed

READ = "def f(x):\n    y = x.cuda().to('cpu', non_blocking={})\n    return y.sum().item()\n"
SCALER = "s = torch.cuda.amp.GradScaler()\n"
CUDA = "os.environ['CUDA_VISIBLE_DEVICE'] = '1'\n"
DEVICE = "device = 'mps' if torch.backends.mps.is_available() else 'cpu'\n"
DOUBLE = "torch.zeros(3, dtype=torch.float64).to(device)"
MAKE = "def make(n, device='cpu'):\n    return torch.zeros(n, device=device)\n\n\n"
PICKED = """
def picked(weights: torch.Tensor, wanted: int):
    kept = torch.arange(len(weights))[weights > 0]
    more = {more}
    return torch.cat([kept, more])
"""
LEAF = """
def fit(device):
    x = torch.rand(3, requires_grad=True).to(device)
    (x * 2).sum().backward()
    {line}
    return x.grad
"""
NUMBER = """
class Own:
    def cuda(self, number):
        return self


def place(x: torch.Tensor, other):
    return {call}
"""

LIST = """
def collect(loader, net: nn.Module):
    net.cuda()
    outs = []
    for x in loader:
        outs.append(net(x.cuda()).detach())
    return np.{read}
"""

ASKS = "def place(x: torch.Tensor, net: nn.Module):\n    {arm}\n    return x, net\n"
NEVER_RUN = (
    "if x.device == 'cuda': net = nn.DataParallel(net)",
    "if x.device == 'cuda': x = x.half()",
    "on_gpu = x.device == 'cuda'",
    "if x.device != 'cpu': x = x.detach().cpu()",
    "x = x.detach().cpu() if x.device != 'cpu' else x",
    "net = nn.DataParallel(net) if x.device == 'cuda' else net",
)
MOVES = (
    "if x.device != 'cpu': x = x.cpu()",
    "x = x.to('cpu') if x.device != 'cpu' else x",
    "if x.device == 'cuda': x = x.detach().cpu().numpy()",
    "x = x.cpu() if x.device == 'cuda' else x",
    "assert x.device == 'cuda'",
)

HELD = """
def right(model, images, labels: torch.Tensor, device):
    labels.to(device)
    {line}
    return found
"""

PACKED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4)

    def forward(self, x, lengths):
        h = torch.zeros(1, 5, 4)
        {lines}
"""
UNPACK = "nn.utils.rnn.pad_packed_sequence"
PACK = "nn.utils.rnn.pack_padded_sequence"

ANCHOR = "def penalty(anchor, p, device):\n    anchor.to(device)\n    return {line}\n"
CHOSEN = """
def placed(x, device):
    if isinstance(x, list):
        x = [each.cuda() for each in x]
    else:
        x.to(device)
    return x
"""

RESULTS = """import numpy as np
import torch


def run(x):
    return torch.relu(x), torch.exp(x)


def main(x, device):
    x = x.to(device)
    {bound}
    return {read}
"""
OTHERS = """import numpy as np
import torch


def main(x, mode, model):
    out = model(x)
    if mode == "exact":
        return np.sort(x.cpu().numpy()), out["mean"].cpu().numpy()
    return np.round({read})
"""
KEPT = {
    "TDL001": [
        HELD.format(line=each)
        for each in (
            "found = model(images.to(device)).cpu() == labels",
            "out = model(images).detach().cpu().argmax(1); found = out.eq(labels.view(-1)).sum()",
            "out = torch.max(model(images).to('cpu'), 1)[1]; found = labels - out",
            "found = nn.functional.cross_entropy(model(images).cpu(), labels)",
            "found = torch.ones(3) - labels",
            "table = torch.arange(3); found = table[None] * labels",
        )
    ]
    + [ANCHOR.format(line=each) for each in ("torch.ones(3) - anchor", "p.cpu() - anchor", "np.abs(anchor) - p")],
    "TDL006": [
        LIST.format(read="array(outs)"),
        LIST.format(read="concatenate(outs)"),
        RESULTS.format(bound="pred, target = torch.relu(x), x.abs()", read="np.add(target, pred)"),
        RESULTS.format(bound="target, pred = run(x)", read="np.add(target, pred)"),
        RESULTS.format(bound="pred = torch.relu(x)", read="(1 - np.tanh(pred)) * x"),
        RESULTS.format(bound="near = np.tanh(torch.relu(x))", read="2 * near + x"),
        RESULTS.format(bound="near = np.tanh(torch.relu(x))\n    near += x", read="near"),
    ],
    "TDL003": [
        PACKED.format(lines=f"y, _ = self.rnn(x, h)\n        return {UNPACK}(y)"),
        PACKED.format(lines=f"y, h = self.rnn(x, h)\n        x, _ = {UNPACK}(x)\n        return x, y"),
    ],
    "TDL011": [READ.format("(n := True)")],
    "TDL104": [LEAF.format(line="x[0] = 3"), LEAF.format(line="x += 1"), LEAF.format(line="x.add_(1)")],
    "TDL014": [PICKED.format(more=each) for each in ("torch.randperm(wanted)", "torch.zeros(wanted, device='cpu')")],
    "TDL302": [
        f"{CUDA}print(os.environ['CUDA_VISIBLE_DEVICE'])\n",
        f"{CUDA}print(os.environ.get('CUDA_VISIBLE_DEVICE'))\n",
        f"{CUDA}x = torch.zeros(3, device='cuda:1')\n",
        f"torch.cuda.set_device(0)\n{CUDA}x = torch.zeros(3).cuda()\n",
    ],
    "TDL303": [
        "device = torch.device('cuda'),\nx = torch.zeros(3)\ny = x.to(device[0])\nz = x.to(device)\n",
        "device = pair = torch.device('cuda'),\nfirst, = pair\nz = torch.zeros(3).to(device)\n",
    ],
    "TDL304": [NUMBER.format(call="Own().cuda(x.get_device())"), NUMBER.format(call="other.cuda(x.get_device())")],
    "TDL310": [
        f"{MAKE}def take(n, device='cpu'):\n    def device():\n        return 0\n    return make(n)\n",
        f"{MAKE.replace('):', ', /):')}def take(n, device='cpu'):\n    return make(n)\n",
        """
        class Maker:
            def both(self, device="cpu"):
                return self.one()

            def one(self, device="cpu"):
                return torch.zeros(1, device=device)


        class Fixed(Maker):
            def one(self):
                return torch.zeros(2)
        """,
    ],
    "TDL311": [ASKS.format(arm=each) for each in NEVER_RUN],
    "TDL504": [
        f"{SCALER}assert isinstance(s, torch.cuda.amp.GradScaler)\n",
        f"{SCALER}assert type(s) is torch.cuda.amp.GradScaler\n",
    ],
    "TDL506": [
        f"{DEVICE}x = {DOUBLE}.to('cpu', torch.float32)\n",
        f"{DEVICE}x = {DOUBLE}.to(dtype=torch.float32, device='cpu')\n",
        f"{DEVICE}x = f'{{{DOUBLE}.float()}}'\n",
    ],
    "TDL601": ["x = (torch.zeros(3)).to('cuda')\n"],
}
CHANGED = {
    "TDL006": [
        (RESULTS.format(bound="pred, size = torch.relu(x), len(x)", read="np.add(pred, size)"), "(pred", "(pred.cpu()"),
        (RESULTS.format(bound="pred = torch.relu(x)", read="np.add(pred, 1)"), "(pred", "(pred.cpu()"),
        (RESULTS.format(bound="pred = torch.relu(x)", read="1 - np.tanh(pred)"), "(pred", "(pred.cpu()"),
        (RESULTS.format(bound="pred = torch.relu(x)", read="np.cumsum(pred) * len(x)"), "(pred", "(pred.cpu()"),
        (OTHERS.format(read="x.numpy()"), "round(x", "round(x.cpu()"),
    ],
    "TDL001": [
        (HELD.format(line=each), "    labels.to", "    labels = labels.to")
        for each in (
            "found = model(images.to(device)) == labels",
            "out = model(images).cpu(); found = out.to(device) == labels",
            "out = model(images).cpu(); out = model(images); found = out == labels",
            "out = model(images).cpu(); found = out.eq(labels.cpu())",
            "found = labels * model(images).cpu().sum().item()",
            "found = torch.ones(3, device=device) - labels",
        )
    ]
    + [(ANCHOR.format(line="p - anchor"), "    anchor.to", "    anchor = anchor.to"), (CHOSEN, "x.to(", "x = x.to(")],
    "TDL003": [
        (PACKED.format(lines=each), "torch.zeros(1, 5, 4)", "torch.zeros(1, 5, 4, device=x.device)")
        for each in (
            "y, _ = self.rnn(x, h)\n        return y",
            f"x = {PACK}(x, lengths)\n        y, _ = self.rnn(x, h)\n        return {UNPACK}(y)",
        )
    ],
    "TDL011": [(READ.format("True"), ", non_blocking=True", "")],
    "TDL104": [
        (LEAF.format(line="x.neg()"), "(3, requires_grad=True).to(device)", "(3).to(device).requires_grad_()"),
        (
            LEAF.format(line="with torch.no_grad(): x -= 1"),
            "(3, requires_grad=True).to(device)",
            "(3).to(device).requires_grad_()",
        ),
    ],
    "TDL014": [
        (PICKED.format(more=each), "len(weights))[", "len(weights), device=weights.device)[")
        for each in ("kept[:wanted]", "torch.randperm(wanted, device=weights.device)")
    ],
    "TDL302": [
        (f"{CUDA}x = torch.zeros(3, device='cuda:0')\n", "_DEVICE'", "_DEVICES'"),
        (f"{CUDA}if x:\n    {CUDA}", "_DEVICE'", "_DEVICES'"),
    ],
    "TDL303": [("device = torch.device('cuda'),\nz = torch.zeros(3).to(device)\n", "'),", "')")],
    "TDL304": [
        (NUMBER.format(call="nn.Linear(2, 2).cuda(x.get_device())"), "cuda(x.get_device())", "to(x.device)"),
        (NUMBER.format(call="(x * 2).cuda(x.get_device())"), "cuda(x.get_device())", "to(x.device)"),
    ],
    "TDL310": [(f"{MAKE}def take(n, device='cpu'):\n    return make(n)\n", "make(n)\n", "make(n, device=device)\n")],
    "TDL311": [(ASKS.format(arm=each), "x.device", "x.device.type") for each in MOVES],
    "TDL504": [
        (f"{SCALER}assert isinstance(s, object)\n", "cuda.amp.GradScaler(", 'amp.GradScaler("cuda"'),
        (
            "with torch.cuda.amp.autocast(on := True):\n    print(on)\n",
            "cuda.amp.autocast(on := True)",
            'amp.autocast("cuda", enabled=(on := True))',
        ),
    ],
    "TDL506": [
        (
            f"{DEVICE}x = {DOUBLE}.to(torch.float32, copy=True)\n",
            ".to(device).to(torch.float32, copy=True)",
            ".to(torch.float32, copy=True).to(device)",
        ),
    ],
    "TDL601": [
        (
            "def f(device):\n    return torch.zeros(3).to(d := device), d\n",
            ").to(d := device)",
            ", device=(d := device))",
        ),
    ],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in KEPT.items() for text in texts])
def test_no_safe_fix(code: str, text: str) -> None:
    assert fixed(code, text, unsafe=False) == dedent(text)


@pytest.mark.parametrize(
    ("code", "text", "old", "new"), [(code, *each) for code, texts in CHANGED.items() for each in texts]
)
def test_the_safe_fix_of_what_looks_alike(code: str, text: str, old: str, new: str) -> None:
    assert old in text
    assert fixed(code, text, unsafe=False) == dedent(text).replace(old, new)
