"""Draws: what the linter says about code that nobody has looked at, judged before anything is changed because of it.

    python scripts/draws.py lint DRAW NAME==VERSION .. --seed SEED    fetch packages, lint, write what is to be judged
    python scripts/draws.py lint DRAW --repositories DIR --seed SEED  the same of the checkouts that DIR holds
    python scripts/draws.py record DRAW     a row for the ledger, once every finding and every safe fix is judged
    python scripts/draws.py again           what became of the findings of all draws whose code is in the cache
    python scripts/draws.py table           write the ledger into docs/ecosystem.md (--check: compare)

DRAW is the name of a draw. Its code lies in the cache; `findings.jsonl` beside it is filled in by whoever judges, who
has not written the rule: `verdict` is one of true, harmless and false, `reason` one line, and `fix`, where it is
"safe", becomes "right" or "wrong". `sheet.md` shows each finding with the code around it, `fixes.diff` what all safe
fixes change.

A ledger's row is never rewritten: `record` refuses a draw that is recorded already. Where the linter could not judge a
file (its exit code is 2) there is no draw: `lint` and `again` name all such files. Exit codes: 0, 1 (a stale table, or
something that was right and is gone), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import command
import corpus
import drawn
import jsonl
import tables
from corpus import CorpusError
from drawn import Draw, Judged

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LEAST_LINES = 300
"""Packages with fewer lines in files that mention torch are left out."""


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("draws", _parser().parse_args(arguments))


def lint(options: argparse.Namespace) -> int:
    """Lint the code of a new draw and write what is to be judged."""
    place = options.cache / options.draw
    if (place / "findings.jsonl").exists():
        raise CorpusError(f"{place} holds a draw already; its findings are judged as they are")
    sources = _packages(options.packages, place) if options.packages else _checkouts(options.repositories)
    raw = _findings(sources)
    found = [each for label, root in sources.items() for each in drawn.judgeable(raw[label], label, root)]
    draw = Draw(
        name=options.draw,
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        commit=_commit(),
        seed=options.seed,
        of="packages" if options.packages else "repositories",
        sources=tuple(sources),
        lines=sum(map(_lines, sources.values())),
    )
    place.mkdir(parents=True, exist_ok=True)
    roots = {label: str(root.resolve()) for label, root in sources.items()}
    (place / "draw.json").write_text(json.dumps({**draw.as_row(), "roots": roots}, indent=1))
    jsonl.write(place / "findings.jsonl", [each.as_row() for each in found])
    sections = [drawn.section(each, sources[each.label], options.context) for each in found]
    (place / "sheet.md").write_text("".join(sections), encoding="utf-8")
    fixed = {each.label for each in found if each.fix == "safe"}
    diffs = [_torchdevlint(root, "--diff").stdout for label, root in sources.items() if label in fixed]
    (place / "fixes.diff").write_text("".join(diffs), encoding="utf-8")
    print(f"{place}: {len(found)} findings in {draw.lines:,} lines, {sum(e.fix == 'safe' for e in found)} safe fixes")
    return 0


def record(options: argparse.Namespace) -> int:
    """Append a judged draw to the ledger, and keep its findings with their verdicts."""
    place = options.cache / options.draw
    draw, _ = _stored(place)
    rows = jsonl.read(options.data / "draws.jsonl")
    if any(row["name"] == draw.name for row in rows):
        raise CorpusError(f"{draw.name} is recorded already, and a row is never rewritten")
    found = drawn.load(place / "findings.jsonl")
    open_ = [each for each in found if not each.is_judged]
    if open_:
        raise CorpusError(f"{len(open_)} findings are not judged, the first is {open_[0].key}")
    folder = options.data / "draws"
    folder.mkdir(exist_ok=True)
    jsonl.write(folder / f"{draw.name}.jsonl", [each.as_row() for each in found])
    row = {**draw.as_row(), **drawn.counts(found)}
    jsonl.write(options.data / "draws.jsonl", [*rows, row])
    print(tables.markdown(drawn.COLUMNS, [drawn.cells(row)]))
    return 0


def again(options: argparse.Namespace) -> int:
    """Lint the code of recorded draws once more and print what is no longer, and what is new."""
    lost = 0
    for path in sorted((options.data / "draws").glob("*.jsonl")):
        place = options.cache / path.stem
        if options.draws and path.stem not in options.draws:
            continue
        if not (place / "draw.json").exists():
            print(f"{path.stem}: its code is not in the cache")
            continue
        _, roots = _stored(place)
        before = {each.key: each for each in drawn.load(path)}
        raw = _findings(roots)
        now = {e.key: e for label, root in roots.items() for e in drawn.judgeable(raw[label], label, root)}
        gone = [each for key, each in before.items() if key not in now]
        lost += sum(each.verdict == "true" for each in gone)
        kept = [each for key, each in before.items() if key in now]
        new = [now[key] for key in sorted(now.keys() - before.keys())]
        print(f"{path.stem}: {_tally(before.values())} before; {_tally(kept)} now, {len(new)} new")
        for sign, group in (("-", gone), ("=", [e for e in kept if e.verdict != "true"]), ("+", new)):
            for each in group:
                print(f"{sign} {each.verdict or 'not judged'} {each.place}: {each.code} {each.message}")
    return int(bool(lost))


def table(options: argparse.Namespace) -> int:
    rows = jsonl.read(options.data / "draws.jsonl")
    text = tables.markdown(drawn.COLUMNS, [drawn.cells(row) for row in rows])
    if options.check:
        return tables.check(options.page, "draws", text, "python scripts/draws.py table")
    tables.refresh(options.page, "draws", text)
    return 0


def _tally(found: Iterable[Judged]) -> str:
    count = drawn.counts(list(found))
    return f"{count['true']} true, {count['harmless']} harmless, {count['false']} false"


def _packages(requirements: Iterable[str], place: Path) -> dict[str, Path]:
    """The unpacked packages by label; those that cannot be fetched, or hardly use torch, are named and left out."""
    sources = {}
    place.mkdir(parents=True, exist_ok=True)
    for requirement in requirements:
        try:
            release = corpus.pin(requirement, corpus.SETS[0], place)
            root = corpus.folder(release, place)
        except CorpusError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        torch_lines = sum(
            corpus.count_lines(text) for text in map(Path.read_bytes, corpus.python_files(root)) if b"torch" in text
        )
        if torch_lines < LEAST_LINES:
            print(f"left out: {requirement} has {torch_lines} lines in files that mention torch", file=sys.stderr)
            continue
        sources[release.label] = root
    return sources


def _checkouts(folder: Path | None) -> dict[str, Path]:
    if folder is None:
        raise CorpusError("a draw is of packages or of --repositories")
    return {each.name: each for each in sorted(folder.iterdir()) if each.is_dir()}


def _findings(sources: Mapping[str, Path]) -> dict[str, list[dict[str, object]]]:
    """What the linter finds in each source; a file that it could not judge ends the draw, and all of them are named.

    What is silent since the linter failed would be judged as what is silent since nothing is wrong.
    """
    found, failed = {}, []
    for label, root in sources.items():
        try:
            found[label] = _lint(root)
        except CorpusError as error:
            failed.append(str(error))
    if failed:
        raise CorpusError("\n".join(failed))
    return found


def _lint(root: Path) -> list[dict[str, object]]:
    """The findings of the default selection as the JSON format has them."""
    done = _torchdevlint(root, "--output-format", "json")
    if done.returncode not in (0, 1):
        raise CorpusError(f"{root}: exit {done.returncode}: {done.stderr.strip()[-20000:]}")
    try:
        found: list[dict[str, object]] = json.loads(done.stdout)
    except ValueError as error:
        raise CorpusError(f"{root}: what the linter says is no JSON: {error}") from error
    return found


def _torchdevlint(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    common = ["--isolated", "--no-cache", "--jobs", str(os.cpu_count() or 1)]
    line = [sys.executable, "-m", "torchdevlint", "check", *common, *options, "."]
    return subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)


def _lines(root: Path) -> int:
    return sum(corpus.count_lines(path.read_bytes()) for path in corpus.python_files(root))


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _stored(place: Path) -> tuple[Draw, dict[str, Path]]:
    """A draw that was linted, with the folders of its code by label."""
    try:
        row = json.loads((place / "draw.json").read_text())
    except (OSError, ValueError) as error:
        raise CorpusError(f"{place} holds no draw: {error}") from error
    return Draw.from_row(row), {label: Path(root) for label, root in row["roots"].items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--data", type=Path, default=HERE / "ecosystem", help="folder of the ledger")
    common.add_argument("--cache", type=Path, default=corpus.default_cache() / "draws", help="the code of draws")
    linting = commands.add_parser("lint", parents=[common])
    linting.add_argument("draw")
    linting.add_argument("packages", nargs="*", default=[], metavar="NAME==VERSION")
    linting.add_argument("--seed", required=True, help="what the draw was made with, so that it can be repeated")
    linting.add_argument("--repositories", type=Path, metavar="DIR", help="instead of packages: a folder of checkouts")
    linting.add_argument("--context", type=int, default=12, help="lines shown on either side")
    linting.set_defaults(run=lint)
    recording = commands.add_parser("record", parents=[common])
    recording.add_argument("draw")
    recording.set_defaults(run=record)
    repeating = commands.add_parser("again", parents=[common])
    repeating.add_argument("draws", nargs="*")
    repeating.set_defaults(run=again)
    rendering = commands.add_parser("table", parents=[common])
    rendering.add_argument("--page", type=Path, default=ROOT / "docs" / "ecosystem.md")
    rendering.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is stale")
    rendering.set_defaults(run=table)
    return parser


if __name__ == "__main__":
    sys.exit(main())
