"""Execute what the linter finds, and keep which findings were confirmed, refuted or inconclusive, and on which rung.

    python scripts/verified.py examples             the programs of examples/
    python scripts/verified.py cases                the hits of the case files
    python scripts/verified.py packages             the pinned releases: their findings are executed as if by a user
    python scripts/verified.py drawn                the packages that were drawn and whose verdicts somebody has read,
                                                    executed again: what is another verdict than the one recorded
    python scripts/verified.py table                write what was stored into docs/runtime.md (--check)

`packages` and `drawn` want an interpreter in which what the releases import is installed: --python. What is not is
named in the results and never stood in for. Nothing of this is run by the tests. What is stored of `drawn` is never
rewritten: it says what was measured before anything was changed because of it. Exit codes: 0, 1 (a stale table, or a
confirmation that has become a refutation, or the reverse), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import command
import corpus
import executed
import jsonl
import measured
import tables
import verdicts
from corpus import CorpusError, Release

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "scripts" / "ecosystem"
STORED = DATA / "verified.jsonl"
PAGE = ROOT / "docs" / "runtime.md"
VERDICTS = ("confirmed", "refuted", "inconclusive")
RUNGS = ("example", "synthesised", "slice")
APART = executed.APART
MISSING = re.compile(r"importing `[^`]+` (needs|fails)")
"""The reason where the module of a finding cannot be imported here."""


def examples(options: argparse.Namespace) -> int:
    return _store("examples", _rows(options, ROOT, "examples", "examples"))


def cases(options: argparse.Namespace) -> int:
    sys.path.insert(0, str(ROOT))
    from tests.casefile import read_cases

    with tempfile.TemporaryDirectory() as folder:
        hits = [case for case in read_cases() if case.want]
        for case in hits:
            Path(folder, f"{case.slug}.py").write_text(case.code, encoding="utf-8")
        rows = _rows(options, Path(folder), ".", "cases")
    own = {f"{case.slug}.py": case.rule for case in hits}
    return _store("cases", [row for row in rows if own[row["path"]] == row["code"]])


def packages(options: argparse.Namespace) -> int:
    releases = corpus.select(corpus.load(DATA), options.release, options.set)
    rows: list[dict[str, Any]] = []
    for number, release in enumerate(releases, start=1):
        print(f"[{number}/{len(releases)}] {release.label}", file=sys.stderr)
        rows += _of_release(options, release)
    return _store("packages", rows, {release.label for release in releases})


def drawn(options: argparse.Namespace) -> int:
    return executed.again(options, lambda given, root: list(map(_plain, _verified(given, root, "."))))


def table(options: argparse.Namespace) -> int:
    texts = {"verified": _render(jsonl.read(STORED)), "executed": executed.render(executed.load())}
    if options.check:
        return max(tables.check(PAGE, name, text, "python scripts/verified.py table") for name, text in texts.items())
    for name, text in texts.items():
        tables.refresh(PAGE, name, text)
    return 0


def _of_release(options: argparse.Namespace, release: Release) -> list[dict[str, Any]]:
    root = corpus.folder(release, options.cache)
    judged = verdicts.load_verdicts(DATA)
    raw = _verified(options, root, ".")
    keys = {(one.path, one.row, one.code): one.key for one in verdicts.keyed(raw, release, root)}
    rows = []
    for row in map(_plain, raw):
        key = keys.get((row["path"], row["row"], row["code"]), "")
        verdict = judged[key].verdict if key in judged else "unjudged"
        rows.append({"set": "packages", "label": release.label, **row, "judged": verdict})
    return rows


def _rows(options: argparse.Namespace, cwd: Path, what: str, name: str) -> list[dict[str, Any]]:
    return [{"set": name, "label": name, **_plain(one), "judged": "true"} for one in _verified(options, cwd, what)]


def _verified(options: argparse.Namespace, cwd: Path, what: str) -> list[dict[str, Any]]:
    """The findings of `what` with their verdicts. Raises CorpusError if they were not executed."""
    arguments = ["verify", "--isolated", "--output-format", "json", "--jobs", str(options.jobs), what]
    env = {"PYTHONPATH": str(ROOT)}
    done = measured.run([options.python, "-m", "torchdevlint", *arguments], cwd=cwd, extra_env=env)
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)
    except ValueError as error:
        raise CorpusError(f"verify ended with {done.returncode}: {done.stderr.strip()[-500:]}") from error
    return found


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a verdict: no texts of exceptions, which say where things are on this machine."""
    confirmed = item["verdict"] != "inconclusive"
    return {
        "path": str(item["filename"]).removeprefix("./"),
        "row": item["location"]["row"],
        "code": item["code"],
        "verdict": item["verdict"],
        "rung": item["rung"] if confirmed else "",
        "importable": not any(MISSING.search(each["reason"]) for each in item["reasons"]),
        "torch": item["torch"],
    }


