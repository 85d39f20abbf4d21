"""A call that takes devices of CUDA only gets one that may be the CPU.

## What it does
Finds `model.cuda(device)`, `torch.cuda.set_device(device)` and `torch.cuda.device(device)` where the code itself says
that the device may be the CPU: it is chosen as `"cuda" if torch.cuda.is_available() else "cpu"`, the default of the
parameter or of the command-line option is `"cpu"`, or it is the device of a tensor that a caller gives.

## Why is this bad?
`.cuda(..)` and the functions of `torch.cuda` refuse every other device, so the choice is in vain: where there is no
CUDA, and where the user asks for the CPU, the program stops with

    RuntimeError: Invalid device, must be cuda device
    ValueError: Expected a cuda device, but got: cpu

## Example
```python
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).cuda(device)
```

## Use instead
```python
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
```
`.to(device)` takes every device. `torch.cuda.set_device` and `with torch.cuda.device(..)` belong under
`if device.type == "cuda":`; where every tensor is made with `device=`, neither is needed.

## Fix safety
The fix writes `.to(device)` for `.cuda(device)`, which does the same with every device that `.cuda` takes. It is safe
where what is moved is known to be a tensor or a module, and unsafe where a class of another library may have a `.cuda`
and no `.to`. For `torch.cuda.set_device` and `torch.cuda.device` there is none: what has to be under the test only the
author knows.

## What it cannot see
Devices that are chosen in another file, and parameters that nothing says may be the CPU. Calls are left alone after or
under a test that may be about devices (`if torch.cuda.is_available():`, `if device != "cpu":`, `if args.distributed:`),
and where what they raise is caught. `torch.cuda.device(x.device)` around a kernel is left alone too.

## References
- [torch.nn.Module.cuda](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.cuda)
- [torch.cuda.set_device](https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html): "Usage of this
  function is discouraged in favor of device"
- awslabs/dgl-lifesci#127, zeusees/License-Plate-Detector#32
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.checks.literals import device_specs
from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda, kernel_before
from torchdevlint.flow.facts.devices import MaybeCpuDevice
from torchdevlint.flow.scope.handled_errors import WITHOUT_CUDA, may_catch
from torchdevlint.flow.scope.names import defaults, device_spec, dotted_path, parameter_names
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Dev, Library, Obj, Tensor, Value
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import attribute_renamed, fix
from torchdevlint.rules.wording import code, edit
from torchdevlint.source.nodes import assignments_in, nodes_in

SEVERITY = Severity.WARNING
EXECUTION = "exception"
PROBE = '''
"""`.cuda(device)` refuses the CPU, which `.to(device)` takes like any other device."""
import torch

NEEDS = "cpu"
RAISES = {"RuntimeError": ["Invalid device, must be cuda device"]}


def flagged(device):
    chosen = torch.device("cpu")
    return {"device": str(torch.nn.Linear(2, 2).cuda(chosen).weight.device)}


def repaired(device):
    chosen = torch.device("cpu")
    return {"device": str(torch.nn.Linear(2, 2).to(chosen).weight.device)}
'''


_ASKS = regex(r"cuda|gpu|cpu|mps|device|is_available|accelerat|distributed|rank|world_size|parallel|ddp", re.IGNORECASE)
"""Words of tests that may be about devices, or about code that runs on several of them."""


def _function(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    given = arguments.get(0, "device")
    if given is not None:
        _look(frame, state, node, name, *given)


def _cuda(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    given = arguments.get(0, "device")
    own = isinstance(receiver, Obj) and (not receiver.info.is_module or "cuda" in receiver.info.all_methods)
    if given is not None and not own:
        of_torch = isinstance(receiver, (Tensor, Obj)) or (isinstance(receiver, Library) and receiver.module)
        _look(frame, state, node, ".cuda", *given, of_torch=of_torch)


def _fits_to(call: ast.Call) -> bool:
    """Whether the arguments of ``.cuda`` mean the same to ``.to``, which takes the type behind the device."""
    return len(call.args) <= 1 and all(each.arg in ("device", "non_blocking") for each in call.keywords)


def _look(
    frame: Frame, state: State, call: ast.Call, name: str, node: ast.expr, value: Value, of_torch: bool = False
) -> None:
    if state.guarded or _is_under_question(frame, call):
        return
    if name == "torch.cuda.set_device" and device_specs.lacks_number(frame, node, value):
        return
    why = _why(frame, state, name, node, value)
    if why is None:
        return
    machine, (text, place) = frame.machine, why
    machine.record(
        ("may be the CPU", call),
        lambda: MaybeCpuDevice(
            machine.span_of(call),
            name,
            machine.text_of(node),
            text,
            machine.span_of(place),
            machine.span_of(call.func) if name == ".cuda" and _fits_to(call) else None,
            of_torch,
        ),
        state,
    )


def _why(frame: Frame, state: State, name: str, node: ast.expr, value: Value) -> tuple[str, ast.AST] | None:
    """What says that the device may be the CPU, in words and with its place; None if nothing does."""
    held = [each for _, each in alternatives(value, state.conditions)]
    if name == ".cuda" and any(_is_of_tensor(each) for each in held):
        return "it is where a tensor is, which may be the CPU", node
    for written, text in _written(frame, node):
        place = next((each for each in _results(written) if _is_cpu(each)), None)
        if place is not None:
            return text, place
    return ("it is the CPU on some path", node) if any(_is_literally_cpu(each) for each in held) else None


def _is_of_tensor(value: Value) -> bool:
    """Whether it is the device of a tensor that some caller gives, or of a model."""
    return isinstance(value, Dev) and not value.number and value.device.origin in (Origin.ARGUMENT, Origin.MODEL)


def _is_literally_cpu(value: Value) -> bool:
    if isinstance(value, Dev):
        return value.device in (CPU, DEFAULT) and not value.number
    return value == Const("cpu")


def _written(frame: Frame, node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The expressions that may have given `node` its value, each with what it is, in words."""
    path = dotted_path(node)
    if path is None:
        yield node, "it is chosen here"
        return
    function, owner = frame.function, frame.owner
    if function is not None and path in parameter_names(function):
        yield from ((value, "that is its default") for name, value in defaults(function) if name == path and value)
    own = path.startswith("self.")
    for scope in (function, owner.node if owner is not None and own else None, None if own else frame.machine.tree):
        values = [] if scope is None else list(_assigned(scope, path))
        yield from ((value, "it is chosen here") for value in values)
        if values or (function is not None and path in parameter_names(function)):
            return
    if "." in path and not own and frame.machine.tree is not None:
        yield from ((value, "the command line says so") for value in _options(frame.machine.tree, path))


