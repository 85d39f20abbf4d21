"""A suppression comment names a rule or a directive that there is not.

## What it does
Reports comments that are meant to silence this linter and do not, or not as they are written: a code that no rule has,
also one of an installed rule package; a name that no rule has; a directive after `# torchdevlint:` other than `ignore`,
`file-ignore`, `off`, `on` and `reveal`; codes without brackets, or with a bracket that is not closed; `off` or `on`
beside code; and an `on` with nothing that would be off.

## Why is this bad?
The comment silences nothing, or not what its author meant, and nobody is told: the finding stays, or the line is
believed to be looked after. In `# noqa` the codes have to be in capitals, since flake8 compares them as they are.

## Example
```python
import torch

state = torch.load("model.pt", map_location="cpu")  # torchdevlint: ignor[TDL201]
```

## Use instead
```python
import torch

state = torch.load("model.pt")  # torchdevlint: ignore[TDL201]
```

## Fix safety
Safe where it can silence nothing else than what was written: a code in the wrong case, brackets, an `ignore` that is
misspelt and names rules, an `on` that ends nothing. Unsafe where what was meant is a guess, if a plain one.

## What it cannot see
Codes of other tools, and codes of rule packages that are not installed. Beginnings of codes stand for all rules that
they fit (`TDL2`); in comments of ours, one that lacks a single digit (`TDL01`) is reported, though it holds. Only
comments are looked at, not strings, and no `# noqa` with `--ignore-noqa`. A file that cannot be parsed is left alone.
Inside flake8 this rule is silent, as TDL900 is.

## References
- [flake8: selecting and ignoring violations](https://flake8.pycqa.org/en/latest/user/violations.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.files import InvalidSuppression
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = None

_DIRECTIVES = "`ignore`, `file-ignore`, `off`, `on` and `reveal`"


def check(fact: InvalidSuppression) -> Iterator[Report]:
    todo = _todo(fact)
    sure = Applicability.SAFE if fact.sure else Applicability.UNSAFE
    yield Report(
        span=fact.at,
        message=_message(fact),
        symptom="none: the comment silences nothing, or something else than it was meant to",
        help=todo,
        fix=None if fact.edit is None else Fix(sure, todo, (fact.edit,)),
    )


def _message(fact: InvalidSuppression) -> str:
    meant = f"; did you mean {code(fact.nearest)}?" if fact.nearest else ""
    if fact.problem == "directive":
        there = meant or f"; there are {_DIRECTIVES}"
        return f"unknown directive {code(fact.written)}{there}" if fact.written else f"no directive{there}"
    if fact.problem == "brackets":
        return f"the codes after {code(fact.written)} are not in brackets, so that the comment silences nothing"
    if fact.problem == "place":
        return f"{code(fact.written)} does not count beside code"
    if fact.problem == "closing":
        return f"{code('on')} ends nothing: {code(fact.written) if fact.written else 'nothing'} is off here"
    return f"no rule has the {fact.problem} {code(fact.written)}{meant}"


def _todo(fact: InvalidSuppression) -> str:
    if fact.problem == "brackets":
        return f"put the codes into brackets, as in {code(f'# torchdevlint: {fact.written}[TDL001]')}"
    if fact.problem == "place":
        return "put the comment on a line of its own"
    if fact.problem == "closing":
        return "remove the comment"
    if fact.nearest:
        return f"write {code(fact.nearest)}"
    return f"write one of {_DIRECTIVES}" if fact.problem == "directive" else "name a rule, or remove it"
