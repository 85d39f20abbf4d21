"""A function takes `device` or `map_location` and never reads it, though a call in it needs it.

## What it does
Finds functions with a parameter `device` or `map_location` that they never read, or not where they have to, where

- what they return, or give to a model, is made on the default device, by `torch.zeros(..)` and its kin;
- they read a checkpoint with `map_location="cpu"` and give it back;
- they move whatever they are given, but for one case, or are called `to` or `change_device`, and move nothing;
- they move several things but one, also as `to` of an object, or make one of two as large there;
- they choose one themselves, or read it only if it is None;
- they move to it where it may be None, though it has a default: `self.device = device or "cpu"; self.to(device)`;
- they call a function or class of the file, or `super().__init__(..)`, that takes it too and is not given it.

So are functions that ask for `x.device` and never read the answer, where an argument goes to that model as it came or
what is on the CPU leaves them or meets what they were given; and those that ask whether `x` is elsewhere and leave it.

## Why is this bad?
The caller says where the result is to be, and nothing happens. It is on the CPU, and the error comes later, in another
place:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

Or the helper does without the argument what the caller meant to prevent: it reads the file back to the GPU that it was
saved from.

    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.

## Example
```python
def causal_mask(size, device=None):
    return torch.full((size, size), float("-inf")).triu(1)
```

## Use instead
```python
def causal_mask(size, device=None):
    return torch.full((size, size), float("-inf"), device=device).triu(1)
```
The same is reported of an object that keeps a device which no method reads, though one returns what a factory made; of
what is returned on the CPU beside an index that is made on the device; and, without a parameter for it, of what stays
behind beside its like: one of several arguments that are calculated with, one of two tensors that come in the same way
and leave together, one part under a flag for CUDA, one attribute of an object that moves the others, or what a method
gives that is moved wherever else it is called; and of a part of a model that is replaced by one of its dtype alone.

## Fix safety
The fix hands the parameter on. It is safe where callers who leave it out get what they got: it has no default, the same
one as there, or none but the default device for a tensor that is returned as it is made. Otherwise it is unsafe: with
another default the result is somewhere else for them, and other tensors of the function may have to follow; so it is
where the function asks what class the result has (`isinstance`), which may be another one with a device. There is
none where the result is made of several tensors.

## What it cannot see
Parameters with other names, and those that are read somewhere and forgotten somewhere else, unless the function does
nothing but move, case by case. Functions whose parameters
others may have decided on are left alone: methods of classes with bases in other files, methods that a second class of
the file has too, `forward` and special methods besides `__init__`, functions with decorators, `main`, tests, functions
that the file hands on as values. So are functions that say so (`del device`, or a word such as "unused" or "deprecated"
beside the name), and those that may read it without naming it (`locals()`, `save_hyperparameters()`). Of the layers
that `__init__` makes nothing is said, since the module can be moved afterwards.

## References
- [Creation ops](https://docs.pytorch.org/docs/stable/torch.html#creation-ops): "device (torch.device, optional) - the
  desired device of returned tensor"
- pytorch/pytorch#78331: `torch.load` itself, which did not hand `map_location` on to `torch.jit.load`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.unread_devices import is_dismissed, unread_parameter
from torchdevlint.flow.events import Constructed, FunctionCalled, FunctionEnded
from torchdevlint.flow.facts.devices import DeviceNotForwarded, LeftBehind
from torchdevlint.flow.kinds.drawing import draws
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.asked_classes import is_asked_for_its_class
from torchdevlint.flow.scope.names import defaults, dotted_path, parameter_names, positional_names
from torchdevlint.flow.scope.parameters import names_with_defaults, reads, reads_all
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Const, Func, Loaded, Super, Tensor, Value
from torchdevlint.flow.vouch.names import is_rebound
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity
from torchdevlint.rules.edits import argument_added, call_added, fix, replaced
from torchdevlint.rules.left_behind import of_left, of_part
from torchdevlint.rules.wording import code, edit
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, is_inside, keyword_of, nodes_in

SEVERITY = Severity.WARNING
_OF_PARTS = frozenset({"asked", "brought", "chosen", "dropped", "fallback", "forgotten", "mover", "unread"})
EXECUTION = "operation"
PROBE = '''
"""What a function makes without handing on its `device` is on the default device, whatever it is told."""
import torch

NEEDS = "device"
OBSERVES = {"the result is where it was asked for": False}


def flagged(device):
    return observe(without, device)


def repaired(device):
    return observe(forwarded, device)


def without(size, device=None):
    return torch.ones(size)


def forwarded(size, device=None):
    return torch.ones(size, device=device)


def observe(make, device):
    return {"the result is where it was asked for": make(2, device=device).device.type == device.type}
'''


Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


def _note_call(event: FunctionCalled) -> None:
    _note(event.frame, event.state, event.node, event.function, event.arguments)


def _note_constructor(event: Constructed) -> None:
    _note(event.frame, event.state, event.node, event.init, event.arguments)


def _note(frame: Frame, state: State, node: ast.Call, callee: Func, arguments: Arguments) -> None:
    """A call of a function of this file that takes a device too, and is not given the one that the caller was given."""
    name = unread_parameter(frame)
    if name is None or arguments.starred or arguments.double_starred or isinstance(callee.node, ast.Lambda):
        return
    bound = callee.receiver is not None
    if name in [each.arg for each in callee.node.args.posonlyargs]:
        return
    taken = positional_names(callee.node)[: len(arguments.positional) + bound]
    if name in (*taken, *arguments.keywords) or name not in names_with_defaults(callee.node):
        return
    if not any(each.id == name and isinstance(each.ctx, ast.Load) for each in nodes_in(callee.node, ast.Name)):
        return
    if _chooses(frame.function, name, node):
        return
    called = frame.machine.text_of(node.func)
    keeps = _same(_default_of(frame.function, name), _default_of(callee.node, name)) and not draws(callee.node)
    keeps = keeps and not (bound and _is_overridden_without(frame, callee.node, name))
    keeps = keeps and not is_asked_for_its_class(frame.function or frame.machine.tree, node)
    _record(frame, state, node, name, "call", called, f"{name}={name}", keeps=keeps)


def _chooses(function: ast.AST | None, name: str, call: ast.Call) -> bool:
    """Whether a call gives what the name of the parameter is bound to: ``if device is None: device = default()``."""
    bound = assignments_in(function) if function is not None else []
    return any(dotted_path(each.targets[0]) == name and is_inside(call, each.value) for each in bound)


def _is_overridden_without(frame: Frame, method: FunctionNode, name: str) -> bool:
    """Whether a class of the file has another method of that name, which does not take the parameter."""
    others = (info.methods.get(method.name) for info in frame.machine.classes.values())
    return any(each is not None and each is not method and name not in parameter_names(each) for each in others)


def _loaded(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    """A load to the CPU by name, or to nowhere in particular, in a function that is told where to."""
    given = arguments.get(torch_api.LOADERS[name], "map_location")
    default = _default_of(frame.function, "map_location")
    if given is not None:
        if given[1] == Const("cpu") and unread_parameter(frame) == "map_location":
            _record(
                frame, state, given[0], "map_location", "load", name, "map_location", keeps=_same(default, given[0])
            )
    elif not (arguments.starred or arguments.double_starred) and _forgets_place(frame):
        handed = "map_location=map_location"
        _record(frame, state, node, "map_location", "call", name, handed, keeps=_same(default, _NONE))


def _forgets_place(frame: Frame) -> bool:
    """Whether a function takes the place of a load and never reads it, whoever asks it to take one."""
    function = frame.function
    if not isinstance(function, Functions) or "map_location" not in parameter_names(function):
        return False
    forgotten = not reads(function, "map_location") and not reads_all(function)
    return forgotten and not is_dismissed(frame.machine, function, "map_location")


def _base_made(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``super().__init__(..)`` of a layer of torch."""
    parameter = unread_parameter(frame)
    if not isinstance(receiver, Super) or parameter != "device" or arguments.starred or arguments.double_starred:
        return
    bases = [base.rpartition(".") for base in receiver.info.library_bases]
    layers = [tail for head, _, tail in bases if head == "torch.nn" and tail in torch_api.PARAMETER_MODULES]
    if len(bases) == len(layers) == 1 and "device" not in arguments.keywords and arguments.positional:
        keeps = _same(_default_of(frame.function, parameter), _NONE)
        called = frame.machine.text_of(node.func)
        _record(frame, state, node, parameter, "call", called, "device=device", keeps=keeps)