def _assigned(scope: ast.AST, path: str) -> Iterator[ast.expr]:
    for each in assignments_in(scope):
        if any(dotted_path(target) == path for target in each.targets):
            yield each.value


def _options(tree: ast.Module, path: str) -> Iterator[ast.expr]:
    """The default and the choices of the option that ``args.device`` holds."""
    option = path.rpartition(".")[2]
    for call in nodes_in(tree, ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
            continue
        names = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if any(name.startswith("--") and name.lstrip("-").replace("-", "_") == option for name in names):
            for keyword in call.keywords:
                if keyword.arg == "default":
                    yield keyword.value
                elif keyword.arg == "choices" and isinstance(keyword.value, (ast.List, ast.Tuple)):
                    yield from keyword.value.elts


def _results(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression may give: the arms of a choice, and what ``torch.device`` is made of."""
    if isinstance(node, ast.IfExp):
        yield from _results(node.body)
        yield from _results(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from _results(each)
    elif device_spec(node) is not node:
        yield from _results(device_spec(node))
    else:
        yield node


def _is_cpu(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "cpu"


def _is_under_question(frame: Frame, call: ast.Call) -> bool:
    """Whether a test before or around the call asks for devices, or what it raises is caught."""
    scope = frame.function or frame.machine.tree
    tests = [
        *((each.lineno, each.test) for each in nodes_in(scope, ast.If)),
        *((each.lineno, each.test) for each in nodes_in(scope, ast.IfExp) if call in nodes_in(each, ast.Call)),
        *((each.lineno, each.test) for each in nodes_in(scope, ast.Assert)),
        *((each.lineno, each) for each in nodes_in(scope, ast.BoolOp) if call in nodes_in(each, ast.Call)),
    ]
    if any(line <= call.lineno and _ASKS.search(frame.machine.text_of(test)) for line, test in tests):
        return True
    if is_for_cuda(frame) or (frame.function is not None and kernel_before(frame.function, call.lineno)):
        return True
    tries = (each for each in nodes_in(scope, ast.Try) if may_catch(each, WITHOUT_CUDA))
    return any(call in nodes_in(part, ast.Call) for each in tries for part in each.body)


FUNCTIONS = {"torch.cuda.set_device": _function, "torch.cuda.device": _function}
METHODS = {"cuda": _cuda}


def check(fact: MaybeCpuDevice) -> Iterator[Report]:
    moves = fact.call == ".cuda"
    called = f"{fact.call}({fact.device})"
    yield Report(
        span=fact.at,
        message=f"{code(called)} takes devices of CUDA only, and {code(fact.device)} may be the CPU",
        symptom=(
            "on the CPU, RuntimeError: Invalid device, must be cuda device"
            if moves
            else "on the CPU, ValueError: Expected a cuda device, but got: cpu"
        ),
        help=f"write {edit(f'.to({fact.device})')}" if moves else "do it only where the device is one of CUDA",
        notes=(Note(fact.why, fact.why_at),),
        fix=_fix(fact),
    )


def _fix(fact: MaybeCpuDevice) -> Fix | None:
    if fact.callee_at is None:
        return None
    applicability = Applicability.SAFE if fact.of_torch else Applicability.UNSAFE
    return fix(applicability, f"write {edit(f'.to({fact.device})')}", attribute_renamed(fact.callee_at, "cuda", "to"))
