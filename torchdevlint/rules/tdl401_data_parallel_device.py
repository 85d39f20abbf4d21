"""A model in `DataParallel` is not on the first of the wrapper's GPUs.

## What it does
Finds `nn.DataParallel(model)` that is called while `model` is on another GPU than `device_ids[0]` (`cuda:0`, if no list
is given), was moved back to the CPU, or was never moved at all.

## Why is this bad?
`DataParallel` copies the parameters from its first GPU to the others at every call, and looks first whether they are
there:

    RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them
    on device: cuda:1

A model that was never moved is found `on device: cpu`. With no GPU the wrapper hands the call through, and with a
single one the constructor moves the model itself, so the line fails first on a machine with several.

## Example
```python
model = nn.DataParallel(nn.Linear(4, 2).to("cuda:1"))
model(torch.rand(8, 4))
```

## Use instead
```python
model = nn.DataParallel(nn.Linear(4, 2).to("cuda:1"), device_ids=[1, 0])
model(torch.rand(8, 4))
```
The first of `device_ids` is where the model has to be and where the outputs are gathered. To use other physical GPUs,
it is simpler to set `CUDA_VISIBLE_DEVICES` before the program starts, and leave the numbers alone.

## Fix safety
Unsafe, since the model may be what is in the wrong place. A list of numbers that holds the GPU of the model is made
to begin with it. A model that was never moved is moved to the device that the program has a variable for, where that is
surely bound at the wrapper. There is no fix where nothing says which GPU is meant: a move to `cuda:0`, which the
wrapper of several GPUs wants, would stop the program where there is none and the wrapper does nothing.

## What it cannot see
Devices that come from the command line or from a configuration, a list of GPUs that is computed, a wrapper that is
called in another file, and models that the file hands to functions or to optimizers of which it is not sure that they
leave them where they are.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): "The parallelized
  module must have its parameters and buffers on device_ids[0] before running this module"
- Another GPU: google-research/big_transfer#73, wangguanan/HOReID#28, Morizeyao/GPT2-Chinese#165
- `torch.cuda.set_device`: replicate/cog#971
- On the CPU: JDAI-CV/FaceX-Zoo#68, d2l-ai/d2l-en#2461
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import ModuleCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.wrapping import DATA_PARALLEL, device_ids, is_all_gpus, named_gpu
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, Ref, Step, Value
from torchdevlint.flow.vouch.devices import remembered
from torchdevlint.flow.vouch.names import means_the_same
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import call_added, fix, replaced
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import arguments_of, assignments_in, nodes_in

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""`DataParallel` refuses a model that is not on the first of its GPUs."""
import torch

NEEDS = "two"
RAISES = {"RuntimeError": ["module must have its parameters and buffers on device cuda:0 (device_ids[0])"]}


def flagged(device):
    model = torch.nn.DataParallel(torch.nn.Linear(4, 2).to("cuda:1"))
    return {"rows": len(model(torch.rand(8, 4)))}


def repaired(device):
    model = torch.nn.DataParallel(torch.nn.Linear(4, 2).to("cuda:1"), device_ids=[1, 0])
    return {"rows": len(model(torch.rand(8, 4)))}
