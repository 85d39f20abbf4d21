"""A part of a batch stays where the loader made it, and meets a model or an output on an accelerator.

## What it does
Finds inputs, labels and masks that come out of a loader and reach the model, the loss or another operation as they
were collated, while the model or the other part of the batch was moved. The classic is a training loop that moves `x`
and forgets `y`. A loop over something of unknown kind counts as one over a loader if it unpacks what it gets and moves
a part of it; so does an argument named like data, of which a function that nothing in the file calls moves a part. A
model of unknown kind is taken to be where its inputs were moved, also in another method of its class, or where a method
asks it to be, or where a device is told that nothing reads. What a tokenizer or processor of transformers gives with
`return_tensors="pt"` is such a batch as well, until its `to`, which works in place, or its entries are moved; a model
that `from_pretrained` reads is on the CPU until it is moved, unless it is told a `device_map`. Of
`model(batch["ids"].to(device), batch["mask"])`, the part that is not moved counts as well.

## Why is this bad?
A `DataLoader` gives tensors of the CPU, and pinning them does not move them either. So the first step on an accelerator
raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, from a newer release, the same first half and `but got target is on cpu, different from other tensors on cuda:0`;
from a convolution, `Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same`.
Validation loops are hit most, because they run first after an hour of training.

## Example
```python
def train(model, loader, optimizer, device):
    model.to(device)
    for images, labels in loader:
        images = images.to(device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```

## Use instead
```python
def train(model, loader, optimizer, device):
    model.to(device)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```
The tokens of CLIP's packages are on the CPU as well, and `clip.load` puts the model on the GPU where there is one, or
on the device that it is told: `clip.tokenize(texts).to(device)`. A batch that is a dict is moved by
`{name: value.to(device) for name, value in batch.items()}`.

## Fix safety
The fix is unsafe: code further down may need the copy on the CPU. It appends `.to(..)` where the part of the batch is
used, or assigns it before that statement where more code reads it. The device is the one that the code names, or that
of the other side. A batch that comes as it is may be a list or a dict, so that its fix is only shown.

## What it cannot see
Loaders and models of which this file shows neither a move nor a device. The name of a loader says little: a batch is
reported where another part of it, or of a batch elsewhere in the file, is moved, where the loader is made of data that
is followed, or where the code around the loop speaks of devices; not where an `if` decides whether the very part is
moved, and not where a Module runs itself on data that it is given. Beside models of the project that move what they
get, it is advice what a model that is not known gets. Code that Lightning, Accelerate or
the Trainer of transformers runs is left alone, because these move batches themselves; so are the inputs of
`DataParallel` and `DistributedDataParallel`, which scatter them, but not the labels. In files that use DGL or PyTorch
Geometric, a part that reaches the model counts only where it is used as a tensor, or is called as parts of graphs are
(`data.x`, of what is asked for its `edge_index` too): the others are graphs. A single element of a part, `sizes[0]`,
may be a number, which goes with any device, and a batch of which an attribute is written anew may have been moved. What
follows moved data into a model of another file, and is not used as a tensor, may be texts. A tensor that comes as an
argument beside the loader is where the caller put both. A batch is reported once for each loop, where the first of its
parts is used.

## References
- [torch.utils.data](https://docs.pytorch.org/docs/stable/data.html): collation, and why workers return CPU tensors
- coqui-ai/TTS@fda7e7f6, huggingface/diffusers@d31061b2, lucidrains/DALLE2-pytorch@86e2d5ba,
  Trusted-AI/adversarial-robustness-toolbox@bce965c9
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import BatchNotMoved
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import added_before, call_added, fix
from torchdevlint.rules.wording import code, edit, is_on, operand

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""Labels that a `DataLoader` gives are on the CPU, and do not meet the output of a model on an accelerator."""
import torch

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["Expected all tensors to be on the same device"]}


def flagged(device, move=lambda labels: labels):
    data = torch.utils.data.TensorDataset(torch.ones(2, 3), torch.tensor([0, 1]))
    model = torch.nn.Linear(3, 2).to(device)
    for x, labels in torch.utils.data.DataLoader(data, batch_size=2):
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), move(labels))
    return {"loss is a number": loss.item() > 0}


def repaired(device):
    return flagged(device, lambda labels: labels.to(device))
'''


def check(fact: BatchNotMoved) -> Iterator[Report]:
    name = code(fact.name)
    notes = {fact.loaded_at: Note(f"{name} comes from here", fact.loaded_at)}
    if fact.loop_at is not None:
        notes.setdefault(fact.loop_at, Note(f"the {fact.made_by} gives it here", fact.loop_at))
    if fact.met_at is not None:
        notes.setdefault(fact.met_at, Note(f"it meets {code(fact.other.text)} here", fact.met_at))
    for message, span in fact.other.evidence:
        notes.setdefault(span, Note(message, span))
    if fact.beside is not None:
        part, span = fact.beside
        notes.setdefault(span, Note(f"{code(part)}, of the same batch, is moved here", span))
    if fact.shown is not None:
        notes.setdefault(fact.shown[1], Note(*fact.shown))
    apart = f"{name} is where the {fact.made_by} made it, but {is_on(fact.other.text, fact.other.device)}"
    message = f"{apart}; they meet in {fact.operation}"
    if fact.led_by:
        message = f"{code(fact.led_by)} leads to {fact.operation} in another file, where {apart}"
    yield Report(
        span=fact.at,
        message=message,
        symptom=(
            "RuntimeError: Expected all tensors to be on the same device, "
            "but found at least two devices, cuda:0 and cpu!"
        ),
        help=f"move it before it is used: {edit(f'{operand(fact.name)}.to(device)')}",
        notes=tuple(note for span, note in notes.items() if span != fact.at),
        fix=_fix(fact),
    )


def _fix(fact: BatchNotMoved) -> Fix | None:
    if fact.name_at is None or fact.here is None:
        return None
    move = f".to({fact.here})"
    sure = Applicability.DISPLAY if fact.whole else Applicability.UNSAFE
    if fact.before is not None:
        indentation = " " * (fact.before.column - 1)
        moved = f"{fact.name} = {fact.name}{move}"
        return fix(sure, f"write {edit(moved)} before it", added_before(fact.before, f"{moved}\n{indentation}"))
    return fix(sure, f"append {code(move)} to {code(fact.name)}", *call_added(fact.name, fact.name_at, move))
