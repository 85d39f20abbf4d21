"""What `check` does with fixes, and what is written where."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from torchdevlint.cli.console import emit
from torchdevlint.cli.options import words
from torchdevlint.config import Configuration, Settings, SettingsOf, laid
from torchdevlint.fix.changes import Fixes
from torchdevlint.fix.choice import has_applicable
from torchdevlint.model import Run
from torchdevlint.report.summary import count


def overlaid(settings: Settings, flags: dict[str, Any]) -> Settings:
    """The settings under the flags about fixes; ``--fixable`` stands in for all that a configuration says of it."""
    switches = {name: flags[name] for name in ("fix", "unsafe_fixes", "fix_only", "show_fixes")}
    given = {**switches, "fixable": words(flags["fixable"]), "unfixable": words(flags["unfixable"])}
    return laid(settings, {name: value for name, value in given.items() if value not in (None, ())}, Path.cwd())


def are_wanted(settings: Settings) -> bool:
    """Whether fixes are to be applied."""
    return settings.fix or settings.fix_only


def fixes_of(run: Run, settings: Configuration, flags: dict[str, Any], stdin: bytes | None) -> Fixes:
    """What a run comes to: after its fixes, if they are to be applied or shown."""
    if not (are_wanted(settings.run) or flags["diff"]):
        return Fixes(run)
    from torchdevlint.fix.files import fixed, fixed_input, write

    if stdin is not None:
        return fixed_input(run, settings, stdin)
    fixes = fixed(run, settings, flags["jobs"])
    return fixes if flags["diff"] else write(fixes, run)


def show_content(fixes: Fixes, stdin: bytes) -> bytes:
    """Write what became of standard input to standard output, and give it."""
    content = fixes.changes[0].new if fixes.changes else stdin
    sys.stdout.flush()
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    return content


def show_diff(fixes: Fixes, file: Path | None) -> list[str]:
    """Write the diffs, and give what is to be said of them."""
    emit("".join(change.diff() for change in fixes.changes), file)
    total = fixes.applied.total()
    return [f"--fix would fix {count(total, 'finding', 'findings')}" if total else "--fix would change nothing"]


def counted(fixes: Fixes) -> str:
    return f"fixed {count(fixes.applied.total(), 'finding', 'findings')}"


def listed(fixes: Fixes) -> list[str]:
    """How many findings of each rule were fixed in each file."""
    notes = []
    for change in fixes.changes:
        rules = ", ".join(f"{code} ({number:,})" for code, number in sorted(change.applied.items()))
        notes.append(f"fixed in {change.filename}: {rules}")
    return notes


def hidden(run: Run, settings: SettingsOf) -> int:
    """How many fixes there are that only ``--unsafe-fixes`` would apply."""
    able = sum(has_applicable(each, settings, unsafe=True) for each in run.diagnostics)
    return able - sum(has_applicable(each, settings) for each in run.diagnostics)
