"""The parts of pages that `scripts/docs.py` makes from elsewhere: options, columns, reports, measured numbers.

Each stands between ``<!-- name:begin -->`` and ``<!-- name:end -->`` in its page.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import click
from rich.style import Style
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = "examples/char_rnn.py"
LAST_DRAWS = 3
"""So many of the newest draws of repositories make the number on the first page."""
COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan")
"""The colours of a terminal, by number."""
RUN_FROM = "torchdevlint run: "
"""Where the report of `torchdevlint run` begins, behind the program's own traceback."""


def marked(page: str, name: str, text: str) -> str:
    """`page` with `text` between the markers of `name`. Raises ValueError when they are gone."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"a page lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{text.strip()}\n{end}{after}"


def between(page: str, name: str) -> str:
    """What stands between the markers of `name`."""
    return page.partition(f"<!-- {name}:begin -->\n")[2].partition(f"\n<!-- {name}:end -->")[0]


# Command line


def command_line() -> str:
    """Every command with its options, as its ``--help`` has them."""
    from torchdevlint.cli import COMMANDS
    from torchdevlint.cli.commands import EPILOG, cli
    from torchdevlint.integrations.dask.__main__ import main

    intro = (
        "`torchdevlint PATH...` is short for `torchdevlint check PATH...`. "
        f"{EPILOG} What a flag sets for one run, [a configuration](configuration.md) sets for all."
    )
    commands = {f"torchdevlint {name}": cli.get_command(click.Context(cli), name) for name in COMMANDS}
    commands["python -m torchdevlint.integrations.dask"] = main
    parts = ["# Command line", intro]
    for name, command in commands.items():
        assert command is not None, name
        parts += [f"## `{name}`", *_command(name, command)]
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    yield f"```text\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```"
    yield from map(_paragraph, cleandoc(command.help or "").split("\n\n"))
    if isinstance(command, click.Group):
        yield "\n".join(f"- `{each}`: {one.get_short_help_str(200)}" for each, one in command.commands.items())
    records = (option.get_help_record(context) for option in command.params if isinstance(option, click.Option))
    options = [f"- `{flags.replace(' RANGE', '')}`: {_sentence(text)}" for flags, text in filter(None, records)]
    if options:
        yield "\n".join(options)


def _paragraph(text: str) -> str:
    """A paragraph of the help; one that click is told not to wrap keeps its lines."""
    if text.startswith("\b\n"):
        return f"```text\n{dedent(text[2:])}\n```"
    return " ".join(text.split())


def _sentence(text: str) -> str:
    """The help of an option, with what click adds in brackets as words."""
    return re.sub(r"\s*\[((?:default|required).*?)\]", r" (\1)", re.sub(r"\s*\[x>=\d+\]", "", " ".join(text.split())))


def columns() -> str:
    """The columns of the table that `torchdevlint.integrations.dask` writes."""
    from torchdevlint.integrations.dask.rows import COLUMNS

    rows = [f"| `{name}` | {kind} | {text} |" for name, (kind, text) in COLUMNS.items()]
    return "\n".join(["| column | type | holds |", "|---|---|---|", *rows])


# The first page


def terminal(command: str, output: str) -> str:
    """A command and its coloured output as HTML that can be read, copied and searched; `output` has ANSI colours."""
    parts = [f'<span class="ansi-dim">$</span> {html.escape(command, quote=False)}\n']
    text = Text.from_ansi(output.rstrip())
    ends = sorted({0, len(text), *(place for span in text.spans for place in (span.start, span.end))})
    for start, end in pairwise(ends):
        styles = [span.style for span in text.spans if span.start <= start and end <= span.end]
        names = [name for style in styles if isinstance(style, Style) for name in _classes(style)]
        piece = html.escape(text.plain[start:end], quote=False)
        parts.append(f'<span class="{" ".join(names)}">{piece}</span>' if names else piece)
    return f'<pre class="terminal"><code>{"".join(parts)}</code></pre>'


def _classes(style: Style) -> list[str]:
    """The classes of `docs/site.css` that look like a style of a terminal."""
    number = style.color.number if style.color is not None else None
    color = [f"ansi-{COLORS[number]}"] if number is not None and number < len(COLORS) else []
    return [*(["ansi-bold"] if style.bold else []), *color]


def simulated(program: str, output: str) -> str:
    """The report of ``torchdevlint run``, without the program's own traceback. Raises ValueError if there is none."""
    plain = re.compile(rf"^(?:\x1b\[[\d;]*m)*{RUN_FROM}", re.MULTILINE)
    begin = plain.search(output)
    if begin is None:
        raise ValueError(f"`torchdevlint run -- {program}` reported nothing: {output.strip()[-500:]}")
    return terminal(f"torchdevlint run -- {program}", output[begin.start() :])


