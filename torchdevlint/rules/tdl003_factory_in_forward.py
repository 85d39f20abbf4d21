"""A tensor is made on the default device in `forward`, and meets the model's parameters or inputs.

## What it does
Finds `torch.zeros(...)`, `torch.arange(...)`, `torch.tensor(...)` and every other factory without `device=` in the
`forward` of a `torch.nn.Module`, or in a method or function of the same file that `forward` reaches, when the tensor
is combined with something that lives on the model's device, or is given to one of the model's layers, whatever class
that has. The report starts at the creation, which has to change.

What is returned counts as combined in three cases: a buffer that was filled, slice by slice, from the model's device;
the result of a special case by content, such as `return torch.zeros(0, 4)` where nothing was found, when the other
`return` gives something on the model's device; and a mask or noise as large as an input, which `forward` returns beside
it in one tuple or dict. Lengths, steps and indices are left alone there.

## Why is this bad?
A factory makes its tensor on the default device, which is the CPU. `model.to("cuda")` moves parameters and buffers
only, so the model works on a laptop and dies in its first step on a GPU:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

Newer releases go on with `but got weight is on cpu, different from other tensors on cuda:0`. A recurrent layer says

    RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor
    at cpu

and a table read with the model's index `indices should be either on cpu or on the same device as the indexed tensor
(cpu)`.

## Example
```python
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(16, 32)

    def forward(self, x):
        hidden = torch.zeros(1, x.shape[1], 32)
        return self.rnn(x, hidden)
```

## Use instead
```python
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(16, 32)

    def forward(self, x):
        hidden = torch.zeros(1, x.shape[1], 32, device=x.device)
        return self.rnn(x, hidden)
```
`x.new_zeros(...)` and `torch.zeros_like(x)` take the device from `x` as well. What never changes belongs in
`__init__`, as a buffer: `self.register_buffer("positions", torch.arange(n), persistent=False)`.

What a function of another file makes is reported where `forward` brings it to the other operand.

## Fix safety
The fix adds `device=` to the factory, or `.to(..)` to one that takes no device, with an expression that is surely right
there: the device of the other side, of an input, or of a layer's weight (`self.fc.weight.device`). It is safe where the
function gets one tensor. It is unsafe where it gets several, of which another may be the right one; where the factory
is random, or numbers are drawn by the tensor (`torch.bernoulli(p)`), since another device draws others; and where the
tensor is only returned, meets another of the CPU, which stays there, or comes from another file, where `.to(..)` is
appended. There is no fix where no such name is surely bound at the factory, such as in a helper that gets nothing but
sizes, and none where `torch.FloatTensor` and its kin are given what may be a tensor: they refuse one of an accelerator,
wherever its copy is to go.

## What it cannot see
Tensors that pass through containers or attributes it does not follow. It is silent where the two devices may agree:
after a move, in a default-device context, for a 0-dim tensor. A tensor that only one arm returns is silent when a type,
a mode, a flag or the device itself decides between the arms. A flag that two places test is known by its name in one
function, not across calls that keep it in an attribute.

## References
- [Tensor creation ops](https://docs.pytorch.org/docs/stable/torch.html#creation-ops) and their `device` argument
- [torch.nn.Module.register_buffer](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html)
- talipucar/CPC#1, Lightning-AI/pytorch-lightning#3738, benedekrozemberczki/pytorch_geometric_temporal#18,
  taishan1994/pytorch_triple_extraction#8, ndrplz/ConvLSTM_pytorch#10, aaron-y-chen/deeplog#6, WenjieDu/PyPOTS#22
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.common import Creation
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Report, Severity
from torchdevlint.rules.mixed import Cause, cause_of, claim, creation_report, made_there, placed, takes_no_device
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A hidden state made with `torch.zeros` in `forward` stays on the CPU and meets a model on the accelerator."""
import torch

NEEDS = "accelerator"
RAISES = {
    "RuntimeError": [
        "Expected all tensors to be on the same device",
        "Input and hidden tensors are not at the same device",
    ],
}


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(2, 3)

    def forward(self, x, on=None):
        return self.rnn(x, torch.zeros(1, x.shape[1], 3, device=on))


def flagged(device, on=None):
    output, _ = Tagger().to(device)(torch.zeros(4, 1, 2, device=device), on)
    return {"output": str(output.device)}


def repaired(device):
    return flagged(device, on=device)
'''


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.FORWARD:
        return
    first = fact.creations[0]
    yield creation_report(fact, claim(fact, first), _help(fact, first), made_there(fact))


def _help(fact: MixedDevices, first: Creation) -> str:
    if fact.there is None:
        return f"make it on the device of {code(fact.other.text)}"
    verb = "move it to" if takes_no_device(first.function) and not first.of_tensor else "make it"
    return f"{verb} where the model is: {placed(first, fact.there)}"
