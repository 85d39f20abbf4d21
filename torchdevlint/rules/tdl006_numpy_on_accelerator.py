"""NumPy, or a library that works through it, is given a tensor that is on an accelerator.

## What it does
Finds `.numpy()`, `np.array(t)`, `np.concatenate(outputs)` and other functions of NumPy, assignments into its arrays,
and calls of matplotlib, scikit-learn, pandas, Pillow and `torchaudio.save`, on a tensor that was moved to an
accelerator, that a moved model computed, or that comes into the `forward` of a Module or an autograd Function. What a
Module gives in its other methods, what it appends to a list on `self` and what a hook keeps is where its parameters
are. A function expects any device if it gives that of an argument to what it makes, or reads anything by
`.cpu().numpy()`: then what is detached may be elsewhere too, and so may another argument, the same one under another
option (`mode == "fast"`), and another item of what one call gave. What a test has moved is on its device on that path.
An argument that is read as it came is found if a file of the project gives it a tensor of an accelerator, and in code
that others use, where nothing says that it is on the CPU.

## Why is this bad?
A NumPy array lives in the memory of the host, so PyTorch refuses to make one from memory of a device:

    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory
    first.

On the CPU the same line works, and even shares the memory. It is mostly the last line of an evaluation, after the
model has run for hours.

## Example
```python
@torch.no_grad()
def predict(model, loader, device):
    model.to(device).eval()
    scores = []
    for x, _ in loader:
        scores.append(model(x.to(device)).softmax(-1).numpy())
    return scores
```

## Use instead
```python
@torch.no_grad()
def predict(model, loader, device):
    model.to(device).eval()
    scores = []
    for x, _ in loader:
        scores.append(model(x.to(device)).softmax(-1).cpu().numpy())
    return scores
```
`.cpu()` returns the tensor itself where it is on the CPU already, so nothing is copied there. Outside of `no_grad` it
is `.detach().cpu().numpy()`; a single number is had by `.item()`, a nested list by `.tolist()`, from any device.

## Fix safety
The fix puts `.cpu()` behind the tensor, and `.detach()` before it where the tensor is a parameter. It is safe where
the tensor is read by `.numpy()`, since `.cpu()` gives the same numbers, and the tensor itself on the CPU. It is unsafe
where another function reads what a model of unknown class gave: that may be a tuple or a dict, which has no `.cpu()`.
A list of tensors that has a name is copied item by item, which is unsafe, since it may hold other things as well. So is
a copy for a function such as `np.tanh`, which gives a tensor back, where that meets others: these may be elsewhere.

## What it cannot see
Tensors that come out of functions of other files, and models whose move is not seen. Axes of matplotlib
count where they are made, alone or in a grid, not as an argument. Methods that load, save or dump are taken to
run before the model is moved, and a script that gives something unknown to a function knows where that is. `float(t)`,
`print(t)`, `for` and plain Python functions copy a number or an item themselves and are right, as are torchvision's and
TensorBoard's functions, which call `.cpu()`, and what NumPy leaves to a method of the tensor, such as `np.nonzero(t)`.
In an application a finding is [advice](../advice.md) where no call gives the function what was placed on an
accelerator, and the function does not speak of devices itself.

## References
- [torch.Tensor.numpy](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html): "the tensor must be on
  the CPU"
- UKPLab/sentence-transformers@af179bf1, coqui-ai/TTS@61a1d59a, allenai/allennlp@6c66c7e4, pykeen/pykeen@2d74d06f,
  Trusted-AI/adversarial-robustness-toolbox@bce965c9
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.tensors import ReadOnHost
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import call_added, call_before, replaced
from torchdevlint.rules.wording import code, edit, is_on, operand

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""The output of a model on an accelerator cannot become a NumPy array before it is copied to the host."""
import torch

NEEDS = "accelerator"
RAISES = {"TypeError": ["device type tensor to numpy. Use Tensor.cpu()"]}


def flagged(device, copy=lambda output: output):
    model = torch.nn.Linear(2, 2).to(device)
    output = model(torch.ones(1, 2, device=device)).detach()
    return {"shape": list(copy(output).numpy().shape)}


def repaired(device):
    return flagged(device, lambda output: output.cpu())
'''


def check(fact: ReadOnHost) -> Iterator[Report]:
    notes = tuple(Note(message, span) for message, span in fact.value.evidence if span != fact.at)
    if fact.led_by is not None:
        notes = (Note("NumPy reads it here", fact.at), *notes)
    yield Report(
        span=fact.at if fact.led_by is None else fact.led_by.span,
        message=f"{code(fact.call)} needs a tensor of the CPU, but {is_on(fact.value.text, fact.value.device)}",
        symptom=(
            "TypeError: can't convert cuda:0 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        ),
        help=f"copy it to the host first: {edit(_copied(fact))}",
        notes=notes,
        fix=_fix(fact),
    )


def _copied(fact: ReadOnHost) -> str:
    """The tensor as the host can read it; with ``.numpy()``, if that is how it was read."""
    tail = ".numpy()" if fact.call.rstrip().endswith(".numpy()") else ""
    return f"{operand(fact.value.text)}{_copy(fact)}{tail}"


def _copy(fact: ReadOnHost) -> str:
    detached = fact.value.text.endswith((".detach()", ".data"))
    return ".detach().cpu()" if fact.needs_detach and not detached else ".cpu()"


def _fix(fact: ReadOnHost) -> Fix | None:
    value, copy = fact.value, _copy(fact)
    if fact.at.file or value.span.file or value.text.startswith("*"):
        return None
    before = call_before(fact.call, fact.at, "numpy", copy)
    if before is not None:
        return Fix(Applicability.SAFE, f"put {code(copy)} before `.numpy()`", (before,))
    if fact.of_list:
        return _fix_of_list(value, copy)
    edits = call_added(value.text, value.span, copy) if fact.surely or fact.opaque else ()
    if not edits:
        return None
    sure = Applicability.UNSAFE if fact.opaque or fact.meets_others else Applicability.SAFE
    return Fix(sure, f"append {code(copy)} to {code(value.text)}", edits)


def _fix_of_list(value: Operand, copy: str) -> Fix | None:
    """A new list in the place of a named one."""
    if not value.text.replace(".", "").isidentifier():
        return None
    edits = (replaced(value.span, f"[each{copy} for each in {value.text}]"),)
    return Fix(Applicability.UNSAFE, f"copy what {code(value.text)} holds", edits)
