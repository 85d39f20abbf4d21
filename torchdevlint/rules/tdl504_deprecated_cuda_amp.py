"""Mixed precision comes from `torch.cuda.amp`, which is deprecated and for CUDA alone.

## What it does
Finds calls of `torch.cuda.amp.autocast` and `torch.cuda.amp.GradScaler`, and the decorators
`torch.cuda.amp.custom_fwd` and `custom_bwd`, however they were imported. It is advice, off unless it is selected.

## Why is this bad?
Each call warns since PyTorch 2.4:

    FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)`
    instead.

`torch.amp` has the same classes for every accelerator, and takes the device type as an argument, so that code which
says where it runs once needs no second version.

## Example
```python
scaler = torch.cuda.amp.GradScaler()
with torch.cuda.amp.autocast():
    loss = nn.Linear(4, 2)(torch.ones(1, 4)).sum()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda")
with torch.amp.autocast("cuda"):
    loss = nn.Linear(4, 2)(torch.ones(1, 4)).sum()
```
Where the device is known by its variable, `torch.amp.autocast(device.type)`.

## Fix safety
A call that is written with its whole name gets a safe fix: the classes of `torch.cuda.amp` do nothing but call those of
`torch.amp`. The first argument of `torch.cuda.amp.autocast` is `enabled`, that of `torch.amp.autocast` the device type,
so that the fix writes `enabled=`. Names that were imported have no fix, since the import would have to change too; nor
has a class that the file asks an object for, since the new one is its base.

## What it cannot see
For which releases of PyTorch the code is written, unless `target-torch` says so: `torch.amp.GradScaler` is there since
2.3. Files that use `torch.amp` as well, and places under a test of the version, are left alone.

## References
- [torch.cuda.amp](https://docs.pytorch.org/docs/stable/amp.html#deprecated-ops): "`torch.cuda.amp.autocast(args...)` is
  deprecated"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import Decorated
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.kinds.releases import is_for_older
from torchdevlint.flow.run.arguments import as_argument
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Value
from torchdevlint.model import Applicability, Edit, Fix, Report, Severity
from torchdevlint.rules.wording import edit
from torchdevlint.source.nodes import nodes_in, once_a_node, parts_of_tuple

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""`torch.cuda.amp` warns that it is deprecated; `torch.amp` does not."""
import warnings

import torch

NEEDS = "cpu"
OBSERVES = {"warned of a deprecation": True}


def flagged(device):
    return observe(lambda: torch.cuda.amp.autocast(enabled=False))


def repaired(device):
    return observe(lambda: torch.amp.autocast("cuda", enabled=False))


def observe(make):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    return {"warned of a deprecation": any("is deprecated" in str(each.message) for each in caught)}
'''


class DeprecatedAmp(Fact, frozen=True):
    """A function or class of ``torch.cuda.amp``, which ``torch.amp`` has for every accelerator.

    `name` is its own name, `text` the whole call or decorator, and `replacement` what to write instead, if it can be
    written down from what stands there.
    """

    name: str
    text: str
    replacement: str | None


_AMP = {"autocast": (2, 4), "GradScaler": (2, 4), "custom_fwd": (2, 4), "custom_bwd": (2, 4)}
"""Names of ``torch.cuda.amp``, and the release that deprecated them."""
_MODULES = ("torch.cuda.amp", "torch.cuda.amp.autocast_mode", "torch.cuda.amp.grad_scaler")


def _amp(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    _record_amp(frame, state, node, name.rpartition(".")[2], _replaced(frame, node, name.rpartition(".")[2]))


def _note_decorator(event: Decorated) -> None:
    """``@custom_fwd`` without a call; the others are calls."""
    head, _, tail = event.name.rpartition(".")
    if head in _MODULES and tail in _AMP:
        _record_amp(event.frame, event.state, event.node, tail, f'torch.amp.{tail}(device_type="cuda")')


def _record_amp(frame: Frame, state: State, node: ast.expr, name: str, replacement: str | None) -> None:
    machine = frame.machine
    if is_for_older(frame, state, _AMP[name]) or _knows_successor(machine):
        return
    machine.record_anyway(
        ("deprecated", node),
        lambda: DeprecatedAmp(machine.span_of(node), name, machine.text_of(node), replacement),
    )


def _replaced(frame: Frame, node: ast.Call, name: str) -> str | None:
    """The call by its new name; its first argument was `enabled` for autocast, and is the device now."""
    if any(isinstance(each, ast.Starred) for each in node.args):
        return None
    text = frame.machine.text_of
    if name in _classes_asked_for(frame.machine.tree):
        return None
    positional = [text(each) for each in node.args]
    if name == "autocast" and positional:
        given = [as_argument(each, text(each)) for each in node.args]
        positional = [f"{keyword}={value}" for keyword, value in zip(_AUTOCAST, given, strict=False)]
    device = 'device_type="cuda"' if name.startswith("custom") else '"cuda"'
    rest = [*positional, *(text(each) for each in node.keywords)]
    if name.startswith("custom"):
        rest.append(device)
    else:
        rest.insert(0, device)
    return f"torch.amp.{name}({', '.join(rest)})"


@once_a_node
def _classes_asked_for(tree: ast.Module) -> frozenset[str]:
    """The last names of the classes that a file asks an object for: the new class is another one."""
    kinds: list[ast.expr] = [side for test in nodes_in(tree, ast.Compare) for side in (test.left, *test.comparators)]
    for call in nodes_in(tree, ast.Call):
        if dotted_path(call.func) in ("isinstance", "issubclass") and len(call.args) == 2:
            kinds += parts_of_tuple(call.args[1])
    return frozenset((dotted_path(each) or "").rpartition(".")[2] for each in kinds)


_AUTOCAST = ("enabled", "dtype", "cache_enabled")


def _knows_successor(machine: Machine) -> bool:
    """Whether the file uses ``torch.amp`` too: then it chooses by release."""
    imported = (each.module for each in nodes_in(machine.tree, ast.ImportFrom))
    return "torch.amp" in imported or any(
        public_path(each) == "torch.amp" for each in nodes_in(machine.tree, ast.Attribute)
    )


FUNCTIONS = {f"{module}.{name}": _amp for module in _MODULES for name in _AMP}
EVENTS = {Decorated: _note_decorator}


def check(fact: DeprecatedAmp) -> Iterator[Report]:
    old = f"torch.cuda.amp.{fact.name}"
    fix = None
    if fact.replacement is not None and fact.text.startswith(old) and "\n" not in fact.text:
        edits = (Edit(fact.replacement, fact.at),)
        fix = Fix(Applicability.SAFE, f"write `torch.amp.{fact.name}`", edits)
    yield Report(
        span=fact.at,
        message=f"`{old}` is deprecated, and for CUDA alone",
        symptom=f"FutureWarning: `{old}(args...)` is deprecated. Please use `{_new(fact.name)}` instead.",
        help=f"write {edit(fact.replacement or _new(fact.name))}, or the type of the device that is used",
        fix=fix,
    )


def _new(name: str) -> str:
    """The new form in the words of the warning."""
    device = "args..., device_type='cuda'" if name.startswith("custom") else "'cuda', args..."
    return f"torch.amp.{name}({device})"
