"""A tensor is sent to a literal CUDA device, where the code has the right device at hand.

## What it does
Finds `.cuda()`, `.to("cuda")`, `device="cuda"`, `torch.cuda.FloatTensor` and their forms with a fixed number, where
something in reach says which device is meant: a `device` parameter or name, `self.device`, also of the base,
`args.device`, an argument whose class has a `device`, an `Accelerator`, a device chosen by
`torch.cuda.is_available()`, a tensor whose `is_cuda` was asked, or that came from an accelerator and goes back there, a
model that the object was given, or a tensor argument or layer that the result is combined with. Likewise a call that
leaves `device="cuda"` or `use_cuda=True` as it is, a move that ignores the flag of the others, and a
`torch.cuda.Stream()` beside moves to `self.device`.

Also found are `if torch.cuda.is_available(): model.cuda()` of a model whose inputs go to a told device, a
`device="cuda"` handed on, what a Module or a function of tensors makes, or what is made for an argument: with its
dtype, as large, or in one kernel with it; one alone among followed devices.

## Why is this bad?
`.cuda()` means *the current GPU*, not the GPU of the neighbour. It is right on a machine with one GPU, and elsewhere

    AssertionError: Torch not compiled with CUDA enabled
    RuntimeError: No CUDA GPUs are available
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!

are what users of a CPU, of Apple's MPS or of the second GPU see. The question `if x.is_cuda:` before it, or
`assert x.is_cuda`, only helps the first two of them.

## Example
```python
def masked_mean(x, lengths):
    mask = torch.arange(x.shape[1])[None, :] < lengths[:, None].cpu()
    if x.is_cuda:
        mask = mask.cuda()
    return (x * mask).sum(1) / mask.sum(1)
```

## Use instead
```python
def masked_mean(x, lengths):
    mask = torch.arange(x.shape[1])[None, :] < lengths[:, None].cpu()
    mask = mask.to(x.device)
    return (x * mask).sum(1) / mask.sum(1)
```
`.to(x.device)` does nothing where the tensor is already there, so it needs no question before it.

## Fix safety
The fix writes the device that is at hand. It is safe where that is the current GPU in all code that works: the device
of an input of the model or of the tensor whose `is_cuda` was asked, `.to(x.device)`, or one that an operation shows, at
which both have to be together. It is unsafe where nothing meets, since what is at hand may be another place: a device
that a function is given and makes no use of, an attribute such as `self.device`, a tensor argument that came from the
CPU. There is no fix where the name is not surely bound at the call, for a flag, for what only
another function combines, and for a type such as `torch.cuda.FloatTensor`.

## What it cannot see
Devices that are known in another file, such as the attribute of a base class that this file never reads. Code that says
what to do on both sides, that is for CUDA by the name or a decorator of its function, or that has chosen the current
GPU by `torch.cuda.device_of(x)`, or by `torch.cuda.set_device` on every way there, is left alone; a `.cuda()` without
any device in reach is a matter of portability only, but for what a method of a Module makes, or a function that is
given a tensor or a Module, in a file that never asks for CUDA, and in no application. `if torch.cuda.is_available():`
before a move counts as the author's choice where the script moves its model by the same question, and where nothing is
combined with the result. In an application, which nothing installs, nothing is reported where all programs that import
the file run on the current GPU alone: they send things to CUDA, and neither they nor what they import ask whether there
is an accelerator, name another device or the number of a GPU, or take a device from outside. If they send something to
CUDA on every path and ask nothing, what their imports ask does not count. After `if x.is_cuda:` a number is all that
matters. If each program sends something to CUDA on its ways to the place, or surely right on from there, be it in
functions of other files, and all is on the current GPU, or if each calls `torch.cuda.set_device` first, the finding is
*advice*: it is reported where TDL012 is selected (`extend-select = ["TDL012"]`), and the summary counts it. So is one
in a file that nothing imports, runs or names; and one of many: where the file names CUDA in five places at least and in
more than three for each device that it chooses, a change of this line alone helps nobody; so it is in an application of
that kind where all is on the current GPU. Where programs may be on another GPU (`--gpu 1`), it is so if each that comes
to the place names CUDA in five places at least and in more than two for each device that it chooses. And beside the
device of a tensor (`x.device`) it is advice where neither the file nor what leads to the place chooses a device, or
where each function that leads there sends something to CUDA itself: all tensors are on the current GPU then. What an
application shows of itself is listed under [what is advice](../advice.md).

## References
- [torch.Tensor.cuda](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cuda.html): "defaults to the current
  CUDA device"
- [Device-agnostic code](https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code)
- Harry24k/adversarial-attacks-pytorch@d2d6479e, UKPLab/sentence-transformers@3606fa73, coqui-ai/TTS@ca33336a,
  Trusted-AI/adversarial-robustness-toolbox@265f1bd1, huggingface/diffusers@41e10033
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import IgnoresGivenDevice
from torchdevlint.flow.scope.naming_cuda import is_numbered
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity
from torchdevlint.rules.edits import argument_added, call_replaced, fix, replaced
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.WARNING
EXECUTION = "operation"
_MET_ELSEWHERE = ("kept", "buffer", "passed")
"""Kinds of what another function shows, whose device has no name where the literal stands."""
PROBE = '''
"""`.cuda()` beside an argument that is on the CPU fails where there is no GPU; `.to(x.device)` goes where `x` is."""
import torch

NEEDS = "cpu"
RAISES = {
    "AssertionError": ["Torch not compiled with CUDA enabled"],
    "RuntimeError": ["No CUDA GPUs are available", "Found no NVIDIA driver"],
}


def flagged(device):
    x = torch.ones(3, device=device)
    return {"sum": float((x * torch.full((3,), 2.0).cuda()).sum())}


def repaired(device):
    x = torch.ones(3, device=device)
    return {"sum": float((x * torch.full((3,), 2.0).to(x.device)).sum())}
'''


def check(fact: IgnoresGivenDevice) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=_message(fact),
        symptom=(
            "without CUDA, AssertionError: Torch not compiled with CUDA enabled; beside another GPU, RuntimeError: "
            "Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!"
        ),
        help=_help(fact),
        notes=(Note(fact.why, fact.given_at),),
        fix=_fix(fact),
    )


def _fix(fact: IgnoresGivenDevice) -> Fix | None:
    if fact.at.file or not fact.bound:
        return None
    safe = Applicability.SAFE if fact.of_tensor else Applicability.UNSAFE
    return fix(safe, f"write {code(fact.given)}", _edit(fact))


def _edit(fact: IgnoresGivenDevice) -> Edit | None:
    if fact.kind == "default":
        return argument_added(fact.call, fact.at, f"{fact.text.partition('=')[0]}={fact.given}")
    if fact.kind == "stream":
        return argument_added(fact.call, fact.at, fact.given)
    if fact.kind in ("flag", "switch", "lone", "module", "alone", *_MET_ELSEWHERE):
        return None
    if fact.text in (".cuda()", ".cuda(0)"):
        asynchronous = ", non_blocking=True" if _is_asynchronous(fact) else ""
        return call_replaced(fact.call, fact.at, "cuda", f".to({fact.given}{asynchronous})")
    if fact.named_at is None or fact.named_at.file:
        return None
    if fact.call.partition("(")[0].endswith("device"):
        return replaced(fact.at, fact.given)
    return replaced(fact.named_at, fact.given)


def _is_asynchronous(fact: IgnoresGivenDevice) -> bool:
    return "non_blocking=True" in fact.call.replace(" ", "")


def _message(fact: IgnoresGivenDevice) -> str:
    if fact.kind == "flag":
        return f"{code(fact.text)} is done whatever {code(fact.given)} says, which decides the other moves"
    if fact.kind in ("default", "switch"):
        return f"the call leaves {code(fact.text)} as it is, but {code(fact.given)} says which device it has to be"
    which = "first" if "cuda:0" in fact.text or is_numbered(fact.text) else "current"
    if fact.kind == "lone":
        return f"{code(fact.text)} means the {which} GPU, in a file that follows devices, such as {code(fact.given)}"
    if fact.kind == "module":
        return f"{code(fact.text)} means the {which} GPU, wherever {code(fact.given)} is, and nothing asks for one"
    if fact.kind == "alone":
        return f"{code(fact.text)} means the {which} GPU, alone in its file, and nothing says so of {code(fact.given)}"
    if fact.kind in _MET_ELSEWHERE:
        used = "uses it with" if fact.kind == "passed" else "is used with"
        return f"{code(fact.text)} means the {which} GPU, but {code(fact.given)} {used} what may be on another device"
    return f"{code(fact.text)} means the {which} GPU, but {code(fact.given)} says which device it has to be"


def _help(fact: IgnoresGivenDevice) -> str:
    if fact.kind == "flag":
        return f"put it under {edit(f'if {fact.given}:')} too, or give both a device that is chosen once"
    if fact.kind == "buffer":
        return "register it as a buffer or a parameter, which moves with the module"
    if fact.kind in ("lone", "module", "alone"):
        return "give it the device of what it is used with, or a device that is given here"
    if fact.kind in _MET_ELSEWHERE:
        return "make it on a device that is given here, or move it there, to the device of what it is used with"
    if fact.kind == "default":
        name = fact.text.partition("=")[0]
        return f"give it {edit(f'{name}={fact.given}')}"
    if fact.kind == "switch":
        return f"let the function take a device, and give it {edit(fact.given)}"
    if fact.kind == "stream":
        return f"write {edit(f'{fact.text[:-1]}{fact.given})')}"
    if fact.text.startswith("."):
        asynchronous = ", non_blocking=True" if "non_blocking=True" in fact.text.replace(" ", "") else ""
        move = f".to({fact.given}{asynchronous})"
        return f"write {edit(move)}; where the tensor is there already, it does nothing"
    if fact.text.endswith("Tensor"):
        return f"use a factory that takes {edit(f'device={fact.given}')}"
    return f"write {edit(fact.given)} in its place"
