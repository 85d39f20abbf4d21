"""The forward of a model in `DataParallel` writes to `self`, asks it for parameters, or names a GPU.

## What it does
Looks into the `forward` of a class whose model is wrapped in `nn.DataParallel`, and of its parts, for

- an attribute of `self` that is written there and read by the next call, or through `.module`;
- `next(self.parameters())`;
- tensors that go to a GPU by its number, such as `cuda:0`, and then into a layer.

## Why is this bad?
For each call `DataParallel` makes a replica of the model on every GPU, runs `forward` in all of them at once, and
throws them away. What a replica writes to `self` is gone: the model keeps the hidden state, or the counter, that it had
before. Nothing raises. Since PyTorch 1.5 a replica has no parameters to iterate over either:

    StopIteration: Caught StopIteration in replica 0 on device 0.

And a tensor on `cuda:0` does not fit the layers of the replica on `cuda:1`:

    RuntimeError: Caught RuntimeError in replica 1 on device 1.

On the CPU and with one GPU the model itself is called, and all of this works.

## Example
```python
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)

    def forward(self, x):
        hidden = torch.zeros(len(x), 8, device=next(self.parameters()).device)
        return self.cell(x, hidden)


model = nn.DataParallel(Recurrent().cuda())
```

## Use instead
```python
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)

    def forward(self, x):
        hidden = torch.zeros(len(x), 8, device=x.device)
        return self.cell(x, hidden)


model = nn.DataParallel(Recurrent().cuda())
```
A state belongs into the arguments and the outputs of `forward`. A buffer that is changed in place, `self.seen += 1`,
keeps what the first GPU writes. `DistributedDataParallel` runs the model itself in each process and has none of this.

## Fix safety
There is no automatic fix: what is to become of a state, the code does not say.

## What it cannot see
Models whose class is not known, wraps in other files, state that is kept in containers or under computed names, and
attributes that another method reads: whether it does so after a call of the wrapper is not sure. A write under a test
for the same attribute is taken for a cache, which is made again where it is lost.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): "In each forward,
  module is replicated on each device, so any updates to the running module in forward will be lost"
- `next(self.parameters())`: pytorch/pytorch#40457, pytorch/pytorch#38493, huggingface/transformers#8145
- State: OpenNMT/OpenNMT-py#125, edenton/svg#9
- One GPU for all: bentrevett/pytorch-seq2seq#4, BangLiu/QANet-PyTorch#3
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from torchdevlint.flow.checks.loads.methods_run import reached_from
from torchdevlint.flow.events import Wrapped
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.wrapping import DATA_PARALLEL, has_one_gpu
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, Origin, literal
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Dev, Library, Obj, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    is_inside,
    nodes_in,
    parts_of_tuple,
)

SEVERITY = Severity.WARNING
EXECUTION = "exception"
PROBE = '''
"""A replica has no parameters to iterate over."""
import torch

NEEDS = "two"
RAISES = {"StopIteration": ["Caught StopIteration in replica 0 on device 0"]}


class Net(torch.nn.Linear):
    inside = True

    def forward(self, x):
        device = next(self.parameters()).device if self.inside else x.device
        return super().forward(x) + torch.ones(2, device=device)


def flagged(device):
    return {"rows": len(torch.nn.DataParallel(Net(4, 2).to("cuda:0"))(torch.rand(8, 4)))}


def repaired(device):
    Net.inside = False
    return flagged(device)
'''


class StateOfReplica(Fact, frozen=True):
    """Something that the forward of a model in `DataParallel` does which its replicas make wrong.

    `kind` is ``write`` (`text` is the attribute that is written and lost), ``parameters`` (`text` asks ``self`` for its
    parameters, of which a replica has none) or ``device`` (`text` is a GPU that is named by its number).
    `class_name` is the class, `wrapped_at` the wrap; `inside` is the place, where `at` is the wrap because the class is
    in another file.
    """

    kind: str
    text: str
    class_name: str
    wrapped_at: Span
    inside: Span | None = None


_MOST_CLASSES = 40
_STOPS = frozenset({"StopIteration", "Exception", "BaseException"})


class _Lost(Struct, frozen=True):
    """Something in the forward of `info` that replicas make wrong; `kind` and `text` are those of the fact."""

    kind: str
    text: str
    node: ast.AST
    info: ClassInfo


def _note_wrap(event: Wrapped) -> None:
    """A model is wrapped: what its forward, and that of its parts, does with ``self`` is done by replicas."""
    frame, state, call, wrapper = event.frame, event.state, event.node, event.wrapper
    machine = frame.machine
    if wrapper.name not in DATA_PARALLEL or has_one_gpu(wrapper):
        return
    for info in _classes(wrapper.inner):
        for lost in _lost(frame, info):
            here = info.node in machine.classes
            at = lost.node if here else call
            machine.record(
                (at, lost.text, "replica"),
                lambda at=at, lost=lost, here=here: StateOfReplica(  # type: ignore[misc]
                    machine.span_of(at),
                    lost.kind,
                    lost.text,
                    lost.info.name,
                    machine.span_of(call),
                    None if here else machine.span_of(lost.node),
                ),
                state,
            )


def _classes(inner: Value | None) -> list[ClassInfo]:
    """The classes of a model and of its parts, as far as they are known."""
    todo = [inner]
    found: list[ClassInfo] = []
    while todo and len(found) < _MOST_CLASSES:
        value = todo.pop(0)
        for _, each in alternatives(value) if value is not None else ():
            if isinstance(each, Obj) and each.info.is_module and each.info not in found:
                found.append(each.info)
                todo += [held for info in each.info.mro for held in info.attributes.values()]
            elif isinstance(each, Library) and each.module:
                todo += each.children
    return found


def _lost(frame: Frame, info: ClassInfo) -> Iterator[_Lost]:
    forward = info.all_methods.get("forward")
    if forward is None:
        return
    methods = [forward[1], *reached_from(info, forward[1])]
    for method in methods:
        yield from _asked_parameters(info, method)
        yield from _fixed(info, method)
    yield from _writes(frame, info, methods)


def _asked_parameters(info: ClassInfo, method: ast.AST) -> Iterator[_Lost]:
    """``next(self.parameters())``: replicas have none."""
    for call in nodes_in(method, ast.Call):
        asks = isinstance(call.func, ast.Name) and call.func.id == "next" and len(call.args) == 1
        if asks and _is_about_own_parameters(call.args[0]) and not _is_caught(method, call):
            yield _Lost("parameters", ast.unparse(call), call, info)


def _is_about_own_parameters(node: ast.expr) -> bool:
    """``self.parameters()``, or those of a part of it."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parameters"
    return named and first_name(dotted_path(node.func.value) or "") == "self"  # type: ignore[attr-defined]


