"""The default device is an accelerator, and a sampler shuffles with a generator of the CPU.

## What it does
Finds `DataLoader(.., shuffle=True)`, `RandomSampler(..)` and `random_split(..)` without `generator=`, and a
`DistributedSampler` that shuffles, where the file has made an accelerator the default before, by
`torch.set_default_device(..)` or `torch.set_default_tensor_type(..)`.

## Why is this bad?
A sampler draws a permutation by `torch.randperm(n, generator=generator)`. The permutation is made on the default
device, and the generator that the sampler makes for itself is one of the CPU:

    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'

It is raised when the loader is iterated over, and by `random_split` at once.

## Example
```python
torch.set_default_device("cuda")
data = torch.utils.data.TensorDataset(torch.arange(100))
loader = torch.utils.data.DataLoader(data, batch_size=10, shuffle=True)
```

## Use instead
```python
torch.set_default_device("cuda")
data = torch.utils.data.TensorDataset(torch.arange(100))
loader = torch.utils.data.DataLoader(data, batch_size=10, shuffle=True, generator=torch.Generator(device="cuda"))
```
Better still is to leave the default alone, and to write `device=` where tensors are made: data sets and workers then
stay on the CPU, where they belong. A `DistributedSampler` takes no generator.

## Fix safety
The fix gives the call a generator of the default device, where the expression for that device can be written there. It
is unsafe: another generator gives another order than the global one that a seed was set for.

## What it cannot see
Defaults that another file sets, and `shuffle=` with a value that is not known. A generator that is given is taken to be
the right one. Where a file also sets the default back to the CPU, other than in the other arm of the same `if`, and
where a loader is made in one function and the default is set in another that does not call it, nothing is said.

## References
- [torch.set_default_device](https://docs.pytorch.org/docs/stable/generated/torch.set_default_device.html)
- pytorch/pytorch#62152, pytorch/pytorch#61457, amdegroot/ssd.pytorch#578, dbolya/yolact#664, pyro-ppl/pyro#3264,
  lywang3081/AFEC#4
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, TOP, VALUELESS_TYPES
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Value
from torchdevlint.flow.vouch.names import means_the_same
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import argument_added, fix
from torchdevlint.rules.wording import code, edit
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""With an accelerator as the default device, a loader that shuffles needs a generator of that device."""
import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["device type for generator but found 'cpu'"]}


def flagged(device):
    torch.set_default_device(device)
    loader = DataLoader(TensorDataset(torch.arange(4)), shuffle=True)
    return {"batches": len(list(loader))}


def repaired(device):
    torch.set_default_device(device)
    loader = DataLoader(TensorDataset(torch.arange(4)), shuffle=True, generator=torch.Generator(device=device))
    return {"batches": len(list(loader))}
