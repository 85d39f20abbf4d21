"""``torchdevlint rule``: the documentation of a rule, from its own module."""

from __future__ import annotations

import json
import sys

import click
from msgspec import to_builtins

from torchdevlint.cli.console import complain, emit, terminal_width, wants_color
from torchdevlint.cli.refused import Refused
from torchdevlint.config import nearest
from torchdevlint.rules import Rule, all_rules, by_code, find, identities, unusable


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("key", required=False, metavar="CODE|NAME")
@click.option("--all", "every", is_flag=True, help="Explain every rule.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How it is written.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in text.")
def rule(key: str | None, every: bool, output_format: str, color: str) -> int:
    """Explain a rule: what it finds, why that is bad, what to write instead."""
    if every == (key is not None):
        raise click.UsageError("name one rule by its code or name, or say --all")
    rules = all_rules() if key is None else (_named(key),)
    if output_format == "json":
        from torchdevlint import api

        told = {one.code: to_builtins(one) for one in api.all_rules()}
        described = [told[one.code] for one in rules]
        emit(json.dumps(described if every else described[0], indent=2) + "\n")
    else:
        colored = wants_color(color, sys.stdout)
        emit("\n".join(_rendered(one.page()) if colored else one.page() for one in rules))
    problems = unusable() if every else ()
    for problem in problems:
        complain(problem, wants_color(color, sys.stderr))
    return 2 if problems else 0


def _named(key: str) -> Rule:
    found = find(key)
    if found is None:
        names = {name: one for one in identities() for name in (one.code, one.name)}
        closest = names[nearest(key, names)]
        raise Refused(f"there is no rule `{key}`; did you mean `{closest.code}` ({closest.name})?")
    if found.code not in by_code():
        raise Refused("; ".join(each.message for each in unusable()))
    return by_code()[found.code]


def _rendered(markdown: str) -> str:
    """Markdown as rich shows it on a terminal."""
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    out = StringIO()
    width = min(terminal_width() or 100, 100)
    Console(file=out, force_terminal=True, width=width, legacy_windows=False).print(Markdown(markdown))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))
