"""A Module handles being moved in a way that has no effect: in its own `to`, or by a device kept too early.

## What it does
Finds three things in classes that are a `torch.nn.Module`:

- `to` or `cuda` is overridden to move attributes that are not registered, and the class is used as a submodule of
  another class of the file;
- an override of `to`, `cuda`, `cpu` or `xpu` that returns nothing;
- `__init__` keeps the device that the layers have which it has just made, `next(self.parameters()).device`, and other
  methods make or move tensors to it.

## Why is this bad?
`model.to(device)` calls `_apply` of its submodules, and never their `to` or `cuda`. What such an override moves stays
behind when the owner is moved:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

The same error comes of a device that was asked for in `__init__`: at that moment every layer is on the CPU, and the
attribute says so for ever. And `Module.to` returns the Module, which callers rely on: without `return self`, the name
in `model = Net().to(device)` is None on every machine, and calling it raises

    TypeError: 'NoneType' object is not callable

## Example
```python
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(3)

    def to(self, *args, **kwargs):
        self.factor = self.factor.to(*args, **kwargs)
        return super().to(*args, **kwargs)

    def forward(self, x):
        return x * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)
```

## Use instead
```python
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.ones(3), persistent=False)

    def forward(self, x):
        return x * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)
```
A buffer needs no override. What cannot be registered, such as a distribution, is moved by overriding `_apply`, which
does reach submodules. A device is asked for when it is needed: `x.device`, or a property that looks at a parameter.

## Fix safety
There is no automatic fix: which of these ways fits depends on what the class keeps.

## What it cannot see
A class that is used as a submodule in another file only; owners that move it by hand or override `to` themselves are
left alone, and so are Modules at the top, whose override is called. Devices that come as an argument and are kept,
devices that any line of the file assigns again, and classes that name a device in `__init__` or are given modules,
which may have been moved before, are not reported; nor are classes with a base from another file for the last form.

## References
- [torch.nn.Module.to](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to)
- Lightning-AI/pytorch-lightning#10624, Lightning-AI/torchmetrics#531, gdalsanto/flamo#30
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from torchdevlint.flow.checks.registration.registering import is_part
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.decorators import decorator_names
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo, is_module_class
from torchdevlint.flow.state.joins import alternatives, is_number
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import UNKNOWN, Choice, Library, Obj, Unknown, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.source.functions import AnyFunction, FunctionNode
from torchdevlint.source.nodes import assignment_of, assignments_in, below, is_bare_constant, nodes_in

SEVERITY = Severity.WARNING
EXECUTION = "override"
PROBE = '''
"""A submodule's own `to` is not called when its owner is moved; its `_apply` is."""
import torch

NEEDS = "device"
OBSERVES = {"factor moved": False}


class WithTo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(2)

    def to(self, device):
        self.factor = self.factor.to(device)
        return super().to(device)


