"""A tensor that is to be trained is moved, or scaled, after it was made to require a gradient: it is no leaf.

## What it does
Finds tensors that are made with `requires_grad=True`, by `.requires_grad_()`, `w.requires_grad = True` or
`nn.Parameter(...)`, and then moved in the same expression or under the same name, or combined with a number, where the
*result* is given to an optimizer of `torch.optim`, or has its `.grad` read after `backward()`:
`w = torch.randn(3, requires_grad=True).to(device)`.

## Why is this bad?
Autograd fills `.grad` of leaves only. `.to(device)` gives the tensor itself where there is nothing to do, so that the
line is right on the CPU; on an accelerator it gives a new tensor, computed from the leaf. The optimizer refuses it,

    ValueError: can't optimize a non-leaf Tensor

and without an optimizer, `w.grad` stays None, with a warning that begins "The .grad attribute of a Tensor that is not
a leaf Tensor is being accessed", until the update fails:

    TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'

`torch.randn(3, requires_grad=True) * 0.01` is no leaf on any machine.

## Example
```python
def fit(x, y, device):
    w = torch.zeros(3, requires_grad=True).to(device)
    optimizer = torch.optim.SGD([w], lr=0.1)
    ((x * w - y) ** 2).sum().backward()
    optimizer.step()
```

## Use instead
```python
def fit(x, y, device):
    w = torch.zeros(3, device=device, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    ((x * w - y) ** 2).sum().backward()
    optimizer.step()
```
Where the values have to be computed first, `.requires_grad_()` stands last: `(torch.randn(3) * 0.01).to(device)
.requires_grad_()`.

## Fix safety
The fix lets `.requires_grad_()` come last, with the same numbers; where `requires_grad=True` is not written in the same
expression, it cuts the tensor off by `.detach()` first. It is safe for a move, after which nothing that worked is
different: on the CPU the tensor was that leaf already. It is unsafe behind other operations, where the tensor before
them may be the one that is meant, for a Parameter, which on the CPU the result was, where the tensor is written in
place, which a leaf refuses, and where it was made a leaf by a line of its own, since its other names have that leaf.

## What it cannot see
Tensors that are made in one function and given to an optimizer in another one, or whose name is assigned more than
twice; operations other than arithmetic with a number, such as `.clone()` and `.double()`. It is silent where `.grad` is
only compared with None, where `retain_grad` is used, and for `torch.autograd.grad`, which takes such tensors.
Parameters that a Module keeps are another rule's, TDL103.

## References
- [torch.Tensor.is_leaf](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)
- pytorch/pytorch#140469, vinsis/ternary-quantization#4, mazzzystar/randomCNN-voice-transfer#16,
  hhsecond/HandsOnDeepLearningWithPytorch#2
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.events import GradientRead
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, names_one_of
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func, Ref, Tensor, Value
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import argument_removed, call_added, fix
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import (
    Assignment,
    arguments_of,
    assignments_in,
    inside,
    keyword_of,
    nodes_in,
    once_a_node,
)

SEVERITY = Severity.ERROR
EXECUTION = "exception"

_METHOD = ".requires_grad_()"
PROBE = '''
"""A leaf that is moved to an accelerator gives a tensor that no optimizer takes; one that is made there is taken."""
import torch

NEEDS = "device"
RAISES = {"ValueError": ["can't optimize a non-leaf Tensor"]}


def flagged(device):
    w = torch.zeros(3, requires_grad=True).to(device)
    return {"groups": len(torch.optim.SGD([w], lr=0.1).param_groups)}


def repaired(device):
    w = torch.zeros(3, device=device, requires_grad=True)
    return {"groups": len(torch.optim.SGD([w], lr=0.1).param_groups)}
'''


class NonLeaf(Fact, frozen=True):
    """A tensor that was made from the leaf that is meant to be trained, and takes its place.

    `name` is given to an optimizer, or its ``.grad`` is read (`use`, at `used_at`); `text` is the expression, and `why`
    is ``move`` (no leaf on an accelerator) or ``operation`` (no leaf anywhere). `leaf` is the call that makes the leaf,
    at `leaf_at`, where that is a part of the expression; `written` tells whether the tensor is written in place, or
    was made a leaf by a statement of its own, which others may read.
    """

    name: str
    text: str
    why: str
    use: str
    used_at: Span
    leaf: str = ""
    leaf_at: Span | None = None
    written: bool = False


_ARITHMETIC = (ast.Mult, ast.Div, ast.Add, ast.Sub)
_RETAINS = frozenset({"retain_grad", "requires_grad_"})
Made = tuple[ast.expr, str]
"""The expression that gives a tensor which is no leaf, and ``move`` or ``operation``: why it is none."""


def _see_optimizer(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """An optimizer is made: it refuses what is no leaf."""
    parameters = arguments.get(0, "params")
    if parameters is not None:
        for each in _listed(frame, parameters[0]):
            _note(frame, state, each, node, "optimizer")


def _note_gradient(event: GradientRead) -> None:
    """``w.grad`` is read: backward leaves it None where `w` is no leaf."""
    frame, state, node = event.frame, event.state, event.node
    machine = frame.machine
    path, scope = dotted_path(node), frame.function or machine.tree
    if not isinstance(node.ctx, ast.Load) or "backward" not in machine.words:
        return
    if any(each.attr == "retain_grad" for each in nodes_in(scope, ast.Attribute)):
        return
    asked = (each.left for each in nodes_in(scope, ast.Compare))
    if path is not None and not names_one_of(path, asked) and _runs_backward(frame, state, scope):
        _note(frame, state, node.value, node, "grad")


def _runs_backward(frame: Frame, state: State, scope: ast.AST) -> bool:
    """Whether a function calls something of that name, or a function of its file that does so.

    Where none of them does, ``.grad`` is None on any device.
    """
    if _says_backward(scope):
        return True
    callees = (each.func for each in nodes_in(scope, ast.Call))
    named = (each for each in callees if isinstance(getattr(each, "value", each), ast.Name))
    called = (frame.evaluate(each, state) for each in named)
    bodies = (each.node for each in called if isinstance(each, Func))
    return any("backward" in each.attr for body in bodies for each in nodes_in(body, ast.Attribute))


@once_a_node
def _says_backward(scope: ast.AST) -> bool:
    callees = (each.func for each in nodes_in(scope, ast.Call))
    return any(isinstance(each, ast.Attribute) and "backward" in each.attr for each in callees)


def _note(frame: Frame, state: State, tensor: ast.expr, use: ast.expr, kind: str) -> None:
    path, machine = dotted_path(tensor), frame.machine
    made = None if path is None else _made(frame, state, path, use)
    value = frame.evaluate(tensor, state)
    if path is None or made is None or not isinstance(value, Tensor) or value.parameter:
        return
    if path.startswith("self.") and frame.owner is not None and frame.owner.is_module:
        return
    expression, why = made
    if why == "move" and (on_cpu(value.device) or value.device.origin is Origin.TOP):
        return
    inner, _ = _peeled(expression)
    leaf = inner if isinstance(inner, ast.Call) else None
    fact = partial(
        NonLeaf,
        machine.span_of(expression),
        path,
        machine.text_of(expression),
        why,
        kind,
        machine.span_of(use),
        "" if leaf is None else machine.text_of(leaf),
        None if leaf is None else machine.span_of(leaf),
        bool(_changes(frame, path)) or _is_written(frame, path),
    )
    machine.record(("leaf", expression), fact, state)


def _listed(frame: Frame, node: ast.expr) -> Iterator[ast.expr]:
    """The tensors that are written down as the parameters of an optimizer: in a list, under ``"params"``."""
    if isinstance(node, ast.Name):
        found = _assignments(frame, node.id)
        node = found[0].value if len(found) == 1 else node
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "params":
                yield from _listed(frame, value) if isinstance(value, (ast.List, ast.Tuple)) else (value,)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for each in node.elts:
            yield from _listed(frame, each) if isinstance(each, ast.Dict) else (each,)


def _assignments(frame: Frame, path: str) -> list[Assignment]:
    """The assignments to a name in the function that is run, in source order."""
    scope = frame.function or frame.machine.tree
    mine = [each for each in assignments_in(scope) if len(each.targets) == 1 and dotted_path(each.targets[0]) == path]
    return sorted(mine, key=lambda each: each.lineno)


def _made(frame: Frame, state: State, path: str, use: ast.expr) -> Made | None:
    """How the tensor came to be no leaf, if it has been assigned once, or once more from itself.

    It may be told to require a gradient by a statement of its own before: ``x.requires_grad = True``, then
    ``x = x.to(device)``.
    """
    found, changes = _assignments(frame, path), _changes(frame, path)
    if not 1 <= len(found) <= 2 or found[-1].lineno >= use.lineno:
        return None
    outer = found[-1].value
    inner, why = _peeled(outer)
    if inner is None:
        return None
    if changes:
        told = all(asks and each.lineno < outer.lineno for each, asks in changes)
        told = told and all(each.lineno < changes[0][0].lineno for each in found[:-1])
        return (outer, why) if told and dotted_path(inner) == path else None
    if dotted_path(inner) == path and len(found) == 2:
        inner = found[0].value
    elif len(found) == 2:
        return None
    return (outer, why) if _is_leaf(frame, state, inner) else None


def _changes(frame: Frame, path: str) -> list[tuple[ast.Attribute, bool]]:
    """What is done to a tensor that may make it a leaf, in source order, and whether it asks for a gradient."""
    scope = frame.function or frame.machine.tree
    called = {id(each.func): each for each in nodes_in(scope, ast.Call)}
    found: list[tuple[ast.Attribute, bool]] = []
    for each in nodes_in(scope, ast.Attribute):
        if dotted_path(each.value) != path:
            continue
        if each.attr in _RETAINS:
            call = called.get(id(each))
            found.append((each, each.attr == "requires_grad_" and call is not None and _wants_gradient(call)))
        elif each.attr in ("requires_grad", "data") and isinstance(each.ctx, ast.Store):
            values = [one.value for one in assignments_in(scope) if each in one.targets]
            found.append((each, each.attr == "requires_grad" and all(map(_is_true, values)) and bool(values)))
    return sorted(found, key=lambda each: each[0].lineno)


def _wants_gradient(call: ast.Call) -> bool:
    """``t.requires_grad_()``, with True or nothing."""
    return all(map(_is_true, arguments_of(call)))


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_written(frame: Frame, path: str) -> bool:
    """Whether the tensor is written in place where gradients are recorded, which a leaf refuses."""
    scope = frame.function or frame.machine.tree
    blocks = [each for each in nodes_in(scope, ast.With) if "no_grad" in ast.dump(each.items[0])]
    aside = {id(each) for block in blocks for each in inside(block)}
    stored = (each for each in nodes_in(scope, ast.Subscript) if isinstance(each.ctx, ast.Store))
    written: list[tuple[ast.AST, ast.expr]] = [(each, each.value) for each in stored]
    written += [(each.target, each.target) for each in nodes_in(scope, ast.AugAssign)]
    callees = (each.func for each in nodes_in(scope, ast.Call) if isinstance(each.func, ast.Attribute))
    written += [(each, each.value) for each in callees if each.attr.endswith("_") and each.attr not in _RETAINS]
    return any(dotted_path(base) == path and id(each) not in aside for each, base in written)


def _peeled(node: ast.expr) -> tuple[ast.expr | None, str]:
    """What is moved, or combined with a number, by the outermost operations of an expression."""
    inner, why = node, ""
    while True:
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and _is_move(inner.func.attr):
            inner, why = inner.func.value, why or "move"
        elif isinstance(inner, ast.BinOp) and isinstance(inner.op, _ARITHMETIC) and _is_number(inner.right):
            inner, why = inner.left, "operation"
        elif isinstance(inner, ast.BinOp) and isinstance(inner.op, _ARITHMETIC) and _is_number(inner.left):
            inner, why = inner.right, "operation"
        else:
            return (inner, why) if why else (None, why)


def _is_move(name: str) -> bool:
    return name == "to" or name in torch_api.DEVICE_METHODS


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _is_leaf(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether an expression gives a leaf that requires a gradient: a factory, a parameter, ``t.requires_grad_()``."""
    if not isinstance(node, ast.Call):
        return False
    asked = keyword_of(node, "requires_grad")
    asks = asked is not None and _is_true(asked)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
        return _wants_gradient(node) and isinstance(frame.evaluate(node, state), Tensor)
    called = frame.evaluate(node.func, state)
    if not isinstance(called, Ref):
        return False
    if called.name == "torch.nn.Parameter":
        return asked is None or asks
    head, _, tail = called.name.rpartition(".")
    return asks and (called.name == "torch.autograd.Variable" or (head == "torch" and tail in _FACTORIES))


