"""`torch.set_default_tensor_type` sets type and device at once, and is deprecated.

## What it does
Finds calls of `torch.set_default_tensor_type`. It is advice, off unless it is selected.

## Why is this bad?
PyTorch says so since 2.1:

    UserWarning: torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype()
    and torch.set_default_device() as alternatives.

`set_default_tensor_type("torch.cuda.FloatTensor")` knows CUDA and no other accelerator. It was a habit of early
tutorials, and it breaks what makes random numbers on the CPU: a shuffling `DataLoader` raises
`RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'`.

## Example
```python
torch.set_default_tensor_type("torch.cuda.FloatTensor")
```

## Use instead
```python
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
weights = torch.zeros(3, device=device)
```
For a type without a device, `torch.set_default_dtype(torch.float64)`; for a device that every factory should use,
`torch.set_default_device(device)`.

## Fix safety
The fix writes the one call that says the same; for a type that is neither the default type nor on the CPU it takes two,
and there is none. It is unsafe: `set_default_device` also reaches factories that the old function left on the CPU, and
`set_default_dtype` does not take a device back.

## What it cannot see
For which releases of PyTorch the code is written, unless `target-torch` says so. Places under a test of the version are
left alone.

## References
- [torch.set_default_tensor_type](https://docs.pytorch.org/docs/stable/generated/torch.set_default_tensor_type.html):
  "This function is deprecated as of PyTorch 2.1"
- the generator of a shuffling loader: pytorch/pytorch#44714
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.kinds.releases import is_for_older
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Ref, Value
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.wording import edit

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""`set_default_tensor_type` warns that it is deprecated; `set_default_dtype` does not."""
import warnings

import torch

NEEDS = "cpu"
OBSERVES = {"warned of a deprecation": True}


def flagged(device):
    return observe(lambda: torch.set_default_tensor_type(torch.DoubleTensor))


def repaired(device):
    return observe(lambda: torch.set_default_dtype(torch.float64))


def observe(choose):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choose()
    return {"warned of a deprecation": any("is deprecated" in str(each.message) for each in caught)}
'''


class DefaultTensorType(Fact, frozen=True):
    """A call of ``torch.set_default_tensor_type``; `replacements` say the same, if the type is known.

    `text` is the call.
    """

    replacements: tuple[str, ...]
    text: str


_DEPRECATED_SINCE = (2, 1)
_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
}
_TYPE = regex(r"torch\.(cuda\.)?(\w+)Tensor")


def _default_type(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    machine = frame.machine
    if is_for_older(frame, state, _DEPRECATED_SINCE):
        return
    value = arguments.value(0, "t")
    named = value.name if isinstance(value, Ref) else value.value if isinstance(value, Const) else None
    match = _TYPE.fullmatch(named) if isinstance(named, str) else None
    machine.record_anyway(
        ("deprecated", node),
        lambda: DefaultTensorType(machine.span_of(node), () if match is None else _same(match), machine.text_of(node)),
    )


def _same(match: re.Match[str]) -> tuple[str, ...]:
    """The calls that say the same as a type of tensors."""
    dtype = _DTYPES.get(match[2])
    if dtype is None:
        return ()
    of_dtype = () if match[1] and dtype == "float32" else (f"torch.set_default_dtype(torch.{dtype})",)
    return (*of_dtype, 'torch.set_default_device("cuda")') if match[1] else of_dtype


FUNCTIONS = {"torch.set_default_tensor_type": _default_type}


def check(fact: DefaultTensorType) -> Iterator[Report]:
    calls = " and ".join(f"`{each}`" for each in fact.replacements)
    yield Report(
        span=fact.at,
        message="`torch.set_default_tensor_type` is deprecated since PyTorch 2.1",
        symptom=(
            "UserWarning: torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
            "torch.set_default_dtype() and torch.set_default_device() as alternatives."
        ),
        help=f"write {calls}" if calls else "write `torch.set_default_dtype(..)` or `torch.set_default_device(..)`",
        fix=_fix(fact),
    )


def _fix(fact: DefaultTensorType) -> Fix | None:
    if len(fact.replacements) != 1 or not fact.text.startswith("torch."):
        return None
    new = fact.replacements[0]
    return fix(Applicability.UNSAFE, f"write {edit(new)}", replaced(fact.at, new))