def _store(name: str, rows: Iterable[dict[str, Any]], labels: set[str] | None = None) -> int:
    """Replace what is stored of a set (of some releases of it), and print its table."""
    rows = sorted(rows, key=lambda row: (row["label"], row["path"], row["row"], row["code"]))
    kept = [
        row for row in jsonl.read(STORED) if row["set"] != name or (labels is not None and row["label"] not in labels)
    ]
    jsonl.write(STORED, sorted([*kept, *rows], key=lambda row: (row["set"], row["label"], row["path"], row["row"])))
    print(_per_rule(rows))
    return 0


def _render(rows: Sequence[Mapping[str, Any]]) -> str:
    sections = []
    for name, title in (("examples", "`examples/`"), ("cases", "Hits of the case files"), ("packages", "Releases")):
        chosen = [row for row in rows if row["set"] == name and row["judged"] == "true"]
        if chosen:
            torch = ", ".join(sorted({row["torch"] for row in chosen}))
            sections += [f"**{title}** (torch {torch}; simulated accelerators):", _per_rule(chosen)]
    every = [row for row in rows if row["set"] == "packages"]
    if every:
        sections += [
            "By what was thought of them when they were read ([ecosystem](ecosystem.md)), without TDL201:",
            _per_judgement(_divided(every)[0]),
        ]
        sections.append(_shares([row for row in every if row["judged"] == "true"]))
    return "\n\n".join(sections)


def _per_rule(rows: Sequence[Mapping[str, Any]]) -> str:
    counted, apart = _divided(rows)
    lines: list[list[Any]] = []
    for name, part in (("**all**", counted), ("**counted apart**", apart)):
        codes = sorted({row["code"] for row in part})
        lines += [[code, *_counts([row for row in part if row["code"] == code])] for code in codes]
        lines += [[name, *_counts(part)]] if part else []
    return tables.markdown(["rule", "findings", *RUNGS, "refuted", "inconclusive"], lines)


def _divided(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """What is counted, and what is counted apart."""
    return [row for row in rows if row["code"] not in APART], [row for row in rows if row["code"] in APART]


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    confirmed = Counter(row["rung"] for row in rows if row["verdict"] == "confirmed")
    others = Counter(row["verdict"] for row in rows)
    return [len(rows), *(confirmed[rung] for rung in RUNGS), others["refuted"], others["inconclusive"]]


def _per_judgement(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for judged in ("true", "harmless", "false", "unjudged"):
        counts = Counter(row["verdict"] for row in rows if row["judged"] == judged)
        if counts:
            lines.append([judged, sum(counts.values()), *(counts[verdict] for verdict in VERDICTS)])
    return tables.markdown(["judged", "findings", *VERDICTS], lines)


def _shares(rows: Sequence[Mapping[str, Any]]) -> str:
    counted, apart = _divided(rows)
    there = [row for row in counted if row["importable"]]

    def share(chosen: Sequence[Mapping[str, Any]]) -> str:
        confirmed = sum(row["verdict"] == "confirmed" for row in chosen)
        return f"{confirmed} of {len(chosen)} ({verdicts.share(confirmed, len(chosen))})"

    return (
        f"Of the true findings of releases, {share(counted)} were confirmed without a GPU and without help; where the "
        f"module of the finding could be imported, or need not be, {share(there)}. TDL201 is not among them: of it "
        f"{share(apart)} were confirmed, which shows what such a load does, and not that the program comes to such a "
        "file."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run in (("examples", examples), ("cases", cases), ("packages", packages), ("drawn", drawn)):
        one = commands.add_parser(name)
        one.set_defaults(run=run)
        one.add_argument("--python", default=sys.executable, help="interpreter that executes; default: this one")
        one.add_argument("--jobs", type=int, default=2)
        if name == "packages":
            one.add_argument("--set", choices=[*corpus.SETS, "all"], default="all")
        if name == "drawn":
            one.add_argument("--draw", action="append", default=[], metavar="NAME")
        if name in ("packages", "drawn"):
            one.add_argument("--cache", type=Path, default=corpus.default_cache())
            one.add_argument("--release", action="append", default=[], metavar="NAME[==VERSION]")
    stored = commands.add_parser("table")
    stored.set_defaults(run=table)
    stored.add_argument("--check", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(command.execute("verified", _parser().parse_args()))
