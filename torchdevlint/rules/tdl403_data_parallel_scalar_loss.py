"""A loss that a model in `DataParallel` returns is used as one number: with two GPUs it is a vector of two.

## What it does
Finds `loss.backward()` and `loss.item()` on a scalar that the `forward` of a model in `nn.DataParallel` returns, where
nothing takes the mean or the sum of it.

## Why is this bad?
Each GPU computes the loss of its part of the batch, and `DataParallel` gathers these numbers to a vector with one entry
for each GPU. `backward` wants one number:

    RuntimeError: grad can be implicitly created only for scalar outputs

and so does `item`:

    RuntimeError: a Tensor with 2 elements cannot be converted to Scalar

With one GPU, and on the CPU, nothing is gathered and the same lines work. What announces the vector is a warning, "Was
asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return a vector."

## Example
```python
class Scored(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.model(x), y)


def step(model: nn.Module, x, y):
    scored = nn.DataParallel(Scored(model))
    loss = scored(x, y)
    loss.backward()
```

## Use instead
```python
class Scored(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.model(x), y)


def step(model: nn.Module, x, y):
    scored = nn.DataParallel(Scored(model))
    loss = scored(x, y).mean()
    loss.backward()
```
The mean of the means is that of the whole batch if the GPUs get parts of the same size. `.mean()` of a single number
changes nothing, so it needs no test for the number of GPUs.

## Fix safety
The fix puts `.mean()` before the use, which is right for a loss that is an average, and leaves a single number as it
is. It is unsafe, since for a loss that is a sum, `.sum()` would be right: whether the parts are to be averaged or
added, only the loss tells.

## What it cannot see
Models whose class is not known, such as those of `transformers` that are given labels, scalars that `forward` gets from
other functions or keeps in containers, and losses that go through other functions before they are used. It is silent
where the function reduces what has the same name, under whatever test.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): "When module
  returns a scalar (i.e., 0-dimensional tensor) in forward(), this wrapper will return a vector of length equal to
  number of devices used in data parallelism"
- pytorch/pytorch#9811, pytorch/pytorch#7956, eriklindernoren/PyTorch-YOLOv3#331, WisconsinAIVision/MaskPoint#7
- The warning: airsplay/lxmert#17, Morizeyao/GPT2-Chinese#117
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.run.gathered import GATHERED
from torchdevlint.flow.scope.names import dotted_path, names_one_of
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Const, Tensor, Value
from torchdevlint.model import Applicability, Note, Report, Severity, Span
from torchdevlint.rules.edits import call_added, fix
from torchdevlint.rules.wording import code, edit, operand
from torchdevlint.source.nodes import nodes_in

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""The scalar outputs of the replicas are gathered to a vector, which has no gradient by itself."""
import torch

NEEDS = "two"
RAISES = {"RuntimeError": ["grad can be implicitly created only for scalar outputs"]}


class Scored(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x).mean()


def flagged(device):
    loss = torch.nn.DataParallel(Scored(4, 2).to("cuda:0"))(torch.rand(8, 4))
    loss.backward()
    return {"trained": True}


def repaired(device):
    loss = torch.nn.DataParallel(Scored(4, 2).to("cuda:0"))(torch.rand(8, 4)).mean()
    loss.backward()
    return {"trained": True}
'''


class GatheredLoss(Fact, frozen=True):
    """A loss that the forward of a model in `DataParallel` returns is used as if it were one number.

    `loss` is its text and `loss_at` its place, `method` what is called, `error` what that raises with two GPUs,
    `called_at` the call of the wrapper.
    """

    loss: str
    method: str
    error: str
    called_at: Span
    loss_at: Span


_REDUCTIONS = frozenset({"mean", "sum", "max", "min", "amax", "amin", "norm", "prod", "median"})


def _note_backward(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``loss.backward()`` without a gradient, which only a scalar has by itself."""
    if not arguments.pairs or arguments.value(0, "gradient") == Const(None):
        _note(frame, state, node, receiver, "grad can be implicitly created only for scalar outputs")


def _note_item(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``loss.item()``."""
    _note(frame, state, node, receiver, "a Tensor with 2 elements cannot be converted to Scalar")


def _note(frame: Frame, state: State, node: ast.Call, receiver: Value, error: str) -> None:
    if not isinstance(receiver, Tensor) or receiver.ndim not in (1, AT_LEAST_1):
        return
    gather = next((step for step in receiver.steps if step.text == GATHERED), None)
    if gather is None or not isinstance(node.func, ast.Attribute) or _is_reduced_somewhere(frame, node.func.value):
        return
    machine, loss, called_at = frame.machine, node.func, gather.node
    machine.record(
        ("gathered loss", node),
        lambda: GatheredLoss(
            machine.span_of(node),
            machine.text_of(loss.value),
            loss.attr,
            error,
            machine.span_of(called_at),
            machine.span_of(loss.value),
        ),
        state,
    )


def _is_reduced_somewhere(frame: Frame, loss: ast.expr) -> bool:
    """Whether the function makes one number of what has that name, under whatever test."""
    path, scope = dotted_path(loss), frame.function or frame.machine.tree
    if path is None or scope is None:
        return False
    reductions = [
        (call.func.value, *call.args[:1])
        for call in nodes_in(scope, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _REDUCTIONS
    ]
    return any(names_one_of(path, parts) for parts in reductions)


METHODS = {"backward": _note_backward, "item": _note_item}


def check(fact: GatheredLoss) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.loss)} has one entry for each GPU of `DataParallel`, and `{fact.method}` wants one number",
        symptom=f"RuntimeError: {fact.error}, where there is more than one GPU",
        help=f"reduce it first: {edit(f'{operand(fact.loss)}.mean().{fact.method}()')}",
        notes=(Note("the outputs of the GPUs are gathered here", fact.called_at),),
        fix=fix(Applicability.UNSAFE, "average it first", *call_added(fact.loss, fact.loss_at, ".mean()")),
    )
