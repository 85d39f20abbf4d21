"""A Module is asked for its `.device`, which `torch.nn.Module` does not have.

## What it does
Finds `self.device` and `model.device` where the class is known with all its bases and none of them has such an
attribute: classes of the project that are made of `nn.Module`, the layers and containers of `torch.nn`, and
`DataParallel`, which hands on none of the attributes of the model that it wraps. A class is reported once, where its
`forward`, or else its first reader, asks for the device.

## Why is this bad?
A tensor has a device; a Module has parameters and buffers, each of which could be on another one. The first time that
the line runs, on any machine, it raises

    AttributeError: 'Net' object has no attribute 'device'

It is often a line that only runs with an accelerator, or only with several: models of transformers, diffusers and
Lightning do have `.device`, and lose it as soon as `DataParallel` is around them:

    AttributeError: 'DataParallel' object has no attribute 'device'

## Example
```python
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        noise = torch.randn(x.shape, device=self.device)
        return self.fc(x + noise)
```

## Use instead
```python
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)

    @property
    def device(self):
        return self.fc.weight.device

    def forward(self, x):
        noise = torch.randn(x.shape, device=self.device)
        return self.fc(x + noise)
```
In `forward` the device of an input, `x.device`, says the same and needs no property. Elsewhere
`next(model.parameters()).device` does, where the Module has parameters and all of them are in one place. A device
that is kept in `__init__` does not follow when the Module is moved later.

## Fix safety
There is no automatic fix: which of the tensors says where the Module is, its author knows.

## What it cannot see
Classes with a base that is not to be had, or from a library that is not known here, since that may have a device;
classes with a decorator, with `__getattr__`, with computed names of attributes, or which give `self` to a function that
may write some; classes which leave methods to others that are made of them; files in which something assigns `.device`,
or an attribute with a computed name, to an object from outside, or asks by `hasattr`. A `model.device` whose class is
not known, such as an argument, is left alone. A class whose instances get their device in another file only is
reported, although the attribute is there when that file runs.

## References
- [torch.nn.Module](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html): its attributes
- pytorch/pytorch#7460: why there is no such attribute
- TIGER-AI-Lab/VLM2Vec#135, huggingface/sentence-transformers#438, jinfenglin/TraceBERT#10
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import AttributeRead
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.scope.decorators import decorator_names
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.members import has_attribute, library_has_attribute
from torchdevlint.flow.state.values import Library, Obj
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.rules.wording import code, edit
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""A Module has no `device`; its parameters have one."""
import torch

NEEDS = "cpu"
RAISES = {"AttributeError": ["object has no attribute 'device'"]}


def flagged(device):
    return {"device": str(torch.nn.Linear(2, 2).device)}


def repaired(device):
    return {"device": str(torch.nn.Linear(2, 2).weight.device)}
