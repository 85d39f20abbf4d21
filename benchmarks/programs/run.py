"""Run real programs and the test suites of libraries under simulated accelerators, beside a plain CPU.

    python benchmarks/programs/run.py programs            all of tests/programs, as a table
    python benchmarks/programs/run.py programs --only mlp,gpytorch --accelerators 4
    python benchmarks/programs/run.py fetch               the suites, from the index or their repositories
    python benchmarks/programs/run.py suites              run what is in --suites, each on the CPU and simulated
    python benchmarks/programs/run.py suites --only gpytorch --again simulated
    python benchmarks/programs/run.py suites --only kornia --part tests/losses --part tests/color,tests/filters
    python benchmarks/programs/run.py suites --stored     only the table, from what --results holds
    python benchmarks/programs/run.py real                run them on the GPU of this machine, beside what is stored
    python benchmarks/programs/run.py alarms              the tests that nobody has judged, with their first line
    python benchmarks/programs/run.py table --write docs/runtime.md     or --check: from what --store has written

`programs` and `suites` with --store write their results to results/; `programs --timed` its seconds as well. Suites run
as a team would run them, with `pytest` and with `pytest --simulate-accelerators=2`; of a long one, the files that a
fixed seed draws. Programs and suites are code of others, and are executed: --python is the interpreter that has the
libraries and this one.
Exit codes: 0, 1 (a program did not do what it says, or a test raised an alarm that is not judged), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT)]

import clones  # noqa: E402
import command  # noqa: E402
import compared  # noqa: E402
import corpus  # noqa: E402
import execute  # noqa: E402
import parts  # noqa: E402
import real  # noqa: E402
import stored  # noqa: E402
import suites as suites_of  # noqa: E402
import table  # noqa: E402
import tables  # noqa: E402
from chosen import SUITES  # noqa: E402
from compared import Compared  # noqa: E402
from corpus import CorpusError  # noqa: E402
from stored import Seconds, StoredProgram, StoredSuite  # noqa: E402
from suites import Ran, Suite  # noqa: E402

from tests.programs.catalogue import GROUPS, programs  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("programs", _parser().parse_args(arguments))


def run_programs(options: argparse.Namespace) -> int:
    wanted = [one for group in options.groups.split(",") for one in programs(group) if _is_wanted(one.name, options)]
    done = []
    for program in wanted:
        backend = options.accelerators, options.timeout, options.device
        done.append(execute.execute(program, options.python, ROOT, *backend))
        print(f"{program.name}: {done[-1].outcome}: {done[-1].text}", file=sys.stderr)
    version = execute.version_of("torch", options.python)
    rows = [
        StoredProgram(
            *(one.program.name, one.program.library, one.version, version, one.outcome, one.alarms),
            Seconds(round(one.plain, 1), round(one.simulated, 1)) if options.timed else None,
        )
        for one in done
    ]
    print(table.of_programs(rows))
    if options.store:
        stored.merge(RESULTS / stored.PROGRAMS, rows, "name", stored.load_programs(RESULTS))
    return int(any(one.outcome not in execute.GOOD for one in done))


def fetch(options: argparse.Namespace) -> int:
    for suite in _chosen(options):
        if suites_of.absent(suite, options.suites):
            suites_of.fetch(suite, options.suites, options.python, options.clones, options.host)
            print(f"{options.suites / suite.label}")
    return 0


def run_suites(options: argparse.Namespace) -> int:
    done = [one for suite in _chosen(options) if (one := _both(suite, options)) is not None]
    verdicts = compared.load(options.verdicts)
    version = execute.version_of("torch", options.python)
    rows = [
        StoredSuite(
            *(one.plain.suite.library, one.plain.suite.version, version),
            *(one.run, len(one.gained), len(one.both)),
            {test: _without_folders(one.simulated.outcomes[test].text) for test in one.alarmed},
            one.simulated.share,
            Seconds(round(one.plain.cpu, 1), round(one.simulated.cpu, 1)),
            one.simulated.paths,
        )
        for one in done
    ]
    print(table.of_suites(rows, verdicts))
    if options.store:
        stored.merge(RESULTS / stored.SUITES, rows, "row", stored.load_suites(RESULTS))
    return int(any(compared.judge(row.library, row.alarmed, verdicts)[""] for row in rows))


def run_real(options: argparse.Namespace) -> int:
    simulated, rows = stored.load_suites(RESULTS), []
    for suite in _chosen(options):
        ran = None if options.again else real.load(suite, options.results)
        if ran is None and not options.stored and not suites_of.absent(suite, options.suites):
            ran = real.run(suite, options.suites, options.python, options.results, ROOT)
        if ran is not None:
            row = real.compare(suite, ran, simulated)
            differing = {name: _without_folders(text) for name, text in row.only.items()}
            rows.append(replace(row, only=differing))
    print(table.of_real(rows))
    if options.store:
        stored.merge(RESULTS / stored.REAL, rows, "library", stored.load_real(RESULTS))
    return int(any(row.passed or row.only for row in rows))


def _without_folders(text: str) -> str:
    """What is stored names no folder of the machine that it was measured on."""
    return re.sub(r"(?<![\w.])(/[\w.+-]+)+/", "", text)


def show_table(options: argparse.Namespace) -> int:
    verdicts = compared.load(options.verdicts)
    rows = stored.load_programs(RESULTS), stored.load_suites(RESULTS), stored.load_real(RESULTS)
    text = table.page(*rows, verdicts)
    if options.check:
        command_line = f"python benchmarks/programs/run.py table --write {options.check.name}"
        return tables.check(options.check, "programs", text, command_line)
    if options.write:
        tables.refresh(options.write, "programs", text)
    else:
        print(text)
    return 0


def alarms(options: argparse.Namespace) -> int:
    options.stored, options.part = True, []
    verdicts = compared.load(options.verdicts)
    unjudged = 0
    for suite in _chosen(options):
        one = _both(suite, options)
        for test in compared.judge(suite.library, one.alarmed, verdicts)[""] if one else ():
            unjudged += 1
            outcome = one.simulated.outcomes[test]
            print(f"{suite.library}  {test}\n  {outcome.result}: {outcome.text}")
    print(f"not judged: {unjudged}")
    return int(unjudged > 0)


def _both(suite: Suite, options: argparse.Namespace) -> Compared | None:
    """The suite on the CPU and simulated; what is stored is not run again, unless that is asked for."""
    if not options.stored and suites_of.absent(suite, options.suites):
        print(f"{suite.label} is not in {options.suites}", file=sys.stderr)
        return None
    if options.part:
        parts.run(options.part, lambda part: _pair(suite, options, part), lambda text: print(text, file=sys.stderr))
    pair = parts.together(suite, options.accelerators or 2, options.results) if options.part or options.stored else None
    plain, simulated = pair or _pair(suite, options)
    return compared.compare(plain, simulated) if plain and simulated else None


def _pair(suite: Suite, options: argparse.Namespace, part: str = "") -> tuple[Ran | None, Ran | None]:
    return (
        _ran(suite, None, options, options.again in ("plain", "both"), part),
        _ran(suite, options.accelerators or 2, options, options.again in ("simulated", "both"), part),
    )


def _ran(suite: Suite, accelerators: int | None, options: argparse.Namespace, again: bool, part: str) -> Ran | None:
    results = parts.folder(options.results, part) if part else options.results
    stored = None if again else suites_of.load(suite, accelerators, results)
    if stored or options.stored:
        return stored
    where = "the CPU" if accelerators is None else f"{accelerators} accelerators"
    print(f"{suite.label} on {where} ..", file=sys.stderr)
    return suites_of.run(suite, options.suites, options.python, accelerators, results, ROOT, parts.paths(part))


def _chosen(options: argparse.Namespace) -> list[Suite]:
    found = [suite for suite in SUITES if _is_wanted(suite.library, options)]
    if not found:
        raise CorpusError(f"no suite is called {options.only} (there are: {', '.join(one.library for one in SUITES)})")
    return found


def _is_wanted(name: str, options: argparse.Namespace) -> bool:
    return not options.only or any(part in name for part in options.only.split(","))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    cache = corpus.default_cache() / "programs"
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--python", default=sys.executable, help="interpreter that has torch and the libraries")
    common.add_argument("--only", default="", help="comma-separated parts of names")
    common.add_argument("--accelerators", type=int, help="how many to simulate; default: 2, or what a program names")
    kept = argparse.ArgumentParser(add_help=False)
    kept.add_argument("--suites", type=Path, default=cache / "suites", help="folder of unpacked suites")
    kept.add_argument("--results", type=Path, default=cache / "results", help="outcomes, logs and reports")
    judging = argparse.ArgumentParser(add_help=False)
    judging.add_argument("--verdicts", type=Path, default=HERE / "judged.jsonl", help="what a person found of alarms")
    storing = argparse.ArgumentParser(add_help=False)
    storing.add_argument("--store", action="store_true", help=f"write the results to {RESULTS.name}/")

    running = commands.add_parser("programs", parents=[common, storing])
    running.add_argument("--groups", default=",".join(GROUPS), help="default: %(default)s")
    running.add_argument("--timeout", type=int, default=120, help="seconds for one program")
    running.add_argument("--device", default="", help="in place of simulated accelerators, the real ones of this type")
    running.add_argument("--timed", action="store_true", help="store seconds as well: only if nothing else runs")
    running.set_defaults(run=run_programs)
    fetching = commands.add_parser("fetch", parents=[common, kept])
    fetching.add_argument("--clones", type=Path, default=cache / "clones", help="folder of clones: owner/name")
    fetching.add_argument("--host", default=clones.HOST, help="where to clone from; default: %(default)s")
    fetching.set_defaults(run=fetch)
    testing = commands.add_parser("suites", parents=[common, kept, judging, storing])
    testing.add_argument("--again", choices=["plain", "simulated", "both"], help="although results are stored")
    testing.add_argument("--stored", action="store_true", help="run nothing")
    testing.add_argument(
        "--part",
        action="append",
        default=[],
        metavar="PATH[,PATH]",
        help="in place of the whole suite, and beside the parts that are stored; each is a process of its own",
    )
    testing.set_defaults(run=run_suites)
    hardware = commands.add_parser("real", parents=[common, kept, storing])
    hardware.add_argument("--again", action="store_true", help="although results are stored")
    hardware.add_argument("--stored", action="store_true", help="run nothing")
    hardware.set_defaults(run=run_real)
    asking = commands.add_parser("alarms", parents=[common, kept, judging])
    asking.set_defaults(run=alarms, again=None)
    showing = commands.add_parser("table", parents=[judging])
    page = showing.add_mutually_exclusive_group()
    page.add_argument("--write", type=Path, metavar="PAGE", help="between the markers of a page")
    page.add_argument("--check", type=Path, metavar="PAGE", help="whether it stands there")
    showing.set_defaults(run=show_table)
    return parser


if __name__ == "__main__":
    sys.exit(main())
