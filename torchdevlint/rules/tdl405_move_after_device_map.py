"""A model that is loaded with a device map, or quantised, is moved or wrapped in `DataParallel`.

## What it does
Finds `.to(device)`, `.cuda()` and `nn.DataParallel(...)` on a model that `from_pretrained` has put on its devices
already: with `device_map="auto"` or a map that names several devices, or with weights of 8 bits.

## Why is this bad?
The library has spread the layers over the GPUs, the memory of the CPU and the disk, and put hooks before them that
bring the inputs there. A move collects all layers on one device while the hooks stay. Where layers were left on the CPU
or the disk, it is refused:

    RuntimeError: You can't move a model that has some modules offloaded to cpu or disk.

A pipeline of `diffusers` refuses every move: "It seems like you have activated a device mapping strategy on the
pipeline which doesn't allow explicit device placement using `to()`." So does a model of 8 bits:

    ValueError: `.to` is not supported for `8-bit` bitsandbytes models. Please use the model as it is, since the model
    has already been set to the correct devices and casted to the correct `dtype`.

`DataParallel` wants all parameters on one GPU and finds some of them elsewhere. If the whole model fits on the first
GPU, all of this goes well, and fails on a machine with smaller or with more GPUs.

## Example
```python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
model.to("cuda")
```

## Use instead
```python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
```
The inputs go to `model.device`. To have the whole model on one device, leave the map out and move it, or say
`device_map={"": "cuda:0"}`.

## Fix safety
The fix takes the move out of an expression that goes on without it. It is unsafe: whether the map or the move is meant,
the code does not say, and the inputs have to go where the model is. There is none for a line that does nothing but
move, and for the wrap.

## What it cannot see
Maps and settings that come from a configuration, models that are loaded in one function and moved in another, models
that are wrapped by `peft` or handed to `Trainer` in between, and models of 4 bits, which recent versions of
bitsandbytes can move. What stands under a test other than for an accelerator is left alone.

## References
- [Big model inference](https://huggingface.co/docs/accelerate/concept_guides/big_model_inference)
- A device map: mlfoundations/rtfm#19, evalplus/evalplus#280, 01-ai/Yi#302
- 8 bits: huggingface/transformers#38717, zai-org/GLM-4-Voice#152
- `DataParallel`: huggingface/accelerate#1300
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.parallel import MovedAfterDispatch
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import cut_after, fix
from torchdevlint.rules.wording import code

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = '''
"""A move collects on one GPU what was spread over two."""
import torch

NEEDS = "two"
OBSERVES = {"GPUs": 1}


def spread():
    layers = [torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 4).to("cuda:1")]
    return torch.nn.Sequential(*layers)


def flagged(device):
    model = spread()
    model.to("cuda:0")
    return {"GPUs": len({each.device for each in model.parameters()})}


def repaired(device):
    model = spread()
    return {"GPUs": len({each.device for each in model.parameters()})}
'''


def check(fact: MovedAfterDispatch) -> Iterator[Report]:
    wrap = not fact.method
    what = "wrapped in `DataParallel`" if wrap else f"moved by `.{fact.method}()`"
    state = "spread over devices" if fact.how == "spread" else "quantised, and on its device,"
    yield Report(
        span=fact.at,
        message=f"a model that `{fact.argument}` has {state} is {what}",
        symptom=_symptom(fact),
        help=_help(fact),
        notes=(Note(f"loaded with {code(fact.argument)} here", fact.loaded_at),),
        fix=_fix(fact),
    )


def _fix(fact: MovedAfterDispatch) -> Fix | None:
    if fact.model_at is None or fact.model_at.end_row != fact.at.end_row:
        return None
    return fix(Applicability.UNSAFE, "leave the model where it was loaded", cut_after(fact.model_at, fact.at))


def _symptom(fact: MovedAfterDispatch) -> str:
    if not fact.method:
        return "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0])"
    if fact.how == "quantised":
        return "ValueError: the method is not supported for `8-bit` bitsandbytes models"
    return (
        "RuntimeError: You can't move a model that has some modules offloaded to cpu or disk., or silently all layers "
        "on one device"
    )


def _help(fact: MovedAfterDispatch) -> str:
    if not fact.method:
        return "load the model without a map to copy it to every GPU, or leave it as the map has spread it"
    return "leave the model where it was loaded, and move the inputs to `model.device`"