_FACTORIES = torch_api.FACTORIES | torch_api.LIKE_FACTORIES

FUNCTIONS = {
    f"torch.optim.{module}{name}": _see_optimizer
    for name in sorted(torch_api.OPTIMIZERS)
    for module in ("", f"{name.lower()}.")
}


EVENTS = {GradientRead: _note_gradient}


def check(fact: NonLeaf) -> Iterator[Report]:
    where = "no leaf on an accelerator" if fact.why == "move" else "no leaf"
    if fact.use == "optimizer":
        why, symptom = "the optimizer takes leaves only", "ValueError: can't optimize a non-leaf Tensor"
        used = f"`{fact.name}` is given to the optimizer here"
    else:
        why = "backward fills `.grad` of leaves only"
        symptom = f"nothing raises here: `{fact.name}.grad` is None after backward, with a warning"
        used = f"`{fact.name}.grad` is read here"
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} is {where}, and {why}",
        symptom=symptom,
        help="make it where it belongs, with `device=`, or let `.requires_grad_()` come last",
        notes=(Note(used, fact.used_at),),
        fix=_fix(fact),
    )


def _asked(leaf: str, at: Span) -> Edit | None:
    """The edit that takes the wish for a gradient from the call that makes the leaf."""
    if leaf.endswith(_METHOD):
        return Edit("", Span(at.end_row, at.end_column - len(_METHOD), at.end_row, at.end_column, at.file))
    return argument_removed(leaf, at, "requires_grad")


def _fix(fact: NonLeaf) -> Fix | None:
    asked = None if fact.leaf_at is None else _asked(fact.leaf, fact.leaf_at)
    last = _METHOD if asked is not None else f".detach(){_METHOD}"
    edits = (*([] if asked is None else [asked]), *call_added(fact.text, fact.at, last))
    safe = fact.why == "move" and "Parameter" not in fact.leaf and not fact.written
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    return fix(applicability, "let it require a gradient last", *edits)