def _is_caught(method: ast.AST, call: ast.Call) -> bool:
    """Whether a handler takes the `StopIteration`."""
    for attempt in nodes_in(method, ast.Try):
        kinds = [handler.type for handler in attempt.handlers]
        stops = [each for kind in kinds if kind is not None for each in parts_of_tuple(kind)]
        inside = attempt.body[0].lineno <= call.lineno <= (attempt.body[-1].end_lineno or 0)
        if inside and (None in kinds or any(dotted_path(each) in _STOPS for each in stops)):
            return True
    return False


def _fixed(info: ClassInfo, method: ast.AST) -> Iterator[_Lost]:
    """What is put on one GPU by its number, and meets what is on the GPU of the replica."""
    for call in nodes_in(method, ast.Call):
        given = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda"):
            given += call.args[:1]
        device = next((found for each in given if (found := _device(info, method, each)) is not None), None)
        if device is not None and _meets_layers(method, call):
            yield _Lost("device", device.describe(), call, info)


def _device(info: ClassInfo, method: ast.AST, node: ast.expr) -> Device | None:
    """The GPU that an expression names with its number."""
    if isinstance(node, ast.Call) and info.public_name(node.func) == "torch.device" and len(node.args) == 1:
        node = node.args[0]
    found: Device | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = literal(node.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        found = Device(Origin.LITERAL, "cuda", node.value)
    else:
        held = _kept(info, method, dotted_path(node) or "")
        found = held.device if isinstance(held, Dev) else None
    known = found is not None and found.origin is Origin.LITERAL and found.name == "cuda" and found.index is not None
    return found if known else None


def _kept(info: ClassInfo, method: ast.AST, path: str) -> Value | None:
    """What an attribute of ``self`` holds, or a name that the method does not bind."""
    if path.startswith("self."):
        name = path.removeprefix("self.")
        values = [each.attributes[name] for each in info.mro if name in each.attributes]
        return values[0] if len(values) == 1 else None
    bound = {each.arg for each in nodes_in(method, ast.arg)}
    bound.update(each.id for each in nodes_in(method, ast.Name) if isinstance(each.ctx, ast.Store))
    if not path or "." in path or path in bound:
        return None
    return next((scope[path] for scope in info.closure.scopes if path in scope), None)


def _meets_layers(method: ast.AST, call: ast.Call) -> bool:
    """Whether what `call` gives, or a name for it, is an argument of a layer of ``self``."""
    names = {
        target.id
        for assign in assignments_in(method)
        if assign.value is call
        for target in assign.targets
        if isinstance(target, ast.Name)
    }
    for layer in nodes_in(method, ast.Call):
        of_self = (dotted_path(layer.func) or "").startswith("self.") and layer.lineno >= call.lineno
        given = arguments_of(layer)
        if of_self and any(each is call or (isinstance(each, ast.Name) and each.id in names) for each in given):
            return True
    return False


def _writes(frame: Frame, info: ClassInfo, methods: list[ast.AST]) -> Iterator[_Lost]:
    """Attributes of ``self`` that forward writes and that are read after it: the next call, or other code, reads."""
    stores: dict[str, list[tuple[ast.AST, ast.stmt | ast.expr]]] = {}
    for method in methods:
        for target, statement in _stores(method):
            stores.setdefault(target.attr, []).append((method, statement))
    for name, found in stores.items():
        method, statement = found[0]
        if any(_is_under_test(each, at, name) for each, at in found):
            continue
        assigned = assignment_of(statement)
        if assigned is not None:
            carried = len(found) == 1 and _feeds_itself(info, _made(method, assigned.value), name)
        elif _starts_as_number(info, name):
            carried = _is_read(info, name)
        else:
            continue
        if carried or _is_read_from_outside(frame, name):
            yield _Lost("write", f"self.{name}", statement, info)


def _stores(method: ast.AST) -> Iterator[tuple[ast.Attribute, ast.stmt | ast.expr]]:
    """The attributes of ``self`` that a method assigns, with the statements, in their order."""
    found: list[tuple[ast.Attribute, ast.stmt | ast.expr]] = []
    for assign in assignments_in(method):
        for target in assign.targets:
            parts = parts_of_tuple(target)
            found += [(each, assign.node) for each in parts if isinstance(each, ast.Attribute)]
    for update in nodes_in(method, ast.AugAssign):
        if isinstance(update.target, ast.Attribute):
            found.append((update.target, update))
    found.sort(key=lambda each: each[1].lineno)
    return (each for each in found if dotted_path(each[0].value) == "self")


def _is_under_test(method: ast.AST, statement: ast.stmt | ast.expr, name: str) -> bool:
    """Whether a test that asks for the attribute decides about the write: a cache is made anew where it is lost."""
    for test in nodes_in(method, ast.If):
        asks = any(dotted_path(each) == f"self.{name}" for each in inside(test.test))
        if asks and test.lineno <= statement.lineno <= (test.end_lineno or 0):
            return True
    return False


def _starts_as_number(info: ClassInfo, name: str) -> bool:
    """Whether the attribute is a Python number, which ``+=`` does not change in place."""
    init = info.all_methods.get("__init__")
    values = [
        assign.value
        for assign in (assignments_in(init[1]) if init is not None else [])
        if any(dotted_path(target) == f"self.{name}" for target in assign.targets)
    ]
    return len(values) == 1 and isinstance(values[0], ast.Constant) and isinstance(values[0].value, (int, float))


def _is_read(info: ClassInfo, name: str) -> bool:
    """Whether a method reads the attribute, other than to count it up."""
    return any(
        dotted_path(each) == f"self.{name}" and isinstance(each.ctx, ast.Load)
        for part in info.mro
        for each in nodes_in(part.node, ast.Attribute)
    )


def _made(method: ast.AST, value: ast.expr) -> ast.expr:
    """What a name is bound to, or a part of, where a method binds it once: ``out, s = self.lstm(x, self.s)``."""
    if not isinstance(value, ast.Name):
        return value
    stores = [each for each in nodes_in(method, ast.Name) if each.id == value.id and isinstance(each.ctx, ast.Store)]
    if len(stores) != 1 or any(each.arg == value.id for each in nodes_in(method, ast.arg)):
        return value
    made = (each for each in assignments_in(method) if any(is_inside(stores[0], target) for target in each.targets))
    return next((each.value for each in made), value)


def _feeds_itself(info: ClassInfo, value: ast.expr, name: str) -> bool:
    """``self.h = f(x, self.h)``: each call goes on where the one before it ended.

    What is only brought to where the input is (``self.mean = self.mean.type_as(x)``) is brought there by each call.
    """
    path = f"self.{name}"
    moved = value.func if isinstance(value, ast.Call) else None
    if isinstance(moved, ast.Attribute) and moved.attr in torch_api.CONVERSIONS and dotted_path(moved.value) == path:
        return False
    started = any(name in each.attributes for each in info.mro)
    return started and any(dotted_path(each) == path for each in nodes_in(value, ast.Attribute))


def _is_read_from_outside(frame: Frame, name: str) -> bool:
    """Whether the file reads the attribute of the model inside: ``model.module.name``."""
    return any(
        each.attr == name and isinstance(each.ctx, ast.Load) and (dotted_path(each.value) or "").endswith(".module")
        for each in nodes_in(frame.machine.tree, ast.Attribute)
    )


EVENTS = {Wrapped: _note_wrap}


WHAT = {
    "write": "is written in a replica of `{}`, and lost after the call",
    "parameters": "finds nothing: a replica of `{}` has no parameters to iterate over",
    "device": "is the GPU of one replica of `{}`; the layers of the others are elsewhere",
}
SYMPTOM = {
    "write": "with more than one GPU nothing raises, and the attribute silently keeps its old value",
    "parameters": "StopIteration: Caught StopIteration in replica 0 on device 0., where there is more than one GPU",
    "device": "RuntimeError: Caught RuntimeError in replica 1 on device 1. (Expected all tensors to be on the same "
    "device), where there is more than one GPU",
}
HELP = {
    "write": "return the value and give it to the next call, or change a registered buffer in place",
    "parameters": "take the device of an input of `forward`: `x.device`",
    "device": "take the device of an input of `forward`: `x.device`",
}


def check(fact: StateOfReplica) -> Iterator[Report]:
    where = fact.at if fact.inside is None else fact.inside
    notes = [Note(f"`{fact.class_name}` is wrapped in `DataParallel` here", fact.wrapped_at)]
    if fact.inside is not None:
        notes.append(Note("in its forward", where))
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} {WHAT[fact.kind].format(fact.class_name)}",
        symptom=SYMPTOM[fact.kind],
        help=HELP[fact.kind],
        notes=tuple(notes),
    )
