"""The forward of a model in `DataParallel` writes to `self`, asks it for parameters, or names a GPU.

## What it does
Looks into the `forward` of a class whose model is wrapped in `nn.DataParallel`, and of its parts, for

- an attribute of `self` that is written there and read by the next call, or through `.module`;
- `next(self.parameters())`;
- tensors that go to a GPU by its number, such as `cuda:0`, and then into a layer.

## Why is this bad?
For each call `DataParallel` makes a replica of the model on every GPU, runs `forward` in all of them at once, and
throws them away. What a replica writes to `self` is gone: the model keeps the hidden state, or the counter, that it had
before. Nothing raises. Since PyTorch 1.5 a replica has no parameters to iterate over either:

    StopIteration: Caught StopIteration in replica 0 on device 0.

And a tensor on `cuda:0` does not fit the layers of the replica on `cuda:1`:

    RuntimeError: Caught RuntimeError in replica 1 on device 1.

On the CPU and with one GPU the model itself is called, and all of this works.

## Example
```python
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)

    def forward(self, x):
        hidden = torch.zeros(len(x), 8, device=next(self.parameters()).device)
        return self.cell(x, hidden)


model = nn.DataParallel(Recurrent().cuda())
```

## Use instead
```python
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)

    def forward(self, x):
        hidden = torch.zeros(len(x), 8, device=x.device)
        return self.cell(x, hidden)


model = nn.DataParallel(Recurrent().cuda())
```
A state belongs into the arguments and the outputs of `forward`. A buffer that is changed in place, `self.seen += 1`,
keeps what the first GPU writes. `DistributedDataParallel` runs the model itself in each process and has none of this.

## Fix safety
There is no automatic fix: what is to become of a state, the code does not say.

## What it cannot see
Models whose class is not known, wraps in other files, state that is kept in containers or under computed names, and
attributes that another method reads: whether it does so after a call of the wrapper is not sure. A write under a test
for the same attribute is taken for a cache, which is made again where it is lost.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): "In each forward,
  module is replicated on each device, so any updates to the running module in forward will be lost"
- `next(self.parameters())`: pytorch/pytorch#40457, pytorch/pytorch#38493, huggingface/transformers#8145
- State: OpenNMT/OpenNMT-py#125, edenton/svg#9
- One GPU for all: bentrevett/pytorch-seq2seq#4, BangLiu/QANet-PyTorch#3
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.parallel import StateOfReplica
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.WARNING
EXECUTION = "exception"
PROBE = '''
"""A replica has no parameters to iterate over."""
import torch

NEEDS = "two"
RAISES = {"StopIteration": ["Caught StopIteration in replica 0 on device 0"]}


class Net(torch.nn.Linear):
    inside = True

    def forward(self, x):
        device = next(self.parameters()).device if self.inside else x.device
        return super().forward(x) + torch.ones(2, device=device)


def flagged(device):
    return {"rows": len(torch.nn.DataParallel(Net(4, 2).to("cuda:0"))(torch.rand(8, 4)))}


def repaired(device):
    Net.inside = False
    return flagged(device)
'''
WHAT = {
    "write": "is written in a replica of `{}`, and lost after the call",
    "parameters": "finds nothing: a replica of `{}` has no parameters to iterate over",
    "device": "is the GPU of one replica of `{}`; the layers of the others are elsewhere",
}
SYMPTOM = {
    "write": "with more than one GPU nothing raises, and the attribute silently keeps its old value",
    "parameters": "StopIteration: Caught StopIteration in replica 0 on device 0., where there is more than one GPU",
    "device": "RuntimeError: Caught RuntimeError in replica 1 on device 1. (Expected all tensors to be on the same "
    "device), where there is more than one GPU",
}
HELP = {
    "write": "return the value and give it to the next call, or change a registered buffer in place",
    "parameters": "take the device of an input of `forward`: `x.device`",
    "device": "take the device of an input of `forward`: `x.device`",
}


def check(fact: StateOfReplica) -> Iterator[Report]:
    where = fact.at if fact.inside is None else fact.inside
    notes = [Note(f"`{fact.class_name}` is wrapped in `DataParallel` here", fact.wrapped_at)]
    if fact.inside is not None:
        notes.append(Note("in its forward", where))
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} {WHAT[fact.kind].format(fact.class_name)}",
        symptom=SYMPTOM[fact.kind],
        help=HELP[fact.kind],
        notes=tuple(notes),
    )
