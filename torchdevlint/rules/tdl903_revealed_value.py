"""A comment asks what the linter believes of a line.

## What it does
Answers `# torchdevlint: reveal`: for what a line assigns, calls or names it says the kind, the device, the number of
dimensions, where it was made and moved, under which conditions, or why nothing is known of it. A comment on a line of
its own asks for the line below.

## Why is this bad?
It is not: nothing happens at run time, and the answer fails no run. As `reveal_type` does for mypy and pyright, it
shows what a finding, or its absence, rests on; the comment is there to be taken away again.

## Example
```python
import torch

scores = torch.zeros(3, device="cuda")  # torchdevlint: reveal
```

## Use instead
```python
import torch

scores = torch.zeros(3, device="cuda")
```

## Fix safety
There is no fix; remove the comment when the answer was read. `torchdevlint reveal FILE:LINE` gives it without one.

## What it cannot see
Lines that no path comes to have no answer but that. The answer is there whichever rules are selected. Inside flake8
there is none.

## References
- [mypy: reveal_type](https://mypy.readthedocs.io/en/stable/common_issues.html#displaying-the-type-of-an-expression)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.files import RevealedValue
from torchdevlint.model import Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = None


def check(fact: RevealedValue) -> Iterator[Report]:
    if not fact.text:
        yield Report(fact.at, "nothing in this line has a value that could be revealed", "", "")
        return
    said = [f"{code(fact.text)} is {fact.description}"]
    said += [f"{when}: {what}" if when else f"or {what}" for when, what in fact.cases]
    said += [f"not known, because {fact.because}"] if fact.because else []
    yield Report(fact.at, "; ".join(said), "", "", fact.notes)
