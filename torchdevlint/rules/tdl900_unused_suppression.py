"""A suppression comment names a rule that finds nothing there.

## What it does
Reports `# noqa: TDL...`, and `# torchdevlint:` comments with `ignore[TDL...]`, `file-ignore[TDL...]` or `off[TDL...]`,
whose codes (or names) take away no finding, although their rules are selected and ran on the file. Each code is judged
by itself. `# torchdevlint: ignore` and `off` without codes are reported if they take away nothing at all, and every
rule ran that is on by default.

## Why is this bad?
Nothing happens today. The comment says that there is a bug to be tolerated where there is none, and if somebody puts
one there later, it is hidden without anyone having decided so.

## Example
```python
import torch

state = torch.load("model.pt", map_location="cpu")  # noqa: TDL201
```

## Use instead
```python
import torch

state = torch.load("model.pt", map_location="cpu")
```

## Fix safety
Safe: only the codes that are not needed go, and the whole comment if none is left, of a region both. Codes of other
tools and remarks after the codes stay.

## What it cannot see
A bare `# noqa` is left alone: it may be meant for another tool. So are prefixes such as `TDL2`, codes of other tools,
rules that are not selected, and `# torchdevlint: file-ignore`, which hides what is said of it. Inside flake8 this rule
is silent, because there the selection of rules is not known.

## References
- [flake8: selecting and ignoring violations](https://flake8.pycqa.org/en/latest/user/violations.html)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdevlint.flow.facts.files import UnusedSuppression
from torchdevlint.model import Applicability, Edit, Fix, Report, Severity, Span

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = None


def check(fact: UnusedSuppression) -> Iterator[Report]:
    comment = fact.comment.strip()
    column = fact.at.column + len(fact.comment) - len(fact.comment.lstrip())
    span = Span(fact.at.row, column, fact.at.row, column + len(comment))
    rest = _without(comment, fact.unused) if fact.unused else ""
    codes = ", ".join(fact.unused)
    todo = f"remove {codes} from the comment" if rest else f"remove the comment{'s' if fact.also else ''}"
    edits = (Edit(rest, span),) if rest else (Edit("", fact.at), *(Edit("", at) for at in fact.also))
    yield Report(
        span=span,
        message=f"unused suppression{f' of {codes}' if codes else ''}: there is nothing to suppress",
        symptom="none today; a bug of this kind that gets here later will be hidden",
        help=todo,
        fix=Fix(Applicability.SAFE, todo, edits),
    )


def _without(comment: str, unused: tuple[str, ...]) -> str:
    """The comment with fewer codes; empty if it is left without any."""
    before, opening, after = comment.partition("[") if "[" in comment else comment.rpartition(":")
    listed, closing, _ = after.partition("]")
    codes = ", ".join(code for code in re.split(r"[,\s]+", listed) if code and code not in unused)
    space = "" if opening == "[" else " "
    return f"{before}{opening}{space}{codes}{closing}" if codes else ""
