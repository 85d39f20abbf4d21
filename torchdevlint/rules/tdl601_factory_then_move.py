"""A tensor is made on the CPU and copied to the device that it could have been made on.

## What it does
Finds `torch.zeros(..).to(device)` and the same with `ones`, `full`, `empty`, `arange`, `eye`, `linspace`, `logspace`,
`tril_indices` and `triu_indices`, also with methods such as `view` or `long` between. It is advice, off unless it is
selected.

## Why is this bad?
The numbers are written to the memory of the CPU, and copied over the bus, from memory that is not pinned, so that the
program waits for the copy. With `device=` they are written where they are needed, and nothing is copied.

## Example
```python
def positions(x):
    return torch.arange(x.shape[1]).to(x.device)
```

## Use instead
```python
def positions(x):
    return torch.arange(x.shape[1], device=x.device)
```

## Fix safety
The fix gives the factory the device, and the type where the move changes it too, and takes the move away. It is safe,
since these factories give the same numbers wherever they run. It is unsafe where the type goes into a factory that
computes, such as `torch.linspace`, and where another method converts the tensor before the move, since the accelerator
may lack the first type, as MPS lacks float64. There is none where the factory is told another type, or where the move
has a line of its own.

## What it cannot see
Moves of a variable, some lines after it was made. `torch.tensor([..]).to(device)` copies in either form, and random
factories give other numbers on another device, so both are left alone; so are tensors with `requires_grad=True` or
`pin_memory=True`.

## References
- [Tensor creation](https://docs.pytorch.org/docs/stable/tensors.html#initializing-and-basic-operations)
- [Performance tuning](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html): "Create tensors directly
  on the target device"
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import as_argument
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.scope.names import dotted_path, mentions_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Dtype, Tensor, Unknown, Value
from torchdevlint.model import Applicability, Fix, Report, Severity, Span
from torchdevlint.rules.edits import argument_added, cut_after, fix
from torchdevlint.rules.wording import code, edit, with_argument
from torchdevlint.source.nodes import nodes_in

SEVERITY = Severity.ADVICE
EXECUTION = None

_EXACT = (".zeros", ".ones", ".empty", ".eye", ".arange", "_indices")
"""Factories that compute nothing that has to be rounded to a type."""
PROBE = '''
"""A tensor that is made and then moved is copied; one that is made on the device is not."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NEEDS = "device"
OBSERVES = {"copies": 1}


def flagged(device):
    return copies(lambda: torch.zeros(3).to(device))


def repaired(device):
    return copies(lambda: torch.zeros(3, device=device))


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator))
        return operator(*args, **(kwargs or {}))


def copies(make):
    with Seen() as seen:
        make()
    return {"copies": sum("_to_copy" in name for name in seen.names)}
