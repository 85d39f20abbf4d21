"""Seeded bugs: undo what makes right code right, and see whether torchdevlint notices.

    python benchmarks/seeded/run.py score NAME==VERSION ..     seed, lint, print a table (nothing is stored)
    python benchmarks/seeded/run.py score --set gating         the same over pinned releases
    python benchmarks/seeded/run.py score --cache DIR --draw D over the packages of a draw that DIR holds
    python benchmarks/seeded/run.py update --draw D ..         score, and make the rows the stored ones
    python benchmarks/seeded/run.py misses [--kind KIND]       the stored misses, with their code and verdicts
    python benchmarks/seeded/run.py prove --cache DIR          execute the stored ones, before and after the edit
    python benchmarks/seeded/run.py table                      write the table into docs/ecosystem.md (--check)

A seeded bug is *real* if the code around shows that the program fails, or is wrong, on an accelerator because of it; a
move of what is there already is none. Verdicts on a sample of the misses stand in `judged.jsonl`, each with its reason:
of them follows the share of misses that are real, and so the corrected recall. A bug is *proved* if an execution on
simulated accelerators shows it, and the right code passes there: `prove` imports and calls code of the packages, and
writes `proved.jsonl`. Exit codes: 0, 1 (a stale table), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "scripts"), str(ROOT)]

import command  # noqa: E402
import corpus  # noqa: E402
import jsonl  # noqa: E402
import results as results_of  # noqa: E402
import tables  # noqa: E402
from corpus import CorpusError  # noqa: E402
from kinds import KINDS  # noqa: E402
from prove import prove as execute  # noqa: E402
from sample import drawn  # noqa: E402
from score import Outcome, run  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("seeded", _parser().parse_args(arguments))


def score(options: argparse.Namespace) -> int:
    outcomes = _score(options)
    print(results_of.columns(outcomes, results_of.load(options.data)))
    if options.rows is not None:
        jsonl.write(options.rows, [each.as_row() for each in outcomes])
    return 0


def update(options: argparse.Namespace) -> int:
    outcomes = _score(options)
    jsonl.write(options.data / "results.jsonl", [each.as_row() for each in outcomes])
    print(results_of.columns(outcomes, results_of.load(options.data)))
    return 0


def misses(options: argparse.Namespace) -> int:
    verdicts = results_of.load(options.data)
    listed = 0
    for each in _stored(options.rows or options.data / "results.jsonl"):
        if each.found or (options.kind and each.kind != options.kind):
            continue
        judged = verdicts.get(each.key)
        print(f"{each.key}: {judged.verdict + ', ' + judged.reason if judged else 'not judged'}")
        print(f"  - {each.before}\n  + {each.after}")
        listed += 1
    print(f"missed: {listed}")
    return 0


def prove(options: argparse.Namespace) -> int:
    stored = _stored(options.data / "results.jsonl")
    kinds, packages = (set(filter(None, each.split(","))) for each in (options.kind, options.package))
    chosen = [each for each in stored if (not kinds or each.kind in kinds) and (not packages or each.label in packages)]
    roots = {label: _folder(options.cache, options.draw, label).resolve() for label in {each.label for each in chosen}}
    keys = {each.key for each in chosen}
    proofs = [each for each in results_of.load_proofs(options.data) if each.key not in keys]
    try:
        for each in execute(chosen, roots, options.seconds, options.most_seconds):
            proofs.append(each)
            print(f"{each.key}: {each.verdict} {each.code} {each.why}".rstrip(), file=sys.stderr)
    finally:  # what was executed before an interruption is kept
        jsonl.write(options.data / "proved.jsonl", [each.as_row() for each in sorted(proofs, key=lambda one: one.key)])
    print(results_of.told_of_proofs(stored, proofs))
    return 0


def table(options: argparse.Namespace) -> int:
    text = results_of.markdown(
        _stored(options.data / "results.jsonl"), results_of.load(options.data), results_of.load_proofs(options.data)
    )
    if options.check:
        return tables.check(options.page, "seeded", text, "python benchmarks/seeded/run.py table")
    tables.refresh(options.page, "seeded", text)
    return 0


def _stored(path: Path) -> list[Outcome]:
    return [Outcome.from_row(row) for row in jsonl.read(path)]


def _score(options: argparse.Namespace) -> list[Outcome]:
    packages = _packages(options)
    kinds = tuple(options.kind.split(",")) if options.kind else tuple(KINDS)
    seeded = drawn(packages, options.seed, options.most, kinds)
    print(f"{len(seeded)} bugs in {len(packages)} packages", file=sys.stderr)
    return list(run(seeded, options.jobs))


def _packages(options: argparse.Namespace) -> dict[str, Path]:
    if options.draw:
        row = next((each for each in jsonl.read(options.draws) if each["name"] == options.draw), None)
        if row is None:
            raise CorpusError(f"{options.draws} has no draw {options.draw!r}")
        return {each: _folder(options.cache, options.draw, each) for each in row["sources"]}
    if options.requirements and not options.pinned:
        releases = [corpus.pin(each, corpus.SETS[0], options.cache) for each in options.requirements]
    else:
        releases = corpus.select(corpus.load(ROOT / "scripts" / "ecosystem"), options.requirements, options.set)
    return {each.label: corpus.folder(each, options.cache) for each in releases}


def _folder(cache: Path, draw: str, label: str) -> Path:
    for place in (cache / "src" / label, cache / f"{draw}-code" / label, cache / draw / "src" / label):
        if place.is_dir():
            return place
    raise CorpusError(f"{cache} does not hold {label} of the draw {draw}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for function in (score, update, misses, prove, table):
        one = commands.add_parser(function.__name__)
        one.set_defaults(run=function)
        one.add_argument("--data", type=Path, default=HERE)
        if function in (score, update):
            one.add_argument("requirements", nargs="*", metavar="NAME==VERSION")
            one.add_argument("--pinned", action="store_true", help="the names are those of pinned releases")
            one.add_argument("--set", default="gating", choices=[*corpus.SETS, "all"])
            one.add_argument("--draw", help="the name of a draw of the ledger")
            one.add_argument("--draws", type=Path, default=ROOT / "scripts" / "ecosystem" / "draws.jsonl")
            one.add_argument("--cache", type=Path, default=corpus.default_cache())
            one.add_argument("--seed", default="seeded")
            one.add_argument("--most", type=int, default=8, help="bugs of one kind in one package")
            one.add_argument("--jobs", type=int, default=2)
        if function is prove:
            one.add_argument("--cache", type=Path, default=corpus.default_cache())
            one.add_argument("--draw", default="", help="the draw that the cache names its folders by")
            one.add_argument("--package", default="", help="labels such as NAME-VERSION, with commas between them")
            one.add_argument("--seconds", type=float, default=6.0, help="for one execution")
            one.add_argument("--most-seconds", type=float, default=20.0, help="for all executions of one bug")
        if function is not table:
            one.add_argument("--kind", default="", help="kinds, with commas between them")
        if function in (score, update, misses):
            one.add_argument("--rows", type=Path, help="where the rows are, or are written to")
        if function is table:
            one.add_argument("--page", type=Path, default=ROOT / "docs" / "ecosystem.md")
            one.add_argument("--check", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