'''


class DataParallelElsewhere(Fact, frozen=True):
    """A `DataParallel` whose model is not on the first of its GPUs when it is called.

    `at` is the wrap, `model` the text of what is wrapped, `first` the GPU that the wrapper wants it on and `found`
    where it is, empty where nothing moves it; `moved_at` is what put it there. `listed` says that there is a list.
    `model_at` is what is wrapped, and `device` a name for a device to move it to first, if one is surely bound there;
    `ids` the list that begins with the GPU of the model, if that is in the list at `ids_at`.
    """

    model: str
    first: str
    found: str
    moved_at: Span | None
    called_at: Span
    listed: bool
    model_at: Span
    device: str = ""
    ids_at: Span | None = None
    ids: str = ""


_MOVES = frozenset({"to", "cuda", "xpu", "npu", "to_empty", "_apply"})
_PLAIN_READERS = frozenset({"print", "isinstance", "hasattr", "len", "type", "id", "repr", "str"})


def _note_call(event: ModuleCalled) -> None:
    """A `DataParallel` is called: then its model has to be on the first of its GPUs."""
    frame, state, node, module = event.frame, event.state, event.node, event.module
    call = module.made_at
    if not isinstance(module, Library) or module.name not in DATA_PARALLEL or module.device is None:
        return
    if not isinstance(call, ast.Call):
        return
    first = module.wants
    found = _where(frame, state, module, call)
    if first is None or found is None or found == first:
        return
    machine, moved, ids = frame.machine, _move(module), device_ids(call)
    is_here = call in nodes_in(machine.tree, ast.Call)
    at = call if is_here else node
    model = call.args[0] if call.args else call
    first_there = _beginning_with(ids, found) if is_here else ""
    machine.record(
        (at, "data parallel"),
        lambda: DataParallelElsewhere(
            machine.span_of(at),
            machine.text_of(model) if call.args else "the model",
            first.describe(),
            "" if found == DEFAULT else found.describe(),
            None if moved is None else machine.span_of(moved.node),
            machine.span_of(node),
            bool(ids),
            machine.span_of(model),
            _name_for(frame, first, call) if is_here and found == DEFAULT and call.args else "",
            machine.span_of(ids) if ids is not None and first_there else None,
            first_there,
        ),
        state,
    )


def _beginning_with(ids: ast.expr | None, gpu: Device) -> str:
    """A list of numbers with that of a GPU before the others; empty where it is no such list."""
    if not isinstance(ids, (ast.List, ast.Tuple)) or gpu.name != "cuda":
        return ""
    numbers = [each.value for each in ids.elts if isinstance(each, ast.Constant) and type(each.value) is int]
    if len(numbers) != len(ids.elts) or gpu.index not in numbers:
        return ""
    return str([gpu.index, *(each for each in numbers if each != gpu.index)])


def _name_for(frame: Frame, gpu: Device, wrap: ast.Call) -> str:
    """A variable for the first GPU, or for the device that the program chooses, that is surely bound at a wrap."""
    around = remembered(frame, wrap)
    named = [] if around is None else [each for each in around.names if not each[0].endswith(".device")]
    same = [text for text, device in named if device == gpu]
    chosen = [
        text
        for text, device in named
        if gpu.index == 0 and (device.origin is Origin.EXPRESSION or (device.name == "cuda" and device.index is None))
    ]
    return next((text for text in (*same, *chosen) if means_the_same(frame, text, wrap, wrap)), "")


def _move(module: Library) -> Step | None:
    """The move that put the model where it is, before the wrap or after it."""
    inner = module.inner
    return module.placed or (inner.placed if isinstance(inner, (Library, Obj)) else None)


def _where(frame: Frame, state: State, module: Library, call: ast.Call) -> Device | None:
    """Where the model is, with an ordinal, if that is sure."""
    device = module.device
    if device is None:
        return None
    if device == DEFAULT:
        return DEFAULT if _is_never_moved(frame, module, call) else None
    if device.origin is not Origin.LITERAL:
        return None
    if device.name == "cpu":
        return device if module.placed is not None else None
    if device.name != "cuda":
        return None
    index = _current(frame, state) if device.index is None else device.index
    return None if index is None else Device(Origin.LITERAL, "cuda", index)


def _current(frame: Frame, state: State) -> int | None:
    """The ordinal of the current GPU: 0, or what the only ``set_device`` of the file says; None if not known."""
    machine = frame.machine
    if not machine.words & {"set_device", "device_of", "device"}:
        return 0
    chosen: list[int | None] = []
    for call in nodes_in(machine.tree, ast.Call):
        tail = (dotted_path(call.func) or "").rpartition(".")[2]
        if tail not in ("set_device", "device", "device_of", "set_device_index", "set_device_idx"):
            continue
        function = frame.evaluate(call.func, state)
        if isinstance(function, Ref) and function.name in ("torch.cuda.device", "torch.cuda.device_of"):
            return None
        if tail.startswith("set_device"):
            gpu = named_gpu(frame.evaluate(call.args[0], state)) if len(call.args) == 1 else None
            chosen.append(None if gpu is None else gpu.index)
    return 0 if not chosen else chosen[0] if len(chosen) == 1 else None


def _is_never_moved(frame: Frame, module: Library, call: ast.Call) -> bool:
    """Whether a model that was made and wrapped here, of layers that are known, surely stays where it was made."""
    machine = frame.machine
    calls = nodes_in(machine.tree, ast.Call)
    if machine.default_changed or not call.args or call not in calls or not _stays_by_itself(module.inner):
        return False
    ids = device_ids(call)
    if ids is not None and not isinstance(ids, (ast.List, ast.Tuple)) and not is_all_gpus(ids):
        return False
    contexts = [item.context_expr for block in nodes_in(machine.tree, ast.With) for item in block.items]
    if any("device(" in ast.unparse(each) for each in contexts):
        return False
    names = _names_of(machine.tree, call)
    for each in calls:
        if isinstance(each.func, ast.Attribute) and each.func.attr in _MOVES and _last(each.func.value) in names:
            return False
        reads = isinstance(each.func, ast.Name) and each.func.id in _PLAIN_READERS
        if each is not call and not reads and any(_last(given) in names for given in arguments_of(each)):
            return False
    return True


def _stays_by_itself(inner: Value | None) -> bool:
    """Whether it surely has parameters, or a part of it has, which nothing but a move takes from the CPU."""
    if isinstance(inner, Library):
        tail = inner.name.rpartition(".")[2]
        made = inner.module and inner.device == DEFAULT
        return made and (tail in torch_api.PARAMETER_MODULES or any(_stays_by_itself(each) for each in inner.children))
    if not isinstance(inner, Obj) or not inner.info.is_module or not inner.info.resolved:
        return False
    return any(each.makes_layers for each in inner.info.mro) and not any(_places(each) for each in inner.info.mro)


def _places(info: ClassInfo) -> bool:
    """Whether methods of the class move something, or make it on a device that they name."""
    for call in nodes_in(info.node, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES:
            return True
        if any(keyword.arg in ("device", None) for keyword in call.keywords):
            return True
    return False


def _names_of(tree: ast.Module, call: ast.Call) -> frozenset[str]:
    """The last parts of the names for a wrapped model and its wrapper, and of what holds it inside."""
    names = {_last(call.args[0]), "module"}
    for assign in assignments_in(tree):
        if assign.value is call or call in nodes_in(assign.value, ast.Call):
            names.update(_last(target) for target in assign.targets)
    return frozenset(names - {""})


def _last(node: ast.expr) -> str:
    return (dotted_path(node) or "").rpartition(".")[2]


EVENTS = {ModuleCalled: _note_call}


def check(fact: DataParallelElsewhere) -> Iterator[Report]:
    where = f"is on {fact.found}" if fact.found else "is never moved from the CPU"
    notes = [Note(f"moved to {fact.found} here", fact.moved_at)] if fact.moved_at is not None else []
    notes.append(Note("the wrapper is called here", fact.called_at))
    place = fact.found or "cpu"
    listed = "the first of `device_ids`" if fact.listed else "the first of all GPUs"
    yield Report(
        span=fact.at,
        message=f"{code(fact.model)} {where}, and `DataParallel` wants it on {fact.first}, {listed}",
        symptom=f"RuntimeError: module must have its parameters and buffers on device {fact.first} (device_ids[0]) but "
        f"found one of them on device: {place}",
        help=_help(fact),
        notes=tuple(notes),
        fix=_fix(fact),
    )


def _help(fact: DataParallelElsewhere) -> str:
    if fact.found.startswith("cuda"):
        index = fact.found.partition(":")[2]
        return f"move the model to {fact.first}, or begin the list with its GPU: `device_ids=[{index}, ...]`"
    return f"move the model to {fact.first} before the wrapper is called"


def _fix(fact: DataParallelElsewhere) -> Fix | None:
    if fact.ids_at is not None:
        first = replaced(fact.ids_at, fact.ids)
        return fix(Applicability.UNSAFE, f"begin the list with the GPU of the model: {code(fact.ids)}", first)
    if not fact.device:
        return None
    moved = call_added(fact.model, fact.model_at, f".to({fact.device})")
    return fix(Applicability.UNSAFE, f"move the model to {code(fact.device)} first", *moved)
