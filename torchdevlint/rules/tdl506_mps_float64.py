"""A tensor of float64 goes to Apple's GPU, which has no such type.

## What it does
Finds a tensor that is known to be float64, such as one that NumPy's numbers were made into, where it is moved to `mps`
or to a device that was chosen with `mps` among the choices; likewise a factory with `dtype=torch.float64` on such a
device. It is advice, off unless it is selected.

## Why is this bad?
The move itself raises on a Mac, though a cast follows it:

    TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use
    float32 instead.

## Example
```python
import numpy as np

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
x = torch.from_numpy(np.random.randn(8, 4)).to(device).float()
```

## Use instead
```python
import numpy as np

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
x = torch.from_numpy(np.random.randn(8, 4)).float().to(device)
```
This order also moves half as many bytes, on every accelerator.

## Fix safety
Where a cast follows the move in the same expression, the fix exchanges the two, which changes no number. Elsewhere
there is none: whether float32 will do the code does not say.

## What it cannot see
The type of arrays that come from files, arguments or other functions. Code that asks for MPS or for the type first, and
files that do not name MPS, are left alone.

## References
- pytorch/pytorch#122602, where this is called a known limitation
- thu-ml/tianshou#1237, chemprop/chemprop#711; Maratyszcza/PeachPy#122, where the cast followed
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.portability import DoubleOnMps
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = None


def check(fact: DoubleOnMps) -> Iterator[Report]:
    which = "Apple's GPU" if fact.surely else "a device that may be Apple's GPU"
    yield Report(
        span=fact.at,
        message=f"float64 goes to {code(fact.device)}, {which}, which has no such type",
        symptom=(
            "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
            "Please use float32 instead."
        ),
        help=f"put {code(fact.cast_after)} before the move"
        if fact.cast_after
        else "use float32, or cast before the move",
        notes=(Note(fact.why, fact.why_at),),
        fix=_fix(fact),
    )


def _fix(fact: DoubleOnMps) -> Fix | None:
    start, end = fact.moved_at, fact.cast_at
    if start is None or end is None or fact.cast_after is None:
        return None
    both = Span(start.end_row, start.end_column, end.end_row, end.end_column, end.file)
    return fix(Applicability.SAFE, "cast before the move", replaced(both, f"{fact.cast_after}{fact.move}"))
