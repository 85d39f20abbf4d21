"""A loop moves its own loop variable, and what it ran over keeps the old tensors.

## What it does
Finds `for t in batch: t = t.to(device)`, `for k, v in batch.items(): v = v.to(device)`, and a comprehension of moves
whose list nobody keeps. The assignment rebinds the loop variable and nothing else: the list or dict still holds the
tensors that were in it.

## Why is this bad?
The batch stays on the CPU although the code reads as if it were moved, and the copy to the accelerator is made and
dropped for every tensor. The first operation with the model's parameters raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

On a machine without an accelerator there is no symptom at all.

## Example
```python
def step(model: nn.Module, batch: dict[str, torch.Tensor], device: str) -> torch.Tensor:
    for key, value in batch.items():
        value = value.to(device)
    return model(**batch)
```

## Use instead
```python
def step(model: nn.Module, batch: dict[str, torch.Tensor], device: str) -> torch.Tensor:
    batch = {key: value.to(device) for key, value in batch.items()}
    return model(**batch)
```

## Fix safety
The fix of a loop over `batch.items()` writes into `batch[key]`; that of a loop over a list which does nothing but move
makes it an assignment of a comprehension, and a comprehension as a statement is assigned. These are unsafe, since the
container may be shared, or be a tuple. It is safe for names in a literal, `for t in (x, y)`, which are assigned anew,
unless they are moved to the CPU or later lines read them with NumPy.
There is no fix for other loops over lists, for `enumerate`, `zip` and `.values()`, and where a comment would be lost.

## What it cannot see
A loop variable that is used again in the body, or whose value is written back, appended or returned, is left alone,
also where that use does not help the container. Containers with a `.to()` of their own are not followed.

## References
- [The for statement](https://docs.python.org/3/reference/compound_stmts.html#the-for-statement): assigning to the
  target does not affect the sequence
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html)
- huggingface/transformers#5223 shows both right forms for a dict; pytorch/pytorch#14068 asks about the same surprise
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import DeadLoopMove
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import added_before, fix, replaced
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "movement"
PROBE = '''
"""A loop that assigns a moved tensor to its own loop variable leaves the list or dict as it was."""
import torch

NEEDS = "device"
OBSERVES = {"list moved": False, "dict moved": False}


def flagged(device):
    batch, named = [torch.zeros(2)], {"x": torch.zeros(2)}
    for tensor in batch:
        tensor = tensor.to(device)
    for key, value in named.items():
        value = value.to(device)
    return observe(batch, named, device)


def repaired(device):
    batch, named = [torch.zeros(2)], {"x": torch.zeros(2)}
    batch = [tensor.to(device) for tensor in batch]
    named = {key: value.to(device) for key, value in named.items()}
    return observe(batch, named, device)


def observe(batch, named, device):
    return {"list moved": batch[0].device.type == device.type, "dict moved": named["x"].device.type == device.type}
'''


def check(fact: DeadLoopMove) -> Iterator[Report]:
    container = code(fact.container)
    if fact.form == "comprehension":
        message = f"the moved tensors of this comprehension are thrown away: {container} keeps the old ones"
    else:
        message = f"this loop moves {code(fact.name)} and drops it: {container} keeps the old tensors"
    yield Report(
        span=fact.at,
        message=message,
        symptom=(
            "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
            "cuda:0 and cpu!"
        ),
        help=f"keep the results: {edit(_kept(fact))}",
        fix=_fix(fact),
    )


def _fix(fact: DeadLoopMove) -> Fix | None:
    sure = Applicability.SAFE if fact.literal and fact.harmless else Applicability.UNSAFE
    if fact.form == "comprehension":
        return (
            fix(sure, f"assign it to {code(fact.path)}", added_before(fact.at, f"{fact.path} = "))
            if fact.path
            else None
        )
    if fact.item is not None and fact.name_at is not None:
        return fix(sure, f"write it into {code(fact.item)}", replaced(fact.name_at, fact.item))
    if fact.path is None or fact.loop_at is None:
        return None
    written_out = f"({fact.container})" if fact.literal and fact.container[0] not in "([" else fact.container
    kept = f"{fact.path} = [{fact.move} for {fact.name} in {written_out}]"
    return fix(sure, f"write {edit(kept)}", replaced(fact.loop_at, kept))


def _kept(fact: DeadLoopMove) -> str:
    move = f"{fact.name}.to({fact.target})" if fact.target else f"{fact.name}.cuda()"
    container = fact.container.removesuffix(".items()").removesuffix(".values()")
    if fact.form == "dict":
        return f"{container} = {{key: {move} for key, {fact.name} in {container}.items()}}"
    return f"{container} = [{move} for {fact.name} in {container}]"
