"""What is stored of the bugs that were found, and the page that is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import jsonl
from corpus import CorpusError

FOUND, EXECUTED, REAL = "found.jsonl", "executed.jsonl", "real.jsonl"
MEANS = ("check", "run", "pytest", "hunt")


@dataclass(frozen=True)
class Found:
    """A bug, as a person describes it.

    `script` is the name of its file in ``scripts/`` without the suffix, `library` and `version` are those of the
    package index, `line` is where the mistake is made (``package/module.py:12``). `by` are the `MEANS` that found it,
    and `rule` the one that sees it without running anything, or empty. `symptom` says what a user meets; `upstream` is
    the address of an issue or of the fix, and `note` what else has to be known. The bug needs so many `accelerators`.
    """

    script: str
    library: str
    version: str
    line: str
    by: Sequence[str]
    rule: str
    symptom: str
    upstream: str = ""
    note: str = ""
    accelerators: int = 1


@dataclass(frozen=True)
class Executed:
    """What became of a script: one of `shown.OUTCOMES`, the error on accelerators, and the library's line of it.

    `gpu` is the name of the real accelerator, or empty if they were simulated.
    """

    script: str
    outcome: str
    version: str
    torch: str
    error: str
    raised: str = ""
    gpu: str = ""


def load_found(folder: Path) -> list[Found]:
    """The bugs in the order of the file; every one has a script and every script a bug."""
    rows = [Found(**row) for row in jsonl.read(folder / FOUND)]
    scripts = sorted(path.stem for path in (folder / "scripts").glob("*.py"))
    if sorted(one.script for one in rows) != scripts:
        odd = sorted({one.script for one in rows}.symmetric_difference(scripts))
        raise CorpusError(f"{FOUND} and scripts/ differ: {', '.join(odd) or 'a script is named twice'}")
    for one in rows:
        if not one.by or not set(one.by) <= set(MEANS):
            raise CorpusError(f"{one.script}: `by` is one or several of {', '.join(MEANS)}")
    return rows


def load_executed(folder: Path, file: str = EXECUTED) -> dict[str, Executed]:
    """By script; with `REAL`, those on a real GPU."""
    return {row["script"]: Executed(**row) for row in jsonl.read(folder / file)}


def store(folder: Path, done: Sequence[Executed], file: str = EXECUTED) -> None:
    """Write `done` in place of what is stored of the same scripts."""
    kept = {**load_executed(folder, file), **{one.script: one for one in done}}
    jsonl.write(folder / file, [asdict(kept[name]) for name in sorted(kept)])


def page(
    found: Sequence[Found], executed: Mapping[str, Executed], real: Mapping[str, Executed], folder: Path
) -> str:
    """The part of the page that is made of records: counts, a table, and each bug with its script and its error."""
    for one in found:
        if one.script not in executed or executed[one.script].outcome != "shown":
            raise CorpusError(f"{one.script} has not shown its bug: run `execute --store` with {one.library} installed")
    bugs = [_bug(one, executed[one.script], folder) for one in found]
    return "\n\n".join([_counts(found, executed), *_on_gpus(found, real), _table(found), *bugs])


def _counts(found: Sequence[Found], executed: Mapping[str, Executed]) -> str:
    releases = sorted({executed[one.script].torch for one in found})
    libraries = {one.library for one in found}
    seen = sum(1 for one in found if one.rule)
    return (
        f"**{len(found)} bugs in {len(libraries)} libraries**; a rule sees {seen} of them without running anything. "
        f"Every script was executed with torch {', '.join(releases)}, on the CPU and on simulated accelerators."
    )


def _on_gpus(found: Sequence[Found], real: Mapping[str, Executed]) -> list[str]:
    """Which scripts were executed on real GPUs, and which not."""
    done = [real[one.script] for one in found if one.script in real]
    if not done:
        return []
    shown = sum(one.outcome == "shown" for one in done)
    machines = ", ".join(sorted({f"{one.gpu} with torch {one.torch}" for one in done}))
    several = [f"`{one.script}`" for one in found if one.script not in real and one.accelerators > 1]
    others = [f"`{one.script}`" for one in found if one.script not in real and one.accelerators == 1]
    left = [
        f"{', '.join(scripts)} {why}"
        for scripts, why in ((several, "need several GPUs"), (others, "not run there for want of a library"))
        if scripts
    ]
    rest = f" {'; '.join(left)}." if left else ""
    return [f"**{shown} of {len(done)} scripts show their bug on a real GPU** ({machines}).{rest}"]


def _table(found: Sequence[Found]) -> str:
    head = "| library | line | found by | rule | upstream |\n| --- | --- | --- | --- | --- |"
    rows = [
        f"| [{one.library} {one.version}](#{one.script}) | `{one.line}` | {', '.join(one.by)} "
        f"| {one.rule or 'none'} | {_upstream(one) or '-'} |"
        for one in found
    ]
    return "\n".join([head, *rows])


def _bug(one: Found, done: Executed, folder: Path) -> str:
    script = (folder / "scripts" / f"{one.script}.py").read_text(encoding="utf-8").strip()
    raised = f", raised at `{done.raised}`" if done.raised and done.raised != one.line else ""
    rest = " ".join(part for part in (f"Rule: {one.rule}." if one.rule else "No rule sees it.", one.note) if part)
    address = f" Upstream: {_upstream(one)}." if one.upstream else ""
    return "\n\n".join(
        [
            f"### {one.script}",
            f"{one.library} {one.version}, `{one.line}`{raised}. {one.symptom} {rest}{address}",
            f"```python\n{script}\n```",
            f"```text\n{done.error}\n```",
        ]
    )


def _upstream(one: Found) -> str:
    if not one.upstream:
        return ""
    owner_and_name, _, number = one.upstream.removeprefix("https://github.com/").rpartition("/")
    return f"[{owner_and_name.rpartition('/')[0].rpartition('/')[2]} #{number}]({one.upstream})"
