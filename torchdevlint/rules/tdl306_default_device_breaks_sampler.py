"""The default device is an accelerator, and a sampler shuffles with a generator of the CPU.

## What it does
Finds `DataLoader(.., shuffle=True)`, `RandomSampler(..)` and `random_split(..)` without `generator=`, and a
`DistributedSampler` that shuffles, where the file has made an accelerator the default before, by
`torch.set_default_device(..)` or `torch.set_default_tensor_type(..)`.

## Why is this bad?
A sampler draws a permutation by `torch.randperm(n, generator=generator)`. The permutation is made on the default
device, and the generator that the sampler makes for itself is one of the CPU:

    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'

It is raised when the loader is iterated over, and by `random_split` at once.

## Example
```python
torch.set_default_device("cuda")
data = torch.utils.data.TensorDataset(torch.arange(100))
loader = torch.utils.data.DataLoader(data, batch_size=10, shuffle=True)
```

## Use instead
```python
torch.set_default_device("cuda")
data = torch.utils.data.TensorDataset(torch.arange(100))
loader = torch.utils.data.DataLoader(data, batch_size=10, shuffle=True, generator=torch.Generator(device="cuda"))
```
Better still is to leave the default alone, and to write `device=` where tensors are made: data sets and workers then
stay on the CPU, where they belong. A `DistributedSampler` takes no generator.

## Fix safety
The fix gives the call a generator of the default device, where the expression for that device can be written there. It
is unsafe: another generator gives another order than the global one that a seed was set for.

## What it cannot see
Defaults that another file sets, and `shuffle=` with a value that is not known. A generator that is given is taken to be
the right one. Where a file also sets the default back to the CPU, other than in the other arm of the same `if`, and
where a loader is made in one function and the default is set in another that does not call it, nothing is said.

## References
- [torch.set_default_device](https://docs.pytorch.org/docs/stable/generated/torch.set_default_device.html)
- pytorch/pytorch#62152, pytorch/pytorch#61457, amdegroot/ssd.pytorch#578, dbolya/yolact#664, pyro-ppl/pyro#3264,
  lywang3081/AFEC#4
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import SamplerOnCpu
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import argument_added, fix
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""With an accelerator as the default device, a loader that shuffles needs a generator of that device."""
import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["device type for generator but found 'cpu'"]}


def flagged(device):
    torch.set_default_device(device)
    loader = DataLoader(TensorDataset(torch.arange(4)), shuffle=True)
    return {"batches": len(list(loader))}


def repaired(device):
    torch.set_default_device(device)
    loader = DataLoader(TensorDataset(torch.arange(4)), shuffle=True, generator=torch.Generator(device=device))
    return {"batches": len(list(loader))}
'''


def check(fact: SamplerOnCpu) -> Iterator[Report]:
    notes = () if fact.set_at is None else (Note("the default device is set here", fact.set_at),)
    yield Report(
        span=fact.at,
        message=f"{code(fact.call)} shuffles on the CPU, but {code(fact.how)} changes the default device",
        symptom="RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
        help=(
            f"add {edit(fact.generator)}"
            if fact.generator
            else "leave the default device alone and write `device=` where tensors are made"
        ),
        notes=notes,
        fix=_fix(fact),
    )


def _fix(fact: SamplerOnCpu) -> Fix | None:
    if not fact.generator or not fact.text:
        return None
    edits = argument_added(fact.text, fact.at, fact.generator)
    return fix(Applicability.UNSAFE, f"add {edit(fact.generator)}", edits)
