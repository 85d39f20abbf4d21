"""A function makes a tensor on the default device and combines it with an argument, which may be anywhere.

## What it does
Finds `torch.arange(...)`, `torch.tensor(...)` and every other factory without `device=` in code outside of `forward`:
losses, metrics, masks, samplers, draws of distributions, and constants of the module. It reports the factory when its
tensor meets a tensor argument of the function, what comes out of one (`prediction["boxes"]`), a parameter of a model
that is one, or something made on a device that the function was given; when it is filled from an argument and returned,
or returned with its shape and dtype; when a kernel or a collective gets both; when a stand-in for an operator gives it;
when it takes the place of what a layer holds; when an object keeps it beside others that are on a device; when it is as
large as its partner in an operation; when a model gets it beside an input that was moved; when a test asserts that both
are close; and when it is returned for a special case (`if not len(boxes): return torch.zeros(0, 4)`) beside what an
argument gives.

## Why is this bad?
A function cannot know where its arguments are. The factory makes its tensor on the default device, which is the CPU,
so the function works in every test on a CPU and dies when it gets a tensor from the accelerator:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, for a table that is read with the argument,

    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)

or, for a gradient that `backward` or `torch.autograd.grad` is given,

    RuntimeError: invalid gradient at index 0 - expected device cuda:0 but got cpu

A buffer that is filled by slices raises nothing: `out[:, 0] = x` copies to the CPU, and what is returned is silently
there. Nor does a stand-in: what is compiled takes the operator's result to be on the CPU. A kernel that does not look
reads or writes memory that is not its own. Of several tensors that a function makes alike, and returns or hands on
together, one alone may have forgotten the device: they meet where they are used. So does what has the dtype of another
tensor (`torch.zeros(3, dtype=x.dtype)`) and goes with it into a call, and what the two arms of a test make for one
name.

## Example
```python
def length_mask(lengths: torch.Tensor, size: int) -> torch.Tensor:
    return torch.arange(size)[None, :] < lengths[:, None]
```

## Use instead
```python
def length_mask(lengths: torch.Tensor, size: int) -> torch.Tensor:
    return torch.arange(size, device=lengths.device)[None, :] < lengths[:, None]
```
`x.new_zeros(...)`, `x.new_tensor(...)` and `torch.zeros_like(x)` take the device from `x` as well. A constant of the
module is moved where it is used: `ANCHORS.to(x.device)`.

## Fix safety
The fix adds `device=` to the factory, or `.to(..)` to one that takes no device, with the device of the argument. It is
safe where the function gets one tensor. It is unsafe where it gets several, of which another may be the right one;
where the factory is random, or numbers are drawn by the tensor (`torch.bernoulli(p)`), since another device draws other
numbers; where the tensor is only returned, or meets another of the CPU, which stays there; and for a constant of the
module, which the fix moves where it is used, each time. There is no fix where no name for the device is surely bound at
the factory, nor for `torch.FloatTensor` and its kin of what may be a tensor, since they refuse one of an accelerator.

## What it cannot see
Code that only ever gets tensors of the CPU. It is taken for such when its place says so: data sets, collate functions,
transforms given to `Compose`, arguments named like data, factories that draw from a generator that the function
chooses or is given (`torch.randn(3, generator=g)` raises with a generator of the accelerator, so `g` is one of the
CPU), functions whose callers give them tensors of the CPU, those that end in `.numpy()` without a `.cpu()`, and those
that initialise parameters. Callers in other files of the project count as well, where at most eight files name the
function, and so do programs that call it and have nothing to do with accelerators; a function that nobody calls there
is one for users of the project. Callers are followed through what they hand on; an argument that one of them reads by
NumPy as it came was on the CPU, as is what torchvision converts and what `map_location="cpu"` reads. Private functions
that only a program which is traced comes to are left alone, and what a function returns where all that can call it move
it at once (`_table(x).to(device)`). One is reported
whose arguments a method of a base in another file brings to the CPU.

In an application, which nothing installs, a finding is *advice* (reported where TDL014 is selected, and counted by the
summary) if no call that is seen gives the function what was placed, and the function itself does not speak of devices:
it was run on a GPU, and would have been mended. So is that of every rule in what no program of an application comes to.

Arguments without an annotation count as tensors when the docstring says so, or when they are used as only a tensor can
be, or asked for their shape and calculated with beside a tensor; indexing and arithmetic alone do not tell a tensor
from an array. What an argument of a class of another file holds
is where the argument is, unless its names speak of data sets. A buffer that is filled and then given to another
function, instead of being returned, is seen only where that is a metric of torchmetrics or an operator of `torch.ops`.
What a Python function of another library gets may be moved there, so that masks and tables are not reported, and so may
the labels that a loss of one gets.
A tensor of the CPU that `torch.distributed` sends is the subject of TDL404.

## References
- [Tensor creation ops](https://docs.pytorch.org/docs/stable/torch.html#creation-ops) and their `device` argument
- KevinMusgrave/pytorch-metric-learning@78429543, openai/whisper@f6805700, allenai/allennlp@e5a33d9e,
  pyg-team/pytorch_geometric@4a46e7f1, pyro-ppl/pyro@d52e215a, cornellius-gp/gpytorch@251eba68,
  qubvel/segmentation_models.pytorch@b74d91f0
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.common import Creation
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.mixed import Cause, cause_of, claim, creation_report, made_there, moved_there, placed
from torchdevlint.rules.wording import code, operand

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A mask that a function makes on the default device cannot be compared with an argument on the accelerator."""
import torch

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["Expected all tensors to be on the same device"]}


def length_mask(lengths, size, on=None):
    return torch.arange(size, device=on)[None, :] < lengths[:, None]


def flagged(device, on=None):
    mask = length_mask(torch.tensor([1, 2], device=device), 3, on)
    return {"mask": str(mask.device)}


def repaired(device):
    return flagged(device, on=device)
'''


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.ARGUMENT:
        return
    first = fact.creations[0]
    if first.drawn:
        return
    yield creation_report(fact, claim(fact, first), _help(fact, first), _fix(fact, first))


def _help(fact: MixedDevices, first: Creation) -> str:
    if first.where == "module":
        return f"move it where it is used: {code(_moved(fact))}"
    if fact.there is None:
        return f"make it on the device of {code(fact.other.text)}"
    return f"make it where the argument is: {placed(first, fact.there)}"


def _moved(fact: MixedDevices) -> str:
    """A constant of the module, on the device that it is needed on."""
    other = f"{fact.other.text}.device" if fact.other.text.isidentifier() else "device"
    return f"{operand(fact.stayed.text)}.to({fact.here or other})"


def _fix(fact: MixedDevices, first: Creation) -> Fix | None:
    if first.where != "module":
        return made_there(fact)
    edits = moved_there(fact)
    return Fix(Applicability.UNSAFE, f"move it where it is used: {code(_moved(fact))}", edits) if edits else None
