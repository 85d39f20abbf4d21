"""`x.get_device()` is used as a device, and is -1 where `x` is on the CPU.

## What it does
Finds the number that `x.get_device()` or `torch.get_device(x)` gives for a tensor where it is given for a device:
`device=x.get_device()`, `.to(x.get_device())`, `.cuda(x.get_device())`, `torch.device("cuda", x.get_device())` and
`f"cuda:{x.get_device()}"`, at once or through a name.

## Why is this bad?
`get_device()` gives the number of the GPU. A tensor of the CPU has none, and the number is -1, which no device has:

    RuntimeError: Device index must not be negative
    RuntimeError: Invalid device string: 'cuda:-1'

So the code works on a GPU only, and tests of it on a machine without one fail.

## Example
```python
def offsets(x):
    return torch.arange(x.shape[0], device=x.get_device()) * x.shape[1]
```

## Use instead
```python
def offsets(x):
    return torch.arange(x.shape[0], device=x.device) * x.shape[1]
```
`x.device` is a device wherever `x` is, and `y.to(x.device)` does what `y.cuda(x.get_device())` is meant to do.

## Fix safety
The fix writes `x.device`, and `.to(x.device)` in place of `.cuda(..)`, which is where the number leads as long as there
is one. It is safe where the number stands in the call that takes it, and what is moved is a tensor or a module. Where
it is kept under a name first the fix is unsafe, since the name then holds a device, and other places may want the
number.

## What it cannot see
Helpers of other files that give such a number, such as `get_device_of` of AllenNLP, and tensors that nothing tells to
be tensors. Code that compares the number with anything, that asks `x.is_cuda`, that has moved `x` to CUDA by name, or
that is for CUDA by the name or a decorator of its function, is left alone, and so are
`torch.cuda.device(x.get_device())` and `torch.cuda.set_device(x.get_device())`, which do nothing for -1. In a file or
an application that names CUDA nearly everywhere (see TDL012) it is *advice*: nothing there is ever on the CPU alone.

## References
- [torch.Tensor.get_device](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.get_device.html)
- tstanczyk95/WeatherGCNet#1, torchgeo/terratorch#779, uber-research/DeepPruner#38, zhuchen03/VIBNet#9,
  lyutyuh/gazetteer-NER-acl19#5
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.facts.devices import DeviceNumber
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import alternatives, is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Dev, Tensor, Value
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import attribute_renamed, fix, replaced
from torchdevlint.rules.wording import code, edit, operand
from torchdevlint.source.nodes import nodes_in

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""The number that `get_device()` gives for a tensor of the CPU is no device; `.device` is one."""
import torch

NEEDS = "cpu"
RAISES = {"RuntimeError": ["Device index must not be negative", "Device index must be non-negative"]}


def flagged(device):
    x = torch.ones(2)
    return {"device": str(torch.zeros(2, device=x.get_device()).device)}


def repaired(device):
    x = torch.ones(2)
    return {"device": str(torch.zeros(2, device=x.device).device)}