'''


class FactoryThenMove(Fact, frozen=True):
    """``torch.zeros(3).to(device)``: made on the CPU, and copied.

    `factory` is the public name, `text` the factory's call at `made_at`, `move` the move, which stands behind what is
    at `moved_at`, and `arguments` what the factory takes to make the tensor where it is needed. `clashes` says that it
    cannot take them all, as it is told another type, or the type is changed on the way, which alone is `converts`.
    """

    factory: str
    text: str
    move: str
    arguments: str
    direct: bool
    """Whether the move follows the factory without another method between."""
    made_at: Span
    moved_at: Span
    clashes: bool
    converts: bool


_FACTORIES = frozenset(
    f"torch.{name}" for name in "zeros ones full empty arange eye linspace logspace tril_indices triu_indices".split()
)
"""What gives the same numbers wherever it runs."""
_KEEPS = torch_api.DTYPE_METHODS | frozenset(
    "view reshape unsqueeze squeeze expand permute transpose t flatten repeat type".split()
)
"""Methods between factory and move that work in any place."""
_NO_DEVICE = frozenset({"device", "out", "requires_grad", "pin_memory"})


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    machine = frame.machine
    if not isinstance(receiver, Tensor) or len(receiver.creations) != 1:
        return
    site, callee = receiver.creations[0], node.func
    if receiver.device != DEFAULT or site.function not in _FACTORIES or not isinstance(callee, ast.Attribute):
        return
    made = _made_by(callee.value)
    if made is not site.node or made is None or (made.args[:1] and isinstance(made.args[0], ast.Starred)):
        return
    if any(each.arg is None or each.arg in _NO_DEVICE for each in made.keywords):
        return
    taken = _arguments(frame, node, callee.attr, arguments)
    if taken is None:
        return
    machine.record(
        ("moved", node),
        lambda: FactoryThenMove(
            machine.span_of(node),
            site.function,
            machine.text_of(made),
            f".{callee.attr}({', '.join(machine.text_of(each) for each in (*node.args, *node.keywords))})",
            taken,
            made is callee.value,
            machine.span_of(made),
            machine.span_of(callee.value),
            _clashes(frame, state, node, made, taken) or ("dtype=" in taken and made is not callee.value),
            _converts(callee.value),
        ),
        state,
    )


def _made_by(node: ast.expr) -> ast.Call | None:
    """The call that a chain of methods starts with, if none of them needs another tensor."""
    while isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in _KEEPS:
            return node
        node = node.func.value
    return None


def _clashes(frame: Frame, state: State, move: ast.Call, made: ast.Call, taken: str) -> bool:
    """Whether the factory is told a type that the move changes, or nothing says what the move is given."""
    if "dtype=" in taken:
        return any(each.arg == "dtype" for each in made.keywords)
    if not move.args or not isinstance(frame.evaluate(move.args[0], state), Unknown):
        return False
    return not mentions_device(frame.machine.text_of(move.args[0]).rpartition(".")[2])


def _converts(node: ast.expr) -> bool:
    """Whether a chain of methods changes the type of what it starts with."""
    calls = (node, *nodes_in(node, ast.Call))
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr in (*torch_api.DTYPE_METHODS, "type")
        for each in calls
    )


def _arguments(frame: Frame, node: ast.Call, method: str, arguments: Arguments) -> str | None:
    """``device=..`` for a factory that does the move's work, with ``dtype=..`` where it does that too."""
    device = to_device(frame, arguments) if method in ("to", "type_as") else method_device(frame, method, arguments)
    if "memory_format" in arguments.keywords:
        return None
    if device is None or device.origin is Origin.TOP or on_cpu(device) or device.name in VALUELESS_TYPES:
        return None
    text = frame.machine.text_of
    if method in torch_api.DEVICE_METHODS:
        given = arguments.get(0, "device")
        if given is None or device.origin is Origin.LITERAL:
            return f'device="{device.describe()}"'
        return f"device={as_argument(given[0], text(given[0]))}"
    first = arguments.keywords.get("device") or arguments.keywords.get("other") or arguments.positional[0]
    if isinstance(first[1], Tensor) or method == "type_as" or "other" in arguments.keywords:
        if dotted_path(first[0]) is None:
            return None
        return f"device={text(first[0])}.device, dtype={text(first[0])}.dtype"
    of_dtype = [each for each, value in arguments.pairs if isinstance(value, Dtype)]
    said = [("device", first[0]), *(("dtype", each) for each in of_dtype)]
    return ", ".join(f"{name}={as_argument(each, text(each))}" for name, each in said)


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(("to", "type_as", *sorted(torch_api.DEVICE_METHODS)), _move)


def check(fact: FactoryThenMove) -> Iterator[Report]:
    written = with_argument(fact.text, fact.arguments) if fact.direct else None
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} makes a tensor on the CPU, and {code(fact.move)} copies it",
        symptom="a copy over the bus for a tensor that could be made in place",
        help=f"write {edit(written)}" if written else f"give {edit(fact.arguments)} to `{fact.factory}`",
        fix=_fix(fact),
    )


def _fix(fact: FactoryThenMove) -> Fix | None:
    if fact.clashes or fact.at.end_row != fact.moved_at.end_row:
        return None
    rounds = "dtype" in f"{fact.arguments} {fact.text}" and not fact.factory.endswith(_EXACT)
    return fix(
        Applicability.UNSAFE if rounds or fact.converts else Applicability.SAFE,
        f"make it there, with {edit(fact.arguments)}",
        argument_added(fact.text, fact.made_at, fact.arguments),
        cut_after(fact.moved_at, fact.at),
    )
