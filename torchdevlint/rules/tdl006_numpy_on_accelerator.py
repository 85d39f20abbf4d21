"""NumPy, or a library that works through it, is given a tensor that is on an accelerator.

## What it does
Finds `.numpy()`, `np.array(t)`, `np.concatenate(outputs)` and other functions of NumPy, assignments into its arrays,
and calls of matplotlib, scikit-learn, pandas and Pillow, on a tensor that was moved to an accelerator, that a moved
model computed, or that comes into the `forward` of a Module or an autograd Function. A function that gives the device
of its argument to what it makes expects any device, so that its `.numpy()` is found too.

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
There is no automatic fix: `.cpu()` copies, and waits for the device, which belongs where the author wants it.

## What it cannot see
Tensors that come out of functions of other files, and models whose move is not seen. Axes of matplotlib
count where they are made by themselves, not in a grid or as an argument. Methods that load, save or dump are taken to
run before the model is moved, and a script that gives something unknown to a function knows where that is. `float(t)`,
`print(t)`, `for` and plain Python functions copy a number or an item themselves and are right, as are torchvision's and
TensorBoard's functions, which call `.cpu()`, and what NumPy leaves to a method of the tensor, such as `np.nonzero(t)`.

## References
- [torch.Tensor.numpy](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html): "the tensor must be on
  the CPU"
- UKPLab/sentence-transformers@af179bf1, coqui-ai/TTS@61a1d59a, allenai/allennlp@6c66c7e4, pykeen/pykeen@2d74d06f,
  Trusted-AI/adversarial-robustness-toolbox@bce965c9
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import ReadOnHost
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code, edit, operand

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
    yield Report(
        span=fact.at,
        message=f"{code(fact.call)} needs a tensor of the CPU, but {code(fact.value.text)} is on {fact.value.device}",
        symptom=(
            "TypeError: can't convert cuda:0 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        ),
        help=f"copy it to the host first: {edit(_copied(fact))}",
        notes=notes,
    )


def _copied(fact: ReadOnHost) -> str:
    """The tensor as the host can read it; with ``.numpy()``, if that is how it was read."""
    text = fact.value.text
    detach = "" if not fact.needs_detach or text.endswith((".detach()", ".data")) else ".detach()"
    tail = ".numpy()" if fact.call.rstrip().endswith(".numpy()") else ""
    return f"{operand(text)}{detach}.cpu(){tail}"
