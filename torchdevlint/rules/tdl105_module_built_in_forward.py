"""`forward` makes a layer and calls it at once: its parameters are on the CPU, and new in each call.

## What it does
Finds modules with parameters or buffers that `forward`, or a method that it reaches, makes on the default device, and
then calls with its inputs: `nn.BatchNorm2d(c)(x)`, `norm = nn.LayerNorm(d)` and `norm(x)`, also where the layer is
assigned to an attribute of `self` in every call. Layers of `torch.nn`, a `Sequential` of them, Modules of the file
that make such layers, and transforms of torchaudio that keep a window or a filter bank are looked at.

## Why is this bad?
The Module was moved before `forward` ran, so that what is made in it is on the CPU, and the inputs are not:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, from a convolution, `Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same`.
On a machine without an accelerator it runs and is wrong all the same: the layer has fresh random parameters in every
call, which no optimizer trains and no checkpoint saves. Moving it, `.to(x.device)`, ends the error and not that.

## Example
```python
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        x = self.conv(x)
        return nn.BatchNorm2d(x.shape[1])(x).relu()
```

## Use instead
```python
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return self.norm(self.conv(x)).relu()
```
Where a size is known from the first input only, `nn.LazyLinear` and the other lazy layers are made in `__init__` too.
Where no parameters are wanted, the functions of `torch.nn.functional` do the same without any:
`F.layer_norm(x, x.shape[1:])`.

## Fix safety
There is no automatic fix: a layer that is kept adds keys to the state dict, and its size has to be known.

## What it cannot see
Layers that are made under a condition and kept, as those are that are built at the first call: an earlier call on the
CPU, before the model is moved, can have made them. Layers that are moved, made with `device=`, given other parameters
(`conv.weight = kernel`) or handed to another function; modules of classes from other files. A layer whose input is not
known to be where the model is, such as the output of another layer that `forward` has just made, is not reported.

## References
- [torch.nn.Module](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html)
- [torch.nn.LazyLinear](https://docs.pytorch.org/docs/stable/generated/torch.nn.LazyLinear.html)
- syuu1987/geekTime-semantic-segmentation#1
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import ModuleCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.knowledge.libraries import holds_tensors
from torchdevlint.flow.scope.default_changes import may_set_default
from torchdevlint.flow.scope.names import dotted_path, mentions_device, names_one_of
from torchdevlint.flow.scope.unconditional import straight
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, Tensor, Unknown, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.rules.wording import code
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import arguments_of, assignment_of, is_inside, nodes_in, once_a_node

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A layer that `forward` makes is on the CPU, and so are its parameters; one that is made in `__init__` was moved."""
import torch

NEEDS = "device"
RAISES = {"RuntimeError": ["on the same device", "Tensor on device"]}


class Block(torch.nn.Module):
    def __init__(self, early):
        super().__init__()
        self.norm = torch.nn.Linear(3, 3) if early else None

    def forward(self, x):
        norm = self.norm or torch.nn.Linear(3, 3)
        return norm(x)


def flagged(device, early=False):
    return {"shape": list(Block(early).to(device)(torch.ones(2, 3, device=device)).shape)}


def repaired(device):
    return flagged(device, early=True)
