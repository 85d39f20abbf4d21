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

The records are data of this project; the code that they point to comes from its public repositories into a cache, is
never run and never leaves it. With --clones DIR, clones that are there are used. Peers are started as modules of
--python. Exit codes: 0, 1 (a stale table), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import checkout as files_of  # noqa: E402
import command  # noqa: E402
import corpus  # noqa: E402
import linters  # noqa: E402
import misses as reasons_of  # noqa: E402
import records  # noqa: E402
import score as scores_of  # noqa: E402
import table as page_of  # noqa: E402
import tables  # noqa: E402
import whole  # noqa: E402
from corpus import CorpusError  # noqa: E402
from records import Records  # noqa: E402
from score import Score  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("realbugs", _parser().parse_args(arguments))


def fetch(options: argparse.Namespace) -> int:
    return _report(files_of.fetch(records.load(options.data).cases, options.clones, options.host))


def checkout(options: argparse.Namespace) -> int:
    return _report(files_of.write(records.load(options.data).cases, options.clones, options.files))


def score(options: argparse.Namespace) -> int:
    wanted = records.load(options.data)
    lacking = _prepare(wanted, options)
    there = _without(wanted, lacking)
    if lacking:
        print(f"not scored, for want of {len(lacking)} files:", *lacking, sep="\n  ", file=sys.stderr)
    new = _score_all(there, options)
    _print_scores(there, new)
    _print_changes(there, new, options.data)
    return 0


def update(options: argparse.Namespace) -> int:
    wanted = records.load(options.data)
    lacking = _prepare(wanted, options)
    if lacking:
        raise CorpusError(f"scores are stored only for all records, and {len(lacking)} files lack: {lacking[0]}, ..")
    new = _score_all(wanted, options)
    _print_scores(wanted, new)
    _print_changes(wanted, new, options.data)
    scores_of.store(new, options.data)
    _drop_stale_reasons(wanted, options.data)
    return 0


def repositories(options: argparse.Namespace) -> int:
    wanted = records.load(options.data)
    _report(files_of.fetch(wanted.cases, options.clones, options.host))
    found = whole.run(shlex.split(options.linter), wanted.cases, options.clones)
    new = [scores_of.score(found, wanted)]
    alone = [one for one in scores_of.load(options.data) if one.linter == linters.OURS]
    _print_scores(wanted, [*alone, *new])
    for one in alone:
        print(f"found and quiet in the repository only: {', '.join(sorted(set(new[0].quiet) - set(one.quiet))) or '-'}")
        print(f"found and quiet alone only: {', '.join(sorted(set(one.quiet) - set(new[0].quiet))) or '-'}")
    scores_of.store(new, options.data)
    return 0


def table(options: argparse.Namespace) -> int:
    wanted, scores = records.load(options.data), scores_of.load(options.data)
    text = page_of.render(wanted, scores, reasons_of.load(options.data))
    if options.check:
        return tables.check(options.page, "realbugs", text, "python benchmarks/realbugs/run.py table")
    tables.refresh(options.page, "realbugs", text)
    return 0


def misses(options: argparse.Namespace) -> int:
    wanted, reasons = records.load(options.data), reasons_of.load(options.data)
    scores = scores_of.load(options.data)
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
    print(f"{'not explained' if options.unexplained else 'missed'}: {len(missed)}")
    return 0


def explain(options: argparse.Namespace) -> int:
    reason = " ".join(options.reason.split())
    if not reason:
        raise CorpusError("an empty reason explains nothing")
    missed = reasons_of.missed(scores_of.load(options.data), records.load(options.data))
    bugs = [reasons_of.named(given, missed) for given in options.ids]
    reasons_of.save({**reasons_of.load(options.data), **{bug.id: reason for bug in bugs}}, options.data)
    left = reasons_of.unexplained(missed, reasons_of.load(options.data))
    print(f"{len(bugs)} explained, {len(left)} of {len(missed)} to go")
    return 0


def _report(problems: Sequence[str]) -> int:
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 2 if problems else 0


def _prepare(wanted: Records, options: argparse.Namespace) -> list[str]:
    """Fetch and write the files that are not there; those that could not be had."""
    lacking = set(files_of.absent(wanted.cases, options.files))
    if not lacking:
        return []
    cases = [case for case in wanted.cases if files_of.absent([case], options.files)]
    print(f"getting {len(lacking)} files of {len({case.repo for case in cases})} repositories", file=sys.stderr)
    _report(files_of.fetch(cases, options.clones, options.host))
    _report(files_of.write(cases, options.clones, options.files))
    return files_of.absent(wanted.cases, options.files)


def _without(wanted: Records, lacking: Iterable[str]) -> Records:
    ids = {path.partition("/")[0] for path in lacking}
    return replace(
        wanted,
        bugs=tuple(bug for bug in wanted.bugs if bug.id not in ids),
        lookalikes=tuple(case for case in wanted.lookalikes if case.id not in ids),
    )


def _score_all(wanted: Records, options: argparse.Namespace) -> list[Score]:
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
        results.append(scores_of.score(done, wanted))
    return results


def _run(name: str, options: argparse.Namespace) -> linters.Run:
    if name == linters.GREP:
        return linters.grep(options.files)
    command = shlex.split(options.linter) if name == linters.OURS else [options.python, "-m", linters.MODULES[name]]
    return linters.run(name, command, options.files)


def _print_scores(wanted: Records, scores: Sequence[Score]) -> None:
    titles = ("category", "one file", "bugs", *(one.title for one in scores))
    print("\nfound / and quiet after the fix")
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
    common.add_argument("--data", type=Path, default=HERE, help="folder of records, results and reasons")
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
