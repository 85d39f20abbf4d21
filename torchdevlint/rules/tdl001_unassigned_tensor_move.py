"""A tensor is moved or converted in a statement of its own, and the result is thrown away.

## What it does
Finds statements such as `labels.to(device)`, `x.cuda()` or `mask.double()` whose receiver is a tensor. These methods
return a *new* tensor and leave the receiver as it is, so a statement that drops the result does nothing. The values of
a state dict are tensors, and so is an entry of a batch that the code asks for its device before.

## Why is this bad?
The tensor stays where it was. On a machine without an accelerator nobody notices; on one with an accelerator the next
operation that needs both sides on one device raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, in newer releases, the same first half followed by `but got target is on cpu, different from other tensors on
cuda:0`. A dropped `x.cpu()` shows as

    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory
    first.

and a dropped conversion such as `x.double()` changes nothing, silently.

**Modules are different.** `net.to(device)` on a `torch.nn.Module` moves the parameters and buffers *in place* and
returns the same module; the assignment in `net = net.to(device)` is harmless, and not needed. Tutorials which say that
a module has to be assigned are wrong, and this rule never asks for it.

## Example
```python
def step(net: nn.Module, images: torch.Tensor, labels: torch.Tensor, device: str) -> torch.Tensor:
    labels.to(device)
    return nn.functional.cross_entropy(net(images.to(device)), labels)
```

## Use instead
```python
def step(net: nn.Module, images: torch.Tensor, labels: torch.Tensor, device: str) -> torch.Tensor:
    labels = labels.to(device)
    return nn.functional.cross_entropy(net(images.to(device)), labels)
```

## Fix safety
The fix writes `labels = ` before the statement. It is safe where a name is moved to an accelerator: the numbers stay
the same, and later lines get the tensor where the statement says. It is unsafe where an attribute or an item is moved,
which other code may hold too; for a conversion such as `x.double()` or `x.type(y.dtype)`, which changes what is
computed; and where later lines may do with a tensor of the CPU: for `x.cpu()`, before `x.numpy()`, and where it meets
a tensor of the CPU that nothing moves, or what `.cpu()` gives. There is no fix where nothing reads the name later, or
where the function does not bind it, since assigning would hide the outer one; none for a Parameter, which would be none
afterwards; and none for an expression that is more than the move.

## What it cannot see
A receiver without evidence that it is a tensor is left alone: an untyped parameter that is only moved may as well be a
module, or one of the batch containers that move in place (`BatchEncoding` of transformers, `Data` of PyTorch
Geometric). A move inside an expression (`print(x.cuda())`) has a result that is used, and is not looked at. Nor is what
only a `DataParallel` reads afterwards, which moves its inputs itself. In an application, which nothing installs, the
finding is [advice](../advice.md) where the tensor is on CUDA by name already (`.type(torch.cuda.FloatTensor)`): with
one GPU the move would do nothing. So it is where the next line moves the tensor, or all callers have moved it, be it
before it was pickled, and so is a conversion, which places nothing.

## References
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html): returns a tensor
- [torch.nn.Module.to](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to):
  modifies the module in place
- dhcode-cpp/X-R1#9, huggingface/accelerate#2251, Michedev/VAE_anomaly_detection#10, kitzeslab/opensoundscape#201,
  hunkim/PyTorchZeroToAll#6, pytorch/pytorch#14068
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import inserted
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "movement"
PROBE = '''
"""`labels.to(device)` as a statement leaves `labels` where it was; `net.to(device)` moves a module in place."""
import torch

NEEDS = "device"
OBSERVES = {"labels moved": False, "labels converted": False, "module moved": True}


def flagged(device):
    labels, net = torch.tensor([0, 1]), torch.nn.Linear(2, 2)
    labels.to(device)
    labels.double()
    net.to(device)
    return observe(labels, net, device)


def repaired(device):
    labels, net = torch.tensor([0, 1]), torch.nn.Linear(2, 2)
    labels = labels.to(device)
    labels = labels.double()
    net.to(device)
    return observe(labels, net, device)


def observe(labels, net, device):
    return {
        "labels moved": labels.device.type == device.type,
        "labels converted": labels.dtype == torch.float64,
        "module moved": net.weight.device.type == device.type,
    }
'''


def check(fact: DiscardedMove) -> Iterator[Report]:
    move = f"{fact.receiver}.{fact.method}({fact.target})"
    stays = "stays where it was" if fact.moves else "keeps its dtype"
    yield Report(
        span=fact.at,
        message=f"the result of {code(move)} is thrown away: {code(fact.receiver)} {stays}",
        symptom=_symptom(fact),
        help=f"{_remedy(fact, move)}; only modules move in place",
        notes=tuple(Note(message, span) for message, span in fact.evidence),
        fix=_fix(fact),
    )


def _remedy(fact: DiscardedMove, move: str) -> str:
    if fact.part_of:
        return f"make the batch anew: {edit(f'{fact.part_of} = [{move} for {fact.receiver} in {fact.part_of}]')}"
    return f"assign it: {edit(f'{fact.receiver} = {move}')}"


def _fix(fact: DiscardedMove) -> Fix | None:
    if not fact.assignable or fact.at.file:
        return None
    safe = fact.harmless and fact.receiver.isidentifier()
    edits = (inserted(fact.at.row, fact.at.column, f"{fact.receiver} = "),)
    return Fix(Applicability.SAFE if safe else Applicability.UNSAFE, f"assign it to {code(fact.receiver)}", edits)


def _symptom(fact: DiscardedMove) -> str:
    if not fact.moves:
        return f"nothing raises here: {code(fact.receiver)} silently keeps its dtype"
    if fact.method == "cpu" or fact.target.strip("\"'") == "cpu":
        return (
            "TypeError: can't convert cuda:0 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )
