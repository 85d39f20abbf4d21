"""A tensor that is to be trained is moved, or scaled, after it was made to require a gradient: it is no leaf.

## What it does
Finds tensors that are made with `requires_grad=True`, by `.requires_grad_()` or `nn.Parameter(...)`, and then moved in
the same expression or under the same name, or combined with a number, where the *result* is given to an optimizer of
`torch.optim`, or has its `.grad` read after `backward()`: `w = torch.randn(3, requires_grad=True).to(device)`.

## Why is this bad?
Autograd fills `.grad` of leaves only. `.to(device)` gives the tensor itself where there is nothing to do, so that the
line is right on the CPU; on an accelerator it gives a new tensor, computed from the leaf. The optimizer refuses it,

    ValueError: can't optimize a non-leaf Tensor

and without an optimizer, `w.grad` stays None, with a warning that begins "The .grad attribute of a Tensor that is not
a leaf Tensor is being accessed", until the update fails:

    TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'

`torch.randn(3, requires_grad=True) * 0.01` is no leaf on any machine.

## Example
```python
def fit(x, y, device):
    w = torch.zeros(3, requires_grad=True).to(device)
    optimizer = torch.optim.SGD([w], lr=0.1)
    ((x * w - y) ** 2).sum().backward()
    optimizer.step()
```

## Use instead
```python
def fit(x, y, device):
    w = torch.zeros(3, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    ((x * w - y) ** 2).sum().backward()
    optimizer.step()
```
Where the values have to be computed first, `.requires_grad_()` stands last: `(torch.randn(3) * 0.01).to(device)
.requires_grad_()`.

## Fix safety
The fix lets `.requires_grad_()` come last, with the same numbers; where `requires_grad=True` is not written in the same
expression, it cuts the tensor off by `.detach()` first. It is safe for a move, after which nothing that worked is
different: on the CPU the tensor was that leaf already. It is unsafe behind other operations, where the tensor before
them may be the one that is meant, for a Parameter, which on the CPU the result was, and where the tensor is written in
place, which a leaf refuses.

## What it cannot see
Tensors that are made in one function and given to an optimizer in another one, or whose name is assigned more than
twice; operations other than arithmetic with a number; `w.requires_grad = True` on a line of its own, and `.clone()` or
`.double()` after it. It is silent where `.grad` is only compared with None, where `retain_grad` is used, and for
`torch.autograd.grad`, which takes such tensors. Parameters that a Module keeps are another rule's, TDL103.

## References
- [torch.Tensor.is_leaf](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)
- pytorch/pytorch#140469, vinsis/ternary-quantization#4, mazzzystar/randomCNN-voice-transfer#16,
  hhsecond/HandsOnDeepLearningWithPytorch#2
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import NonLeaf
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import argument_removed, call_added, fix
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "exception"

_METHOD = ".requires_grad_()"
PROBE = '''
"""A leaf that is moved to an accelerator gives a tensor that no optimizer takes; one that is made there is taken."""
import torch

NEEDS = "device"
RAISES = {"ValueError": ["can't optimize a non-leaf Tensor"]}


def flagged(device):
    w = torch.zeros(3, requires_grad=True).to(device)
    return {"groups": len(torch.optim.SGD([w], lr=0.1).param_groups)}


def repaired(device):
    w = torch.zeros(3, device=device, requires_grad=True)
    return {"groups": len(torch.optim.SGD([w], lr=0.1).param_groups)}
'''


def check(fact: NonLeaf) -> Iterator[Report]:
    where = "no leaf on an accelerator" if fact.why == "move" else "no leaf"
    if fact.use == "optimizer":
        why, symptom = "the optimizer takes leaves only", "ValueError: can't optimize a non-leaf Tensor"
        used = f"`{fact.name}` is given to the optimizer here"
    else:
        why = "backward fills `.grad` of leaves only"
        symptom = f"nothing raises here: `{fact.name}.grad` is None after backward, with a warning"
        used = f"`{fact.name}.grad` is read here"
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} is {where}, and {why}",
        symptom=symptom,
        help="make it where it belongs, with `device=`, or let `.requires_grad_()` come last",
        notes=(Note(used, fact.used_at),),
        fix=_fix(fact),
    )


def _asked(leaf: str, at: Span) -> Edit | None:
    """The edit that takes the wish for a gradient from the call that makes the leaf."""
    if leaf.endswith(_METHOD):
        return Edit("", Span(at.end_row, at.end_column - len(_METHOD), at.end_row, at.end_column, at.file))
    return argument_removed(leaf, at, "requires_grad")


def _fix(fact: NonLeaf) -> Fix | None:
    asked = None if fact.leaf_at is None else _asked(fact.leaf, fact.leaf_at)
    last = _METHOD if asked is not None else f".detach(){_METHOD}"
    edits = (*([] if asked is None else [asked]), *call_added(fact.text, fact.at, last))
    safe = fact.why == "move" and "Parameter" not in fact.leaf and not fact.written
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    return fix(applicability, "let it require a gradient last", *edits)
