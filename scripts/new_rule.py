"""Starts a rule: its module and its case file, the two places that a new rule touches.

    python scripts/new_rule.py TDL123 kebab-name [--severity warning] [--fact FactName]

The module loads and is documented in outline; the meta-tests then name what is still to be written: the text, an
example that is found, five hits, five near misses, and a program.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from torchdevlint.flow.facts import all_facts  # noqa: E402
from torchdevlint.model import Severity  # noqa: E402
from torchdevlint.rules import HEADINGS, find  # noqa: E402

OUTLINE = {
    "What it does": "Finds ... (the pattern, in a sentence).",
    "Why is this bad?": "The exact text of the exception, or the silent effect.",
    "Example": "```python\nimport torch\n```",
    "Use instead": "```python\nimport torch\n```",
    "Fix safety": "There is no fix.",
    "What it cannot see": "What stays silent although it is wrong.",
    "References": "Where PyTorch documents the behaviour.",
}
MODULE = '''"""{summary}

{sections}
"""

from __future__ import annotations

{imports}

SEVERITY = Severity.{severity}
EXECUTION = "operation"
{probe}
{looking}

def check(fact: {fact}) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message="{words}",
        symptom="what the user sees at run time",
        help="what to do instead",
    )
'''
PROBE = """PROBE = '''
\"\"\"What the rule says happens, and does not happen once it is repaired.\"\"\"
import torch

RAISES = {"RuntimeError": ["the exact text"]}


def flagged(device):
    return torch.zeros(2, device=device) + torch.ones(2)


def repaired(device):
    return torch.zeros(2, device=device) + torch.ones(2, device=device)
'''"""
SHARED_IMPORTS = """from collections.abc import Iterator

from {module} import {fact}
from torchdevlint.model import Report, Severity"""
OWN_IMPORTS = """import ast
from collections.abc import Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Value
from torchdevlint.model import Report, Severity"""
LOOKING = '''

class {fact}(Fact, frozen=True):
    """What was found at `at`, and what `check` needs to say it."""

    text: str


def _note_call(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A call of ``torch.zeros``: record it where it is surely wrong."""
    machine = frame.machine
    machine.record(("{words}", node), lambda: {fact}(machine.span_of(node), machine.text_of(node)), state)


FUNCTIONS = {{"torch.zeros": _note_call}}
'''
CASES = """# {code} {name}

## the bug in its simplest form
Why this is wrong, in a sentence. `main` takes the device; on the CPU it must succeed.
run: raises "the exact text"

```python
import torch


def main(device):
    torch.zeros(2, device=device)  # want: {code}
```

fixed:

```python
import torch


def main(device):
    torch.zeros(2, device=device)
```

## a look-alike that is right
Why this must stay silent.

```python
import torch

torch.zeros(2)
```
"""


def scaffold(code: str, name: str, fact: str | None, severity: Severity) -> dict[str, str]:
    """The new files by path relative to the repository. Raises ValueError for names that cannot be a rule's.

    Without `fact` the rule looks on for itself; with it, it judges what is recorded already.
    """
    if not re.fullmatch(r"TDL\d{3}", code):
        raise ValueError(f"{code}: a code is TDL and three digits")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name):
        raise ValueError(f"{name}: a name is at least two lower-case words with hyphens, and names the bad pattern")
    if fact is not None and fact not in all_facts():
        raise ValueError(f"{fact}: no such fact in torchdevlint/flow/facts/")
    taken = find(code) or find(name)
    if taken:
        raise ValueError(f"{taken.code} {taken.name} is there already")
    words = name.replace("-", " ")
    own = words.title().replace(" ", "")
    shared = "" if fact is None else all_facts()[fact].__module__
    module = MODULE.format(
        summary=f"{words.capitalize()}.",
        sections="\n\n".join(f"## {heading}\n{OUTLINE[heading]}" for heading in HEADINGS),
        fact=fact or own,
        probe=PROBE,
        imports=OWN_IMPORTS if fact is None else SHARED_IMPORTS.format(module=shared, fact=fact),
        looking=LOOKING.format(fact=own, words=words) if fact is None else "",
        severity=severity.name,
        words=words,
    )
    return {
        f"torchdevlint/rules/{code.lower()}_{name.replace('-', '_')}.py": module,
        f"tests/cases/{code}-{name}.md": CASES.format(code=code, name=name),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("code", help="TDL and three digits; the first is the group")
    parser.add_argument("name", help="the bad pattern, readable after `allow`, such as unassigned-tensor-move")
    parser.add_argument("--fact", help="the record of torchdevlint/flow/facts/ that the rule judges, if there is one")
    parser.add_argument("--severity", choices=[one.value for one in Severity], default="warning")
    options = parser.parse_args()
    try:
        files = scaffold(options.code, options.name, options.fact, Severity(options.severity))
    except ValueError as error:
        parser.error(str(error))
    for path, text in files.items():
        (ROOT / path).write_text(text, encoding="utf-8", newline="\n")
        print(f"written: {path}")
    print("next: pytest tests/test_rules_meta.py tests/test_cases.py, then python scripts/docs.py")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