def numbers() -> str:
    """What the stored results come to, the fresh draws first."""
    rows = [f"| **{number}** | {text} |" for number, text in (drawn(), fixes_found(), speed())]
    return "\n".join(["|  |  |", "|---:|---|", *rows])


def drawn() -> tuple[str, str]:
    """Precision of the newest draws of research repositories."""
    ledger = _jsonl(ROOT / "scripts" / "ecosystem" / "draws.jsonl")
    rows = [row for row in ledger if row["of"] == "repositories"][-LAST_DRAWS:]
    total = {key: sum(row[key] for row in rows) for key in ("findings", "true", "harmless", "lines")}
    count = sum(len(row["sources"]) for row in rows)
    holding, acting = total["true"] + total["harmless"], total["true"]
    text = (
        f"of {total['findings']} findings hold, in {count} research repositories ({total['lines']:,} lines) that "
        f"nobody had looked at before: the last {len(rows)} [fresh draws](ecosystem.md#fresh-draws), every finding "
        f"judged. On {_share(acting, total['findings'])} of them a maintainer would act."
    )
    return _share(holding, total["findings"]), text


def fixes_found() -> tuple[str, str]:
    """The fixes of the second set of which one file shows the bug."""
    place = ROOT / "benchmarks" / "realbugs" / "second"
    bugs, alike = (
        [row for row in _jsonl(place / f"{name}.jsonl") if not row.get("left_out")] for name in ("bugs", "lookalikes")
    )
    shown = {row["id"] for row in bugs if row["single_file"] == "yes"}
    ours = next(row for row in _jsonl(place / "results.jsonl") if row["linter"] == "torchdevlint")
    text = (
        "bugs that were fixed in public repositories, and that one file shows, are [found before the fix and gone "
        f"after it](ecosystem.md#the-second-set). Of {len(alike)} places that only look like such bugs, "
        f"{len(ours['alarms'])} are reported."
    )
    return f"{len(shown & set(ours['found']) & set(ours['quiet']))} of {len(shown)}", text


def speed() -> tuple[str, str]:
    """The cold run beside TorchFix on the largest release that both were given, and the run that finds nothing new."""
    page = between((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"), "benchmark")
    cold = re.findall(r"^### Cold, (.+?): ([\d,]+) files, ([\d,]+) lines$(.*?)(?=^###)", page, re.MULTILINE | re.DOTALL)
    name, _, lines, rows = [each for each in cold if "| torchfix |" in each[3]][-1]
    ratio = float(re.findall(r"^\| torchfix \| ([\d.]+) \|", rows, re.MULTILINE)[0])
    wall = re.findall(r"^\| torchdevlint \|(?: [\d.]+ \|){2} ([\d.]+) \|", rows, re.MULTILINE)[0]
    warm = re.findall(r"^\| torchdevlint, nothing changed \| [\d.]+ \| (\d+) \|", page, re.MULTILINE)[0]
    largest, _, most, _ = max(cold, key=lambda each: int(each[2].replace(",", "")))
    text = (
        f"as fast as TorchFix on {name} ({lines} lines in {float(wall):.0f} seconds, [measured side by "
        f"side](performance.md)). Where nothing has changed, {largest} ({most} lines) takes {int(warm) / 1000:.1f} "
        "seconds."
    )
    return f"{ratio:.0f} times", text


def _share(part: int, whole: int) -> str:
    """A percentage rounded down, as the pages have them."""
    return f"{part * 100 // whole} %" if whole else "-"


def _jsonl(path: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