'''


_IGNORE_NEGATIVE = frozenset({"torch.cuda.set_device", "torch.cuda.device", "torch.autocast", "torch.amp.autocast"})


def _function(
    place: tuple[int, str] | None, frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value
) -> None:
    given = [arguments.keywords.get("device") if place is None else arguments.get(*place)]
    if name == "torch.device":
        given.append(arguments.get(1, "index"))
    for each in given:
        if each is not None:
            _look(frame, state, node, name, *each)


def _method(
    keyword_only: bool, frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments
) -> None:
    assert isinstance(node.func, ast.Attribute)
    given = arguments.keywords.get("device") if keyword_only else arguments.get(0, "device")
    of_torch = isinstance(receiver, Tensor) or is_module(receiver)
    if given is not None:
        _look(frame, state, node, f".{node.func.attr}", *given, of_torch=of_torch)


def _look(
    frame: Frame, state: State, call: ast.Call, name: str, node: ast.expr, value: Value, of_torch: bool = True
) -> None:
    inside = isinstance(node, ast.JoinedStr)
    if isinstance(node, ast.JoinedStr):
        parts = [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
        value = frame.evaluate(parts[0], state) if len(parts) == 1 and len(node.values) == 2 else value
    held = [each for _, each in alternatives(value, state.conditions)]
    asked = next((each.asked_by for each in held if isinstance(each, Dev) and each.asked_by is not None), None)
    if state.guarded or not isinstance(asked, ast.Call) or _is_asked_about(frame, node) or _is_for_cuda(frame):
        return
    machine = frame.machine
    argument = asked.args[0] if asked.args else None
    tensor = argument if argument is not None else asked.func.value  # type: ignore[attr-defined]
    here = asked in nodes_in(call, ast.Call)
    prefix = node.values[0] if isinstance(node, ast.JoinedStr) else None
    whole = here and (node is asked or (isinstance(prefix, ast.Constant) and prefix.value == "cuda:"))
    given = call if name == "torch.device" else node
    only = len(call.args) + len(call.keywords) == 1
    machine.record(
        ("number of a device", asked),
        lambda: DeviceNumber(
            machine.span_of(asked),
            ast.unparse(tensor) if inside else machine.text_of(tensor),
            name,
            name == ".cuda",
            inside,
            None if here else machine.span_of(call),
            machine.span_of(given) if whole else None,
            machine.span_of(call.func) if whole and only else None,
            of_torch,
        ),
        state,
    )


def _is_asked_about(frame: Frame, node: ast.expr) -> bool:
    """Whether the function compares what ``get_device()`` gives, or the name that is given, with anything."""
    scope = frame.function or frame.machine.tree
    path = dotted_path(node)
    tests = nodes_in(scope, ast.Compare) if scope is not None else []
    sides = [side for test in tests for side in (test.left, *test.comparators)]
    return any(
        (path is not None and dotted_path(side) == path)
        or (isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) and side.func.attr == "get_device")
        for side in sides
    )


def _is_for_cuda(frame: Frame) -> bool:
    """Whether the function is for CUDA by its name or decorators, or asks a tensor whether it is there."""
    function = frame.function
    if function is None or isinstance(function, ast.Lambda):
        return False
    decorators = " ".join(frame.machine.text_of(each) for each in function.decorator_list)
    asks = any(each.attr == "is_cuda" for each in nodes_in(function, ast.Attribute))
    return asks or mentions_cuda(f"{function.name} {decorators}")


_FACTORIES = torch_api.NAMESPACED_FACTORIES | {
    f"torch.{name}" for name in torch_api.FACTORIES | torch_api.LIKE_FACTORIES
}
_MODULES = frozenset(f"torch.nn.{name}" for name in torch_api.PARAMETER_MODULES)
FUNCTIONS = {
    **{name: partial(_function, None) for name in sorted(_FACTORIES | _MODULES)},
    **{
        name: partial(_function, place)
        for name, place in torch_api.DEVICE_ARGUMENTS.items()
        if name not in _IGNORE_NEGATIVE and place[1] == "device"
    },
}
METHODS = {
    "to": partial(_method, False),
    "cuda": partial(_method, False),
    **{name: partial(_method, True) for name in sorted(torch_api.NEW_METHODS - {"new"})},
}


def check(fact: DeviceNumber) -> Iterator[Report]:
    number = f"{fact.tensor}.get_device()"
    notes = () if fact.used_at is None else (Note(f"given to {code(fact.function)} here", fact.used_at),)
    yield Report(
        span=fact.at,
        message=f"{code(number)} is -1 where {code(fact.tensor)} is on the CPU, and is used as a device",
        symptom=(
            "on the CPU, RuntimeError: Invalid device string: 'cuda:-1'"
            if fact.text
            else "on the CPU, RuntimeError: Device index must not be negative"
        ),
        help=_help(fact),
        notes=notes,
        fix=_fix(fact),
    )


def _fix(fact: DeviceNumber) -> Fix | None:
    device = f"{operand(fact.tensor)}.device"
    message = f"give it {edit(device)}"
    if "\n" in fact.tensor:
        return None
    if fact.moves:
        if fact.callee_at is None or fact.given_at is None:
            return None
        edits = (attribute_renamed(fact.callee_at, "cuda", "to"), replaced(fact.given_at, device))
        return fix(Applicability.SAFE if fact.of_torch else Applicability.UNSAFE, message, *edits)
    if fact.given_at is not None:
        return fix(Applicability.SAFE, message, replaced(fact.given_at, device))
    return None if fact.text else fix(Applicability.UNSAFE, message, replaced(fact.at, device))


def _help(fact: DeviceNumber) -> str:
    if fact.moves:
        return f"write {edit(f'.to({fact.tensor}.device)')} in place of `.cuda(..)`"
    return f"write {edit(f'{fact.tensor}.device')}, which is a device wherever the tensor is"