def _note_end(event: FunctionEnded) -> None:
    """What a function that was entered returns: tensors that it made on the default device, though told another."""
    frame, state = event.frame, event.state
    parameter = unread_parameter(frame) if frame.returned or frame.yields else None
    if parameter != "device" or frame.function in frame.machine.pipeline or frame.function is None:
        return
    calls = {id(each) for each in nodes_in(frame.function, ast.Call)}
    for value in (*(value for _, _, value in frame.returned), *frame.yields):
        if isinstance(value, Loaded) and id(value.node) in calls:
            _note_loaded(frame, state, value.node)
        for tensor in tensors_in(value):
            made_here = tensor.device == DEFAULT and not _is_reduced(frame.function, tensor)
            for site in tensor.creations if made_here else ():
                if id(site.node) in calls and isinstance(site.node, ast.Call):
                    takes = site.function.rpartition(".")[2] not in torch_api.CPU_FACTORIES
                    takes = takes and site.function.rpartition(".")[2] not in torch_api.LEGACY_CONSTRUCTORS
                    takes = takes and not site.drawn
                    how = "device=device" if takes else ".to(device)"
                    alone = len(tensor.creations) == 1 and (
                        takes or not _same(_default_of(frame.function, "device"), _NONE)
                    )
                    keeps = alone and takes and not site.random and _is_returned_as_made(frame.function, site.node)
                    _record(frame, state, site.node, parameter, "factory", site.function, how, alone, keeps)
                    return


