"""Score linters on real fixes of device-placement bugs: found before the fix, quiet after it, and how much noise.

    python benchmarks/realbugs/run.py score                fetch and check out what is not there, lint, print the table
    python benchmarks/realbugs/run.py score --peers torchfix,torch-preflight,grep
    python benchmarks/realbugs/run.py update               score and make the result the stored one
    python benchmarks/realbugs/run.py repositories         score with the rest of the repository around each file
    python benchmarks/realbugs/run.py table                write the stored scores into docs/ecosystem.md (--check)
    python benchmarks/realbugs/run.py misses               what torchdevlint misses, with code (--unexplained)
    python benchmarks/realbugs/run.py explain ID.. --reason "why it is missed"
    python benchmarks/realbugs/run.py fetch                only clone, from GitHub
    python benchmarks/realbugs/run.py checkout             only write the files, from clones
    python benchmarks/realbugs/run.py execute --count 30   hunt, and run the tests, of so many fixes, as drawn
    python benchmarks/realbugs/run.py executed             write what that gave into two pages (--check)

There are two sets of records, in `first/` and `second/`, each with its results and reasons; --data DIR chooses one. The
records are data of this project; the code that they point to comes from its public repositories into a cache and
never leaves it; only `execute` runs it, by the interpreter of --python, which has to have what it imports. With
--clones DIR, clones that are there are used. Peers are started as modules of --python. Exit codes: 0, 1 (a stale
table), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SETS = (HERE / "first", HERE / "second")
sys.path.insert(0, str(ROOT / "scripts"))

import checkout as files_of  # noqa: E402
import command  # noqa: E402
import corpus  # noqa: E402
import linters  # noqa: E402
import misses as reasons_of  # noqa: E402
import outcomes as executed_of  # noqa: E402
import records  # noqa: E402
import score as scores_of  # noqa: E402
import table as page_of  # noqa: E402
import tables  # noqa: E402
import trial  # noqa: E402
import whole  # noqa: E402
from corpus import CorpusError  # noqa: E402
from records import Bug, LookAlike, Records  # noqa: E402
from score import Score  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("realbugs", _parser().parse_args(arguments))


def fetch(options: argparse.Namespace) -> int:
    return _report(files_of.fetch(_cases(_sets(options).values()), options.clones, options.host))


def checkout(options: argparse.Namespace) -> int:
    return _report(files_of.write(_cases(_sets(options).values()), options.clones, options.files))


def score(options: argparse.Namespace) -> int:
    sets = _sets(options)
    lacking = _prepare(_cases(sets.values()), options)
    if lacking:
        print(f"not scored, for want of {len(lacking)} files:", *lacking, sep="\n  ", file=sys.stderr)
    runs = _lint(options)
    for data, wanted in sets.items():
        _score(runs, _without(wanted, lacking), data)
    return 0


def update(options: argparse.Namespace) -> int:
    sets = _sets(options)
    lacking = _prepare(_cases(sets.values()), options)
    if lacking:
        raise CorpusError(f"scores are stored only for all records, and {len(lacking)} files lack: {lacking[0]}, ..")
    runs = _lint(options)
    for data, wanted in sets.items():
        scores_of.store(_score(runs, wanted, data), data)
        _drop_stale_reasons(wanted, data)
    return 0


def repositories(options: argparse.Namespace) -> int:
    for data, wanted in _sets(options).items():
        _report(files_of.fetch(wanted.cases, options.clones, options.host))
        found = whole.run(shlex.split(options.linter), wanted.cases, options.clones)
        new = [scores_of.score(found, wanted)]
        alone = [one for one in scores_of.load(data) if one.linter == linters.OURS]
        _print_scores(wanted, [*alone, *new], data)
        for one in alone:
            inside, outside = set(new[0].quiet), set(one.quiet)
            print(f"found and quiet in the repository only: {', '.join(sorted(inside - outside)) or '-'}")
            print(f"found and quiet alone only: {', '.join(sorted(outside - inside)) or '-'}")
        scores_of.store(new, data)
    return 0


def table(options: argparse.Namespace) -> int:
    text = "\n\n".join(
        page_of.render(f"The {data.name} set", wanted, scores_of.load(data), reasons_of.load(data))
        for data, wanted in _sets(options).items()
    )
    if options.check:
        return tables.check(options.page, "realbugs", text, "python benchmarks/realbugs/run.py table")
    tables.refresh(options.page, "realbugs", text)
    return 0


def misses(options: argparse.Namespace) -> int:
    listed = 0
    for data, wanted in _sets(options).items():
        reasons, scores = reasons_of.load(data), scores_of.load(data)
        missed = [bug for bug in reasons_of.missed(scores, wanted) if bug.category.startswith(options.category)]
        found = {bug for one in scores if one.linter == linters.OURS for bug in one.found}
        if options.unexplained:
            missed = reasons_of.unexplained(missed, reasons)
        for bug in missed:
            heard = ", found but not quiet after the fix" if bug.id in found else ""
            print(f"{bug.id}  {bug.category}, one file: {bug.single_file}{heard}")
            print(f"  {bug.path}:{','.join(map(str, bug.lines))}: {bug.why}{f' ({bug.note})' if bug.note else ''}")
            if bug.id in reasons:
                print(f"  missed because: {reasons[bug.id]}")
            print(*page_of.code(bug, options.files, options.context), sep="\n", end="\n\n")
        listed += len(missed)
    print(f"{'not explained' if options.unexplained else 'missed'}: {listed}")
    return 0


def explain(options: argparse.Namespace) -> int:
    reason = " ".join(options.reason.split())
    if not reason:
        raise CorpusError("an empty reason explains nothing")
    missed = {data: reasons_of.missed(scores_of.load(data), wanted) for data, wanted in _sets(options).items()}
    bugs = [reasons_of.named(given, chain.from_iterable(missed.values())) for given in options.ids]
    left = 0
    for data, of_set in missed.items():
        explained = {bug.id: reason for bug in bugs if bug in of_set}
        reasons_of.save({**reasons_of.load(data), **explained}, data)
        left += len(reasons_of.unexplained(of_set, reasons_of.load(data)))
    print(f"{len(bugs)} explained, {left} of {sum(map(len, missed.values()))} to go")
    return 0


def execute(options: argparse.Namespace) -> int:
    """Execute fixes in their order until `count` could be imported, or those that are named."""
    order = executed_of.in_order(bug for wanted in _sets(options).values() for bug in wanted.bugs)
    known = {row.id: row for row in executed_of.load(options.results)}
    options.work.mkdir(parents=True, exist_ok=True)
    done = 0
    for bug in order:
        if done == options.count and not options.ids:
            break
        if options.ids and bug.id not in options.ids:
            continue
        row = known.get(bug.id)
        if row is None or options.ids:
            _report(files_of.fetch([bug], options.clones, options.host))
            home = options.work / bug.id
            home.mkdir(exist_ok=True)
            row = trial.Trial(bug, home, options.python, options.clones).execute()
            executed_of.store(options.results, row, order)
            outcome = row.refused or f"hunt: {row.hunt} ({row.targets}), tests: {row.suite}"
            print(f"{bug.id} {bug.category} {outcome}", flush=True)
        done += not row.refused
    return 0


def executed(options: argparse.Namespace) -> int:
    bugs = {bug.id: bug for wanted in _sets(options).values() for bug in wanted.bugs}
    scores = [one for data in _sets(options) for one in scores_of.load(data) if one.linter == linters.OURS]
    checked = {bug for one in scores for bug in one.quiet}
    rows = [row for row in executed_of.load(options.results) if row.id in bugs]
    texts = {options.page: executed_of.render(rows, bugs, checked), options.readme: executed_of.sentence(rows, checked)}
    if options.check:
        command = "python benchmarks/realbugs/run.py executed"
        return max(tables.check(page, "executed", text, command) for page, text in texts.items())
    for page, text in texts.items():
        tables.refresh(page, "executed", text)
    return 0


def _sets(options: argparse.Namespace) -> dict[Path, Records]:
    """The records of each set that is asked for, by its folder."""
    return {data: records.load(data) for data in options.data or SETS}


def _cases(sets: Iterable[Records]) -> list[Bug | LookAlike]:
    return [case for wanted in sets for case in wanted.cases]


def _report(problems: Sequence[str]) -> int:
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 2 if problems else 0


def _prepare(wanted: Sequence[Bug | LookAlike], options: argparse.Namespace) -> list[str]:
    """Fetch and write the files that are not there; those that could not be had."""
    lacking = set(files_of.absent(wanted, options.files))
    if not lacking:
        return []
    cases = [case for case in wanted if files_of.absent([case], options.files)]
    print(f"getting {len(lacking)} files of {len({case.repo for case in cases})} repositories", file=sys.stderr)
    _report(files_of.fetch(cases, options.clones, options.host))
    _report(files_of.write(cases, options.clones, options.files))
    return files_of.absent(wanted, options.files)


def _without(wanted: Records, lacking: Iterable[str]) -> Records:
    ids = {path.partition("/")[0] for path in lacking}
    return replace(
        wanted,
        bugs=tuple(bug for bug in wanted.bugs if bug.id not in ids),
        lookalikes=tuple(case for case in wanted.lookalikes if case.id not in ids),
    )


def _lint(options: argparse.Namespace) -> list[linters.Run]:
    """Every linter that is asked for, on all files that are there."""
    peers = [name.strip() for name in options.peers.split(",") if name.strip()]
    known = [name for name in linters.NAMES if name != linters.IN_REPOSITORY]
    unknown = sorted(set(peers) - set(known))
    if unknown:
        raise CorpusError(f"unknown peer {', '.join(unknown)} (known: {', '.join(known)})")
    results = []
    for name in dict.fromkeys([linters.OURS, *peers]):
        print(f"{name} ..", file=sys.stderr)
        done = _run(name, options)
        print(f"{done.title}: {len(done.findings)} findings in {done.wall:.1f} s, {done.cpu:.1f} s of CPU")
        results.append(done)
    return results


def _run(name: str, options: argparse.Namespace) -> linters.Run:
    if name == linters.GREP:
        return linters.grep(options.files)
    command = shlex.split(options.linter) if name == linters.OURS else [options.python, "-m", linters.MODULES[name]]
    return linters.run(name, command, options.files)


def _score(runs: Iterable[linters.Run], wanted: Records, data: Path) -> list[Score]:
    """The scores of one set, which are printed."""
    new = [scores_of.score(run, wanted) for run in runs]
    _print_scores(wanted, new, data)
    _print_changes(wanted, new, data)
    return new


def _print_scores(wanted: Records, scores: Sequence[Score], data: Path) -> None:
    titles = ("category", "one file", "bugs", *(one.title for one in scores))
    print(f"\n{data.name}: found / and quiet after the fix")
    print(tables.columns(titles, page_of.categories(wanted, scores)).replace("**", ""))
    for one in scores:
        print(
            f"\n{one.title}: {one.findings_after(wanted)} findings in {wanted.post_lines:,} lines after the fix, "
            f"{one.noise_rate(wanted):.2f} per 1,000; look-alikes: {len(one.alarms)} of {len(wanted.lookalikes)}"
        )
        for case in one.alarmed(wanted) if one.linter == linters.OURS else ():
            print(f"  {case.id} {case.path}:{case.lines[0]}: {case.why_ok}")


def _print_changes(wanted: Records, scores: Iterable[Score], data: Path) -> None:
    """What is found and quiet now and was not in the stored scores, and the reverse."""
    before = {one.linter: one for one in scores_of.load(data)}
    there = {bug.id for bug in wanted.bugs}
    for one in scores:
        if one.linter in before:
            old, new = there & set(before[one.linter].quiet), set(one.quiet)
            print(f"\nagainst the stored score of {one.linter}: {len(new - old)} new, {len(old - new)} gone")
            changes = sorted([*(("+", bug) for bug in new - old), *(("-", bug) for bug in old - new)])
            print(*(f"{sign} {bug}" for sign, bug in changes), sep="\n", end="\n" if changes else "")


def _drop_stale_reasons(wanted: Records, data: Path) -> None:
    reasons = reasons_of.load(data)
    missed = reasons_of.missed(scores_of.load(data), wanted)
    for bug in reasons_of.stale(missed, reasons):
        print(f"no longer missed, reason dropped: {bug}: {reasons.pop(bug)}")
    reasons_of.save(reasons, data)
    print(f"\nmissed: {len(missed)}, not explained: {len(reasons_of.unexplained(missed, reasons))}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    cache = corpus.default_cache() / "realbugs"
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--data", type=Path, action="append", help="folder of one set: records, results, reasons; default: both sets"
    )
    cloning = argparse.ArgumentParser(add_help=False)
    cloning.add_argument("--clones", type=Path, default=cache / "clones", help="DIR/owner/name or DIR/owner+name")
    cloning.add_argument("--host", default=files_of.HOST, help="where to clone from; default: %(default)s")
    filing = argparse.ArgumentParser(add_help=False)
    filing.add_argument(
        "--files", type=Path, default=cache / "files", help="what checkout writes; default: in the cache"
    )
    linting = argparse.ArgumentParser(add_help=False)
    linting.add_argument("--linter", default=f"{shlex.quote(sys.executable)} -m torchdevlint", help="command to run")
    linting.add_argument("--peers", default="", help=f"comma-separated: {', '.join(linters.NAMES[2:])}; default: none")
    linting.add_argument("--python", default=sys.executable, help="interpreter that has the peers; default: this one")

    commands.add_parser("fetch", parents=[common, cloning]).set_defaults(run=fetch)
    commands.add_parser("checkout", parents=[common, cloning, filing]).set_defaults(run=checkout)
    for run in (score, update, repositories):
        commands.add_parser(run.__name__, parents=[common, cloning, filing, linting]).set_defaults(run=run)
    rendering = commands.add_parser("table", parents=[common])
    rendering.add_argument("--page", type=Path, default=ROOT / "docs" / "ecosystem.md")
    rendering.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is stale")
    rendering.set_defaults(run=table)
    stored = argparse.ArgumentParser(add_help=False)
    stored.add_argument("--results", type=Path, default=HERE, help="folder of executed.jsonl")
    executing = commands.add_parser("execute", parents=[common, cloning, stored])
    executing.add_argument("ids", nargs="*", metavar="ID", help="only these, again if they are done; default: as drawn")
    executing.add_argument("--count", type=int, default=30, help="how many are to be imported; default: %(default)s")
    executing.add_argument(
        "--python", default=sys.executable, help="interpreter that has what they import, and torchdevlint"
    )
    executing.add_argument("--work", type=Path, default=cache / "executed", help="where trees and outputs lie")
    executing.set_defaults(run=execute)
    paging = commands.add_parser("executed", parents=[common, stored])
    paging.add_argument("--page", type=Path, default=ROOT / "docs" / "hunt.md")
    paging.add_argument("--readme", type=Path, default=ROOT / "README.md", help="where the figure stands")
    paging.add_argument("--check", action="store_true", help="write nothing; exit 1 if one of the two is stale")
    paging.set_defaults(run=executed)
    listing = commands.add_parser("misses", parents=[common, filing])
    listing.add_argument("--unexplained", action="store_true", help="only those without a reason")
    listing.add_argument("--category", default="", help="only categories that start like this")
    listing.add_argument("--context", type=int, default=6, help="lines shown on either side")
    listing.set_defaults(run=misses)
    explaining = commands.add_parser("explain", parents=[common])
    explaining.add_argument("ids", nargs="+", metavar="ID", help="a bug, or a part of its id that no other has")
    explaining.add_argument("--reason", required=True, help="one line; the same words for the same limit")
    explaining.set_defaults(run=explain)
    return parser


if __name__ == "__main__":
    sys.exit(main())