'''


_NAME = "device"


class DeviceOfModule(Fact, frozen=True):
    """``model.device`` of a Module that has no such attribute.

    `receiver` is the text before ``.device``; `class_name` the class that has none, defined at `class_at` if it is one
    of this file; `wraps` the text of what a wrapper such as DataParallel was given, whose attributes it does not have.
    """

    LACKED = _NAME
    receiver: str
    class_name: str
    class_at: Span | None
    wraps: str | None


_ASKS = frozenset({"hasattr", "getattr"})
_CATCHES = frozenset({"AttributeError", "Exception", "BaseException", "suppress"})


def _note_read(event: AttributeRead) -> None:
    """An attribute of a Module is read that neither a class of this file nor torch gives it (TDL107)."""
    frame, state, node, receiver = event.frame, event.state, event.node, event.receiver
    if node.attr != _NAME or not isinstance(node.ctx, ast.Load) or not _lacks(frame.machine, receiver):
        return
    if _is_given_from_outside(frame.machine, node, receiver) or _is_tried(frame, node):
        return
    machine = frame.machine
    info = receiver.info if isinstance(receiver, Obj) else None

    def make() -> DeviceOfModule:
        return DeviceOfModule(
            machine.span_of(node),
            machine.text_of(node.value),
            receiver.info.name if isinstance(receiver, Obj) else receiver.name,
            None if info is None else machine.span_of(info.node),
            _wrapped(machine, receiver),
        )

    machine.record((_NAME, node if info is None else info.node), make, state)


def _lacks(machine: Machine, receiver: Obj | Library) -> bool:
    """Whether the Module surely has no device: a wrapper that hands attributes on has what it wraps."""
    if isinstance(receiver, Obj):
        return receiver.info.is_module and _class_lacks(machine, receiver.info)
    if receiver.name == "torch.compile":
        return isinstance(receiver.inner, (Obj, Library)) and _lacks(machine, receiver.inner)
    return receiver.module and library_has_attribute(receiver.name, _NAME) is False


def _class_lacks(machine: Machine, info: ClassInfo) -> bool:
    """Whether neither the class nor one made of it in this file has a device, nor leaves it to classes elsewhere."""
    kin = [info, *(each for each in machine.classes.values() if info in each.mro)]
    return all(has_attribute(each, _NAME) is False for each in kin) and not _is_abstract(info)


def _is_abstract(info: ClassInfo) -> bool:
    """Whether a method is left to classes that are made of this one, which may have what it lacks."""
    return any(
        "abstractmethod" in decorator_names(method) or _refuses(method.body[-1])
        for _, method in info.all_methods.values()
    )


def _refuses(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return dotted_path(raised) == "NotImplementedError"


def _is_given_from_outside(machine: Machine, node: ast.Attribute, receiver: Obj | Library) -> bool:
    """Whether code of this file, or beside the class in another one, gives an object a device from outside.

    So it may do under a name that it computes. In this file it may also ask whether this object has one.
    """
    path = dotted_path(node.value)
    asks = (call for call in nodes_in(machine.tree, ast.Call) if dotted_path(call.func) in _ASKS)
    if any(_names_device(call) and dotted_path(call.args[0]) == path for call in asks):
        return True
    return any(map(_gives_devices, _files_of(machine, receiver)))


def _files_of(machine: Machine, receiver: Obj | Library) -> Iterator[ast.Module]:
    """This file, and those which define the class and its bases, or wrap the model."""
    yield machine.tree
    places = [info.node for info in receiver.info.mro] if isinstance(receiver, Obj) else [receiver.made_at]
    for place in places:
        file = machine.others.holding(place) if machine.others is not None and place is not None else None
        if file is not None:
            yield file.tree


@once_a_node
def _gives_devices(tree: ast.Module) -> bool:
    for each in nodes_in(tree, ast.Attribute):
        if each.attr == _NAME and isinstance(each.ctx, ast.Store) and dotted_path(each.value) != "self":
            return True
    for call in nodes_in(tree, ast.Call):
        if dotted_path(call.func) == "setattr" and len(call.args) == 3:
            computed = not isinstance(call.args[1], ast.Constant) and dotted_path(call.args[0]) != "self"
            if computed or _names_device(call):
                return True
    return False


def _names_device(call: ast.Call) -> bool:
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant) and call.args[1].value == _NAME


def _is_tried(frame: Frame, node: ast.Attribute) -> bool:
    """Whether the read stands where an AttributeError is caught."""
    scope = frame.function or frame.machine.tree
    caught: list[ast.stmt] = []
    for tried in nodes_in(scope, ast.Try):
        if any(each.type is None or _CATCHES & set(_names(each.type)) for each in tried.handlers):
            caught += tried.body
    for block in nodes_in(scope, ast.With):
        if any(_CATCHES & set(_names(item.context_expr)) for item in block.items):
            caught += block.body
    return any(node is each for statement in caught for each in nodes_in(statement, ast.Attribute))


def _names(node: ast.expr) -> Iterator[str]:
    for each in inside(node):
        if isinstance(each, (ast.Name, ast.Attribute)):
            yield each.id if isinstance(each, ast.Name) else each.attr


def _wrapped(machine: Machine, receiver: Obj | Library) -> str | None:
    call = receiver.made_at if isinstance(receiver, Library) and receiver.prefix == "module." else None
    return machine.text_of(call.args[0]) if isinstance(call, ast.Call) and call.args else None


EVENTS = {AttributeRead: _note_read}


def check(fact: DeviceOfModule) -> Iterator[Report]:
    name = fact.class_name.rpartition(".")[2]
    yield Report(
        span=fact.at,
        message=f"{code(fact.receiver)} is a `{fact.class_name}`, and neither that nor `nn.Module` has a `device`"
        if fact.wraps is None
        else f"{code(fact.receiver)} is a `{fact.class_name}`, which has no `device`, whatever it wraps",
        symptom=f"AttributeError: '{name}' object has no attribute 'device'",
        help=_help(fact),
        notes=() if fact.class_at is None else (Note(f"`{name}` and its bases define no `device`", fact.class_at),),
    )


def _help(fact: DeviceOfModule) -> str:
    if fact.wraps is not None:
        return f"ask what it wraps, {edit(f'{fact.receiver}.module')}, or one of its parameters"
    if fact.receiver == "self":
        return "use the device of an input or a parameter, or give the class a property `device`"
    return f"ask one of its parameters: {edit(f'next({fact.receiver}.parameters()).device')}"