def _is_reduced(function: ast.AST, tensor: Tensor) -> bool:
    """Whether it is one number that a function returns as ``losses.mean()``: that goes with tensors of all devices."""
    returned = (each.value for each in nodes_in(function, ast.Return) if isinstance(each.value, ast.Call))
    methods = (each.func.attr for each in returned if isinstance(each.func, ast.Attribute) and not each.args)
    return tensor.ndim == 0 and not _REDUCTIONS.isdisjoint(methods)


def _is_returned_as_made(function: ast.AST, node: ast.Call) -> bool:
    """Whether nothing happens to a tensor between the call that makes it on the default device and the return."""
    default = _default_of(function, "device")
    usual = default is None or _is_constant(default, None) or _is_constant(default, "cpu")
    return usual and any(each.value is node for each in nodes_in(function, ast.Return))


_NONE = ast.Constant(None)
_REDUCTIONS = frozenset({"mean", "sum", "max", "min", "median", "std", "var", "prod", "norm"})


def _is_constant(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _default_of(function: ast.AST | None, name: str) -> ast.expr | None:
    """The default value of a parameter, if it has one."""
    if not isinstance(function, (*Functions, ast.Lambda)):
        return None
    return next((value for each, value in defaults(function) if each == name), None)


def _same(one: ast.expr | None, other: ast.expr | None) -> bool:
    """Whether a default is None here, which is that there is none, or the same as the other one."""
    return one is None or (other is not None and ast.dump(one) == ast.dump(other))


def _note_loaded(frame: Frame, state: State, node: ast.AST) -> None:
    """``return torch.load(path, map_location="cpu")``."""
    assert isinstance(node, ast.Call)
    place = keyword_of(node, "map_location")
    if isinstance(place, ast.Constant) and place.value == "cpu":
        keeps = _same(_default_of(frame.function, "device"), place)
        _record(frame, state, place, "device", "load", dotted_path(node.func) or "load", "device", keeps=keeps)


def _record(
    frame: Frame,
    state: State,
    node: ast.AST,
    parameter: str,
    kind: str,
    target: str,
    suggestion: str,
    alone: bool = True,
    keeps: bool = False,
) -> None:
    machine, function = frame.machine, frame.function
    assert isinstance(function, FunctionNode)
    spec = function.args
    given = next(each for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if each.arg == parameter)
    machine.record(
        ("not forwarded", function, parameter),
        lambda: DeviceNotForwarded(
            machine.span_of(node),
            function.name,
            parameter,
            kind,
            target,
            suggestion,
            machine.span_of(given),
            machine.text_of(node),
            alone and not is_rebound(function, parameter),
            keeps,
        ),
        state,
    )


FUNCTIONS = {name: _loaded for name in torch_api.LOADERS if name.startswith("torch.")}
METHODS = {"__init__": _base_made}
EVENTS = {FunctionCalled: _note_call, Constructed: _note_constructor, FunctionEnded: _note_end}


def check(fact: DeviceNotForwarded | LeftBehind) -> Iterator[Report]:
    if isinstance(fact, LeftBehind):
        yield of_left(fact)
        return
    if fact.kind in _OF_PARTS:
        yield of_part(fact)
        return
    yield Report(
        span=fact.at,
        message=_message(fact),
        symptom=(
            "nothing raises here: the result is on the CPU, whatever the caller asks for"
            if fact.kind != "call" or fact.parameter == "device"
            else "the file is read as if the caller had said nothing"
        ),
        help=f"write {edit(fact.suggestion)}" + ("" if fact.kind == "load" else " there"),
        notes=(Note(f"{code(fact.parameter)} decides nothing in {code(fact.function)}", fact.parameter_at),),
        fix=_fix(fact),
    )


def _fix(fact: DeviceNotForwarded) -> Fix | None:
    if not fact.alone:
        return None
    edits: tuple[Edit | None, ...]
    if fact.kind == "load":
        edits = (replaced(fact.at, fact.suggestion),)
    elif fact.suggestion.startswith("."):
        edits = call_added(fact.text, fact.at, fact.suggestion)
    else:
        edits = (argument_added(fact.text, fact.at, fact.suggestion),)
    applicability = Applicability.SAFE if fact.keeps else Applicability.UNSAFE
    return fix(applicability, f"write {edit(fact.suggestion)}", *edits)


def _message(fact: DeviceNotForwarded) -> str:
    function, parameter, target = code(fact.function), code(fact.parameter), code(fact.target)
    if fact.kind == "factory":
        return f"{function} takes {parameter} and does not hand it on to {target}, which makes what it returns"
    if fact.kind == "load":
        return f"{function} takes {parameter}, but {target} reads to the CPU"
    return f"{function} takes {parameter} and does not hand it on to {target}, which takes it too"
