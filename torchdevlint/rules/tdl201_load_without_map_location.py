"""A checkpoint is read without `map_location`, so its tensors go back to the device they were saved from.

## What it does
Finds `torch.load(path)`, `torch.jit.load(path)`, `torch.hub.load_state_dict_from_url(url)` and
`torch.utils.model_zoo.load_url(url)` that do not say where the storages should go.

## Why is this bad?
Every storage in the file carries the device it was saved from. A checkpoint written on a GPU node cannot be read on a
machine without one:

    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are
    running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to
    the CPU.

One saved from `cuda:3` cannot be read where there are two GPUs (`Attempting to deserialize object on CUDA device 3 but
torch.cuda.device_count() is 2`). `torch.jit.load` fails with `NotImplementedError: Could not run
'aten::empty_strided' with arguments from the 'CUDA' backend`. Where the device does exist, the whole file is copied to
it beside the model that is already there.

Weights that are fetched from an address (`load_state_dict_from_url`, `load_url`) were nearly always saved from the CPU,
as were files with the name of published weights: it has the hash that `torch.hub` checks (`resnet50-0676ba61.pth`), it
is that of a model of a known size or of the data that weights are published for (`vgg16.pth`, `rgb_imagenet.pt`), or an
address in a comment or text of the project ends in it, and nothing in the project writes such a file. So is a module in
TorchScript that no code of the project exports. Files of tests are written where the tests run, and a path that is
written down with somebody's home, or with a further drive of a Windows machine (`X:/`), be it by a name that it begins
with, is read by nobody else. All of these are *advice*: they are reported where TDL201 is selected
(`extend-select = ["TDL201"]`), and not by default; the summary counts them.

So is a load in an application, which nothing installs, if each program that comes to it is at home with the file. A
program is if it sends something to CUDA before the load, or surely right on from there unless it chooses a device
itself, be it in functions and constructors of other files; if it has saved a file of that name before, as the best
epoch is read again for the test, or reads a path that a call has given which saves files, or that an object was given
which it has called on the way (an early stopping); and if it is a notebook that chooses no device, or saves the file
itself and names no accelerator, nor does what it imports. What no program imports or names is left over, and advice as
well. So is what the code calls data (a table, a graph, a log), or what a function keeps to itself, if nothing is called
after a model, and nothing uses it as one: such files are mostly written where data is prepared, on the CPU. It stays a
finding where the project writes the file out of what it moves. A load is advice as well where all that is saved beside
the file are models that were brought back to the CPU before (`net.cpu()`): by the same function, in the same folder, or
by any in folders of that name (`runs/weights`). One program that can come to the load without CUDA, such as a demo, a
test or an export that offers the CPU, is enough for a [finding](../advice.md); but not where the application was
written for CUDA: where the file, what leads to it and what these import name CUDA in five places at least, and in more
than three for each device that they choose, and the file itself does not only choose.

Nothing is said where the program ends without CUDA whatever the file holds, since it moves something there right beside
the load or on its only path, and uses no GPU by another number than 0. What is left of the cost there is a second copy
of the weights on the GPU.

In a program that runs one process a GPU this is an *error* where each of them comes to the load, so not below `if rank
== 0:` or before `mp.spawn`: every rank puts its copy on GPU 0, whose memory fills up with as many copies as there are
ranks.

## Example
```python
model = nn.Linear(4, 2)
model.load_state_dict(torch.load("model.pt"))
```

## Use instead
```python
model = nn.Linear(4, 2)
model.load_state_dict(torch.load("model.pt", map_location="cpu"))
```
`load_state_dict` copies into the parameters wherever they are, so the CPU is the right place for what only passes
through (unless `assign=True` is given). A checkpoint whose tensors are used as they are goes to the device that uses
them: `torch.load(path, map_location=device)`.

## Fix safety
The fix adds `map_location="cpu"`, or writes it in place of None. It is safe where what is loaded, or each part of it
that the function takes out, only feeds `load_state_dict`, which copies into the parameters wherever they are, unless it
is told to `assign`, or the file has one of its own. Elsewhere it is unsafe: tensors that are used as they are, are on
the CPU then, and what used them has to move them. There is none for a function of one's own that does more with its
parameter than to hand it on.

## What it cannot see
Where the file came from. A checkpoint that was saved from the CPU loads anywhere, so the finding can be harmless. It is
silent where the code tells: the other arm of the same `if` or `try` makes what it saves there, wherever that is, and it
is no model (a cache), the same function makes data of the CPU that it writes there, the path begins at `__file__` or is
asked for as a resource of the package and nothing in the file saves to such a path, what is loaded, or a part of it, is
read as NumPy, by scikit-learn or as text, or the same name holds the options of the command line otherwise. It is
silent as well where the project writes files of that name (the last part of the path, as far as it is written down, be
it in constants or functions of other files; a suffix alone, if few files have it) and saves nothing but data of the CPU
in them: `v.cpu()`, tensors that are made there and not moved, a `DataLoader` over such tensors, numbers, tables of
pandas, options, a model after `model.cpu()`, the state of one that a script makes and nothing it imports could move, or
the whole of it. So it is where a class saves under the same path, as it is written. What is loaded from a path and
saved to it again is nothing new. One writer that may save anything else is enough for a finding. In an application,
which nothing installs, the callers of a function are all seen: a path that is a parameter stands for what they give,
and where none gives one, nothing is read; and where all programs that lead to the load send things to CUDA, and neither
they nor what they import ask whether there is an accelerator or take a device from outside, the file is read where it
was written. A place that is given only to machines without an accelerator is enough. A program that sends something to
CUDA by name on its only path, and takes no device from outside, ends without CUDA anyway, and so does a function that
does so on every way to the file or right on from there, or asks without a test for what only a GPU can answer
(`torch.cuda.get_device_name(0)`, `torch.cuda.set_device(0)`): what it loads is not reported, unless it is one of
several processes. Nor is, in an application, what the same function has saved before, be it through an object such as
an early stopping, or saves in the loop around the load; but what it saves below one option (`if args.train:`) and loads
below another is reported, since who asks for the second alone has the file from elsewhere.

A function that hands a parameter on as `map_location` is left alone, and its callers that leave it out are told;
functions that pass `**kwargs` on, and loaders of other libraries, are not followed.

## References
- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html)
- [torch.hub.load_state_dict_from_url](https://docs.pytorch.org/docs/stable/hub.html#torch.hub.load_state_dict_from_url)
- on a CPU-only machine: hkchengrex/Cutie#37, uzh-rpg/rpg_e2vid#15, keunsoo-ko/CMT#1; on a Mac: invoke-ai/InvokeAI#3442
- every rank on GPU 0: pytorch/pytorch#23138, lucidrains/imagen-pytorch#132, Lightning-AI/pytorch-lightning#17737,
  pytorch/examples#1078
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import argument_added, fix, replaced
from torchdevlint.rules.wording import with_argument

SEVERITY = Severity.WARNING
EXECUTION = "checkpoint"
PROBE = '''
"""A checkpoint whose storages were saved on `cuda:0` cannot be read on a CPU-only machine without `map_location`."""
import torch

NEEDS = "cpu"
RAISES = {
    "RuntimeError": ["Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False"],
}


def flagged(device):
    save_as_on_a_gpu("model.pt")
    return {"weight": str(torch.load("model.pt")["weight"].device)}


def repaired(device):
    save_as_on_a_gpu("model.pt")
    return {"weight": str(torch.load("model.pt", map_location=device)["weight"].device)}


def save_as_on_a_gpu(path):
    """Write the file that a GPU machine writes: torch asks the first tagger where a storage is, and writes that."""
    torch.serialization.register_package(0, lambda storage: "cuda:0", lambda storage, location: None)
    torch.save({"weight": torch.zeros(2)}, path)
'''


def check(fact: CheckpointLoad) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"`{fact.function}` without `{fact.parameter}` reads tensors back to the device they were saved from",
        symptom=_symptom(fact),
        help=_help(fact),
        fix=_fix(fact),
        severity=_severity(fact),
        advice_in_tests=True,
    )


def _severity(fact: CheckpointLoad) -> Severity | None:
    if fact.published:
        return Severity.ADVICE
    return Severity.ERROR if fact.rank_code else None


def _fix(fact: CheckpointLoad) -> Fix | None:
    if not fact.only_place:
        return None
    argument = f'{fact.parameter}="cpu"'
    at = fact.none_at
    edit = argument_added(fact.text, fact.at, argument) if at is None else replaced(at, '"cpu"')
    applicability = Applicability.SAFE if fact.only_state_dict else Applicability.UNSAFE
    return fix(applicability, f"read the file to the CPU, with `{argument}`", edit)


def _symptom(fact: CheckpointLoad) -> str:
    if fact.rank_code:
        return (
            "every rank puts its copy on the device the file was saved from, mostly GPU 0: "
            "torch.OutOfMemoryError: CUDA out of memory"
        )
    if fact.function == "torch.jit.load":
        return "NotImplementedError: Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend."
    return (
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
        "to map your storages to the CPU."
    )


def _help(fact: CheckpointLoad) -> str:
    edited = with_argument(fact.text, f'{fact.parameter}="cpu"') if fact.none_at is None else None
    call = f"`{edited}`" if edited else f'add `{fact.parameter}="cpu"`'
    if fact.only_state_dict:
        return f"{call}; `load_state_dict` copies into the parameters wherever they are"
    return f"{call}, or `{fact.parameter}=` the device that uses the tensors"