class WithApply(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(2)

    def _apply(self, fn, recurse=True):
        self.factor = fn(self.factor)
        return super()._apply(fn, recurse)


def flagged(device, kind=WithTo):
    owner = torch.nn.Sequential(kind()).to(device)
    return {"factor moved": owner[0].factor.device.type == device.type}


def repaired(device):
    return flagged(device, WithApply)
'''


class IneffectiveMove(Fact, frozen=True):
    """What a class does about being moved, without effect.

    `form` is ``submodule`` (`method` is overridden, and `at_other` makes the class a submodule), ``returns`` (the
    override `method` gives None) or ``kept`` (`method` is the attribute that keeps a device, used at `at_other`).
    `attribute` is what the class moves or keeps.
    """

    form: str
    class_name: str
    method: str
    at_other: Span
    attribute: str = ""

    @property
    def is_met_anywhere(self) -> bool:
        """``model.to(device)`` is None for each device; ``.cuda()`` is what the CPU never comes to."""
        return self.form == "returns" and self.method == "to"

    @property
    def wrong_result(self) -> str:
        return self.method if self.form == "returns" else ""


_MOVES = ("to", "cuda", "cpu", "xpu")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _note_end(event: FileEnded) -> None:
    """Look at every class of the file, when all of its methods have been run."""
    machine = event.machine
    for info in machine.classes.values():
        if info.is_module:
            if _is_surely_one(info):
                _check_returns(machine, info)
            _check_submodules(machine, info)
            _check_kept_devices(machine, info)


def _is_surely_one(info: ClassInfo) -> bool:
    """Whether it is a Module by its bases, or has a `forward`: a class with a `to` of its own may be none."""
    return info.resolved or "forward" in info.all_methods or any(map(is_module_class, info.library_bases))


def _check_returns(machine: Machine, info: ClassInfo) -> None:
    """``def to(self, ..)`` without a value: `Module.to` gives the module, and callers rely on it."""
    for name in _MOVES:
        method = info.methods.get(name)
        if method is None or set(decorator_names(method)) or not _does_something(method):
            continue
        if not any(isinstance(each, ast.Yield) or _gives(each) for each in _own_nodes(method)):
            place = _head(machine, method)
            fact = partial(IneffectiveMove, place, "returns", info.name, name, place)
            machine.record_anyway(("override", "returns", method), fact)


def _head(machine: Machine, method: FunctionNode) -> Span:
    """``def to``, which stands for the method."""
    span = machine.span_of(method)
    return replace(span, end_row=span.row, end_column=span.column + len(f"def {method.name}"))


def _does_something(method: AnyFunction) -> bool:
    """Whether the body neither refuses to be moved nor is empty."""
    body = [] if isinstance(method, ast.Lambda) else method.body
    said = [each for each in body if not is_bare_constant(each)]
    return bool(said) and not isinstance(said[-1], (ast.Raise, ast.Pass))


def _gives(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and node.value is not None


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions and classes that are defined in it."""
    level = below([function])
    while level:
        level = [each for each in level if not isinstance(each, _FUNCTIONS)]
        yield from (each for each in level if isinstance(each, ast.AST))
        level = below(level)


def _check_submodules(machine: Machine, info: ClassInfo) -> None:
    """A class moves what it keeps unregistered in `to`, and is a submodule of another one, whose `to` never asks it."""
    if "_apply" in info.all_methods:
        return
    method = next((info.methods[name] for name in ("to", "cuda") if name in info.methods), None)
    kept = None if method is None else _left_behind(info, method)
    if method is None or kept is None:
        return
    for owner in machine.classes.values():
        if not owner.is_module or not owner.resolved or {"to", "cuda", "_apply"} & owner.all_methods.keys():
            continue
        for attribute, value in owner.attributes.items():
            place = owner.assigned_at.get(attribute)
            if place is None or not _is_made_of(value, info) or _is_moved_by_hand(owner, attribute):
                continue
            fact = partial(
                IneffectiveMove,
                _head(machine, method),
                "submodule",
                info.name,
                method.name,
                machine.span_of(place),
                kept,
            )
            machine.record_anyway(("override", "submodule", method), fact)
            return


def _left_behind(info: ClassInfo, method: AnyFunction) -> str | None:
    """The attribute of `self` that the method moves or tells the device, which `Module._apply` does not reach."""
    for each in nodes_in(method, ast.Attribute):
        if not isinstance(each.ctx, ast.Store) or not isinstance(each.value, ast.Name) or each.value.id != "self":
            continue
        if not is_part(info, each.attr):
            return each.attr
    return None


def _is_made_of(value: Value, info: ClassInfo) -> bool:
    return any(isinstance(each, Obj) and each.info is info for _, each in alternatives(value))


def _is_moved_by_hand(owner: ClassInfo, attribute: str) -> bool:
    path = f"self.{attribute}"
    return any(
        each.attr in torch_api.MOVE_METHODS and (dotted_path(each.value) or "").startswith(path)
        for each in nodes_in(owner.node, ast.Attribute)
    )


def _check_kept_devices(machine: Machine, info: ClassInfo) -> None:
    """``self.device = next(self.parameters()).device`` in ``__init__``: the CPU, whatever the module is moved to."""
    init = info.methods.get("__init__")
    if init is None or not info.resolved or machine.default_changed or _is_placed(init):
        return
    if {"to", "cuda", "_apply"} & info.all_methods.keys():
        return
    for statement in map(assignment_of, init.body):
        if statement is None or len(statement.targets) != 1:
            continue
        path = dotted_path(statement.targets[0]) or ""
        attribute = path.removeprefix("self.")
        if attribute == path or "." in attribute or not _is_device_of_own(info, statement.value):
            continue
        used = _use_of(info, attribute)
        if used is None or _is_written_again(machine, attribute, statement.targets[0]):
            continue
        fact = partial(
            IneffectiveMove,
            machine.span_of(statement.node),
            *("kept", info.name, attribute, machine.span_of(used), attribute),
        )
        machine.record_anyway(("override", "kept", statement.node), fact)


def _is_placed(init: AnyFunction) -> bool:
    """Whether ``__init__`` moves anything, or makes anything on a device that it names."""
    if any(each.attr in torch_api.MOVE_METHODS for each in nodes_in(init, ast.Attribute)):
        return True
    return any(each.arg in ("device", None) for each in nodes_in(init, ast.keyword)) or bool(nodes_in(init, ast.With))


def _is_device_of_own(info: ClassInfo, value: ast.expr) -> bool:
    """``next(self.parameters()).device``, ``self.fc.weight.device``: of layers that were made in ``__init__``."""
    if not isinstance(value, ast.Attribute) or value.attr != "device":
        return False
    asked = value.value
    if isinstance(asked, ast.Call) and dotted_path(asked.func) == "next" and len(asked.args) == 1:
        inner = asked.args[0]
        if not isinstance(inner, ast.Call) or inner.args:
            return False
        path = dotted_path(inner.func) or ""
        if path == "self.parameters":
            return _makes_all_layers(info)
        owner, _, method = path.rpartition(".")
        return method == "parameters" and _is_own_layer(info, owner)
    owner, _, name = (dotted_path(asked) or "").rpartition(".")
    return name in ("weight", "bias") and _is_own_layer(info, owner)


def _is_own_layer(info: ClassInfo, path: str) -> bool:
    attribute = path.removeprefix("self.")
    return path.startswith("self.") and _is_layer(info.attributes.get(attribute))


def _is_layer(value: Value | None) -> bool:
    """Whether it is surely a layer of torch.nn that was made on the default device."""
    tail = value.name.rpartition(".")[2] if isinstance(value, Library) and value.made_at is not None else ""
    return tail in torch_api.PARAMETER_MODULES


def _makes_all_layers(info: ClassInfo) -> bool:
    """Whether every module that it keeps is surely one that it makes; others may have been moved before."""
    init = info.methods["__init__"]
    if len(info.mro) > 1 or not info.makes_layers:
        return False
    given = {each.arg for each in (*init.args.args, *init.args.kwonlyargs)}
    for statement in assignments_in(init):
        attribute = (dotted_path(statement.targets[0]) or "").removeprefix("self.")
        held = info.attributes.get(attribute)
        if isinstance(statement.value, ast.Name) and statement.value.id in given and not is_number(held or UNKNOWN):
            return False
        if isinstance(statement.value, ast.Call) and isinstance(held, (Unknown, Choice)):
            return False
    modules = [value for value in info.attributes.values() if isinstance(value, (Library, Obj))]
    return all(map(_is_made_here, modules))


def _is_made_here(value: Value) -> bool:
    """Whether a module surely has no parameters but such as were made on the default device."""
    if isinstance(value, Obj):
        init = value.info.methods.get("__init__")
        return value.info.resolved and init is not None and not _is_placed(init)
    if not isinstance(value, Library) or value.made_at is None:
        return False
    if value.name.rpartition(".")[2] in torch_api.CONTAINER_MODULES:
        return bool(value.children) and all(map(_is_made_here, value.children))
    return _is_layer(value) or value.device is None


def _use_of(info: ClassInfo, attribute: str) -> ast.AST | None:
    """Where another method makes or moves a tensor to the device that was kept."""
    path = f"self.{attribute}"
    for name, method in info.methods.items():
        if name == "__init__":
            continue
        for call in nodes_in(method, ast.Call):
            given = [each.value for each in call.keywords if each.arg == "device"]
            if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
                given += call.args[:1]
            found = next((each for each in given if dotted_path(each) == path), None)
            if found is not None:
                return found
    return None


def _is_written_again(machine: Machine, attribute: str, target: ast.expr) -> bool:
    """Whether anything else in the file assigns an attribute of this name."""
    assert machine.tree is not None
    return any(
        each.attr == attribute and isinstance(each.ctx, ast.Store) and each is not target
        for each in nodes_in(machine.tree, ast.Attribute)
    )


EVENTS = {FileEnded: _note_end}


_MIXED = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def check(fact: IneffectiveMove) -> Iterator[Report]:
    if fact.form == "submodule":
        yield Report(
            span=fact.at,
            message=f"`{fact.class_name}.{fact.method}` is not called when the Module that holds it is moved, "
            f"and `self.{fact.attribute}` stays as it was",
            symptom=_MIXED,
            help=f"register `{fact.attribute}` as a buffer, or override `_apply`, which reaches submodules",
            notes=(Note(f"`{fact.class_name}` is a submodule here", fact.at_other),),
        )
    elif fact.form == "returns":
        yield Report(
            span=fact.at,
            message=f"`{fact.class_name}.{fact.method}` returns None, and that of `nn.Module` the Module",
            symptom="TypeError: 'NoneType' object is not callable, after `model = model.to(device)`",
            help="end it with `return self`",
        )
    else:
        yield Report(
            span=fact.at,
            message=f"`self.{fact.attribute}` keeps the device that the layers of `{fact.class_name}` have in "
            "`__init__`, which is the CPU, and does not follow them",
            symptom=_MIXED,
            help="ask where the device is needed: `x.device` of an input, or a property that looks at a parameter",
            notes=(Note(f"`self.{fact.attribute}` is used here, after the model was moved", fact.at_other),),
        )