'''


class ModuleBuiltInForward(Fact, frozen=True):
    """A module with parameters that `forward` makes, and calls with what is where the model is, without moving it.

    `text` is what is called to make it, `class_name` its class, `scope` the function, `called_at` the call.
    """

    text: str
    class_name: str
    scope: str
    called_at: Span


_LEAVES_PLACE = frozenset("eval train requires_grad_ double float half bfloat16".split())
"""Methods after which a module is where it was, with the parameters that it had."""


def _note_call(event: ModuleCalled) -> None:
    """A module is called: if `forward` made it a moment ago, its parameters are on the CPU, and its input is not."""
    frame, state, node, module, arguments = event.frame, event.state, event.node, event.module, event.arguments
    made = module.made_at
    if frame.context != "forward" or not isinstance(made, ast.Call) or frame.function is None:
        return
    if not frame.machine.default_is_cpu(state):
        return
    if made not in _calls_in(frame.function):
        return
    if not _has_own_parameters(module, made) or not any(_is_input(value, state) for value in arguments.values):
        return
    if not _stays_as_made(frame, node.func, made, module):
        return
    machine = frame.machine
    name = module.info.name if isinstance(module, Obj) else module.name
    machine.record(
        ("built", made, name),
        lambda: ModuleBuiltInForward(
            machine.span_of(made), machine.text_of(made.func), name, frame.scope, machine.span_of(node)
        ),
        state,
    )


@once_a_node
def _calls_in(function: AnyFunction) -> frozenset[ast.Call]:
    return frozenset(nodes_in(function, ast.Call))


def _has_own_parameters(module: Value, made: ast.Call) -> bool:
    """Whether parameters or buffers were surely made with it, by a call, on the default device."""
    if isinstance(module, Obj):
        return module.info.is_module and module.info.makes_layers and _leaves_place_alone(module)
    if not isinstance(module, Library):
        return False
    tail = module.name.rpartition(".")[2]
    if tail == "Sequential":
        return any(_is_new(child, made) and _has_own_parameters(child, made) for child in module.children)
    known = tail in torch_api.PARAMETER_MODULES if module.name.startswith("torch.") else holds_tensors(module.name)
    return known and module.device is not None


def _is_new(child: Value, made: ast.Call) -> bool:
    """Whether a part is on the CPU, or is made by the call that makes all of it, whoever keeps that."""
    if not isinstance(child, (Obj, Library)):
        return False
    return child.device == DEFAULT or (isinstance(child.made_at, ast.AST) and is_inside(child.made_at, made))


def _leaves_place_alone(module: Obj) -> bool:
    """Whether neither the class nor what it is given speaks of devices."""
    made = module.made_at
    if not isinstance(made, ast.Call) or not module.info.resolved:
        return False
    words = {each.id for each in nodes_in(made, ast.Name)} | {each.attr for each in nodes_in(made, ast.Attribute)}
    return not any(map(mentions_device, words)) and not any(map(_speaks_of_devices, module.info.mro))


def _speaks_of_devices(info: ClassInfo) -> bool:
    init = info.methods.get("__init__")
    if init is None:
        return False
    words = {each.id for each in nodes_in(init, ast.Name)} | {each.arg for each in nodes_in(init, ast.arg)}
    words |= {each.arg or "" for each in nodes_in(init, ast.keyword)}
    moves = {each.attr for each in nodes_in(init, ast.Attribute)} & torch_api.MOVE_METHODS
    return bool(moves) or any(map(mentions_device, words))


def _is_input(value: Value, state: State) -> bool:
    """Whether it is where the model is, if it is a tensor."""
    for _, each in alternatives(value, state.conditions):
        if isinstance(each, Unknown) and each.given == MODEL:
            continue
        if not isinstance(each, Tensor) or each.device != MODEL:
            return False
    return True


def _stays_as_made(frame: Frame, callee: ast.expr, made: ast.Call, module: Obj | Library) -> bool:
    """Whether what is called has the place and the parameters that it was made with."""
    while callee is not made and isinstance(callee, ast.Call) and isinstance(callee.func, ast.Attribute):
        callee = callee.func.value
    if callee is made:
        return module.device == DEFAULT
    path = dotted_path(callee)
    if path is None or frame.function is None:
        return False
    if isinstance(callee, ast.Name):
        return module.device == DEFAULT and not _is_changed(frame.function, callee.id)
    kept = path.startswith("self.") and path.count(".") == 1
    if _says_where(made) or _is_elsewhere_by_default(frame.function, made):
        return False
    return kept and _is_made_each_time(frame.function, made) and not _is_moved(frame.function, path)


def _is_made_each_time(function: AnyFunction, made: ast.Call) -> bool:
    """Whether every call of the function comes to the assignment: it is under no condition, and behind no return."""
    for statement in () if isinstance(function, ast.Lambda) else straight(function.body):
        assigned = assignment_of(statement)
        if assigned is not None and assigned.value is made:
            return True
        if nodes_in(statement, ast.Return):
            return False
    return False


def _says_where(made: ast.Call) -> bool:
    """Whether a call, or one in it, is told a device, or moves what it makes."""
    told = any(each.arg is not None and mentions_device(each.arg) for each in nodes_in(made, ast.keyword))
    return told or any(each.attr in torch_api.MOVE_METHODS for each in nodes_in(made, ast.Attribute))


def _is_elsewhere_by_default(function: AnyFunction, made: ast.Call) -> bool:
    """Whether a ``with`` around the call may say on which device it makes what it makes."""
    around = (each for each in nodes_in(function, ast.With) if is_inside(made, each))
    return any(may_set_default(item.context_expr) for each in around for item in each.items)


def _is_changed(function: ast.AST, name: str) -> bool:
    """Whether a module of this name is used otherwise than by calling it: moved, given parameters, handed on."""
    harmless = set(_harmless_uses(function))
    uses = (each for each in nodes_in(function, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load))
    return not all(each in harmless for each in uses)


def _harmless_uses(function: ast.AST) -> Iterator[ast.Name]:
    for call in nodes_in(function, ast.Call):
        called = call.func
        if isinstance(called, ast.Attribute) and called.attr in _LEAVES_PLACE:
            called = called.value
        if isinstance(called, ast.Name):
            yield called


def _is_moved(function: ast.AST, path: str) -> bool:
    """Whether `self`, or the attribute that keeps the module, is moved, written to or handed on in the function."""
    for call in nodes_in(function, ast.Call):
        if names_one_of(path, arguments_of(call)):
            return True
    for each in nodes_in(function, ast.Attribute):
        if each.attr in torch_api.MOVE_METHODS and dotted_path(each.value) in ("self", path):
            return True
        if isinstance(each.ctx, ast.Store) and (dotted_path(each) or "").startswith(f"{path}."):
            return True
    return False


EVENTS = {ModuleCalled: _note_call}


def check(fact: ModuleBuiltInForward) -> Iterator[Report]:
    name = fact.class_name.removeprefix("torch.")
    same = fact.called_at.row == fact.at.row
    buffers = holds_tensors(fact.class_name)
    where = "on the CPU, with its buffers" if buffers else "on the CPU and never trained"
    always = "it is worked out again" if buffers else "its parameters are new"
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} makes a new `{name}` in each call of `{fact.scope}`, {where}",
        symptom="RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        f"and cpu! Anywhere: {always} in each call",
        help="make it in `__init__` and keep it as an attribute, so that it is moved, trained and saved",
        notes=() if same else (Note("it is called here, with what is where the model is", fact.called_at),),
    )