'''


class SamplerOnCpu(Fact, frozen=True):
    """`call` shuffles with a generator of the CPU, where `how` has made an accelerator the default, at `set_at`.

    `generator` is the argument that puts it right, or empty, where it takes none; `text` is the whole call, if the
    names in the argument are bound there.
    """

    call: str
    how: str
    generator: str
    set_at: Span | None
    text: str = ""


_SETTERS = ("set_default_device", "set_default_tensor_type")


def _loader(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    if arguments.value(2, "shuffle") == Const(True) and "generator" not in arguments.keywords:
        _record(frame, state, node, name, arguments, ".., shuffle=True")


def _sampler(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    if arguments.get(3, "generator") is None:
        _record(frame, state, node, name, arguments)


def _distributed(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    shuffle = arguments.get(3, "shuffle")
    if shuffle is None or shuffle[1] == Const(True):
        _record(frame, state, node, name, arguments, takes_generator=False)


def _split(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    if arguments.get(2, "generator") is not None:
        return
    device = state.default_device
    if device is None:
        _record(frame, state, node, name, arguments)
    elif device not in (TOP, CPU, DEFAULT) and device.name not in VALUELESS_TYPES:
        _report(frame, state, node, name, None, True, f"with torch.device({device.describe()})", "..")


def _record(
    frame: Frame,
    state: State,
    node: ast.Call,
    name: str,
    arguments: Arguments,
    shown: str = "..",
    takes_generator: bool = True,
) -> None:
    if arguments.starred or arguments.double_starred or state.default_device is not None:
        return
    setter = _setter_before(frame, node)
    if setter is not None:
        _report(frame, state, node, name, setter, takes_generator, frame.machine.text_of(setter), shown)


def _report(
    frame: Frame,
    state: State,
    node: ast.Call,
    name: str,
    setter: ast.Call | None,
    takes_generator: bool,
    how: str,
    shown: str,
) -> None:
    machine, tail = frame.machine, name.rpartition(".")[2]
    by_type = setter is None or last_name(setter.func) != "set_default_device"
    device = '"cuda"' if by_type or setter is None else machine.text_of(setter.args[0])
    bound = spelled(machine.tree, "torch.Generator") == "torch.Generator" and (
        setter is None or (_is_bound(frame, setter.args[0], node) and not _is_under_test(machine.tree, setter, node))
    )
    machine.record(
        ("sampler", node),
        lambda: SamplerOnCpu(
            machine.span_of(node),
            f"{tail}({shown})",
            how,
            f"generator=torch.Generator(device={device})" if takes_generator else "",
            machine.span_of(setter) if setter is not None else None,
            machine.text_of(node) if bound else "",
        ),
        state,
    )


def _is_bound(frame: Frame, device: ast.expr, node: ast.Call) -> bool:
    """Whether the names in an expression, which stands earlier in the file, are bound at a call."""
    names = {each.id for each in (device, *nodes_in(device, ast.Name)) if isinstance(each, ast.Name)}
    return all(means_the_same(frame, name, node, device) for name in names)


def _is_under_test(tree: ast.Module, setter: ast.Call, node: ast.Call) -> bool:
    """Whether the default is set on some of the paths only that lead to a call."""
    tests = [[id(call) for call in nodes_in(each, ast.Call)] for each in nodes_in(tree, ast.If)]
    return any(id(setter) in each and id(node) not in each for each in tests)


def _setter_before(frame: Frame, node: ast.Call) -> ast.Call | None:
    """The call that has made an accelerator the default where `node` runs, if nothing in the file takes it back."""
    tree = frame.machine.tree
    if tree is None or not frame.machine.words.intersection(_SETTERS):
        return None
    found = _setters(tree)
    return next((setter for scope, setter in found if _runs_before(frame, scope, setter, node)), None)


@once_a_node
def _setters(tree: ast.Module) -> list[tuple[ast.AST | None, ast.Call]]:
    """The calls that make an accelerator the default, with the function around each; none if one is taken back."""
    calls = [each for each in nodes_in(tree, ast.Call) if _is_setter(each)]
    to_cpu = [each for each in calls if _is_to_cpu(each)]
    others = [each for each in calls if each not in to_cpu and _is_to_accelerator(each)]
    choices = [{id(call) for call in nodes_in(each, ast.Call)} for each in nodes_in(tree, ast.If)]
    alternative = all(any(id(a) in arms and id(b) in arms for arms in choices for b in others) for a in to_cpu)
    return [(_function_around(tree, each), each) for each in others] if alternative else []


def _is_setter(call: ast.Call) -> bool:
    head, _, tail = public_path(call.func).rpartition(".")
    return len(call.args) == 1 and head == "torch" and tail in _SETTERS


def _is_to_cpu(call: ast.Call) -> bool:
    text = _text_of(call.args[0])
    return text is None or text.startswith("cpu") or (text.endswith("Tensor") and ".cuda." not in text)


def _is_to_accelerator(call: ast.Call) -> bool:
    """Whether it names an accelerator, or a device that is chosen elsewhere, which counts as one."""
    text = _text_of(call.args[0])
    if public_path(call.func) == "torch.set_default_tensor_type":
        return text is not None and ".cuda." in text and text.endswith("Tensor")
    return text is not None and not text.startswith(("cpu", "meta"))


def _text_of(node: ast.expr) -> str | None:
    """A device or type as it is named: by a string, a name, or what ``torch.device`` is made of; None for None."""
    if isinstance(node, ast.Call) and node.args:
        return _text_of(node.args[0])
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return public_path(node) or "?"


def _function_around(tree: ast.Module, call: ast.Call) -> FunctionNode | None:
    functions = functions_in(tree)
    around = [each for each in functions if call in nodes_in(each, ast.Call)]
    return max(around, key=lambda each: each.lineno, default=None)


def _runs_before(frame: Frame, scope: ast.AST | None, setter: ast.Call, node: ast.Call) -> bool:
    """Whether the default is set before `node` runs: when the file is run, above it, or in a function that calls it."""
    function = frame.function
    if scope is function:
        return setter.lineno < node.lineno
    if scope is None:
        return True
    around: Frame | None = frame
    while around is not None and around.called_at is not None:
        called, around = around.called_at
        if around.function is scope:
            return getattr(called, "lineno", 0) > setter.lineno
    name = getattr(scope, "name", "")
    return name == "__init__" and frame.owner is not None and scope in frame.owner.methods.values()


_LOADERS = (
    "torch.utils.data.DataLoader",
    "torch.utils.data.dataloader.DataLoader",
    "torch_geometric.loader.DataLoader",
)
FUNCTIONS = {
    **dict.fromkeys(_LOADERS, _loader),
    "torch.utils.data.RandomSampler": _sampler,
    "torch.utils.data.sampler.RandomSampler": _sampler,
    "torch.utils.data.DistributedSampler": _distributed,
    "torch.utils.data.distributed.DistributedSampler": _distributed,
    "torch.utils.data.random_split": _split,
    "torch.utils.data.dataset.random_split": _split,
}


def check(fact: SamplerOnCpu) -> Iterator[Report]:
    notes = () if fact.set_at is None else (Note("the default device is set here", fact.set_at),)
    yield Report(
        span=fact.at,
        message=f"{code(fact.call)} shuffles on the CPU, but {code(fact.how)} changes the default device",
        symptom="RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
        help=(
            f"add {edit(fact.generator)}"
            if fact.generator
            else "leave the default device alone and write `device=` where tensors are made"
        ),
        notes=notes,
        fix=_fix(fact),
    )


def _fix(fact: SamplerOnCpu) -> Fix | None:
    if not fact.generator or not fact.text:
        return None
    edits = argument_added(fact.text, fact.at, fact.generator)
    return fix(Applicability.UNSAFE, f"add {edit(fact.generator)}", edits)
