"""Bugs that were found in releases of public projects: each has a script that shows it, and this executes the scripts.

    python benchmarks/found/run.py execute                 every script, on the CPU and on simulated accelerators
    python benchmarks/found/run.py execute --only pyro --device cuda     on a GPU in place of simulated accelerators
    python benchmarks/found/run.py execute --store         write what happened to executed.jsonl, of a GPU to real.jsonl
    python benchmarks/found/run.py page --write docs/found.md     or --check: from found.jsonl, executed.jsonl, scripts/
    python benchmarks/found/run.py hunted --add NAME REPORT.json  a hunt's JSON report, to hunted.jsonl
    python benchmarks/found/run.py hunted --write docs/hunt.md    or --check: from hunted.jsonl

A script shows its bug if it ends well with the argument `cpu`, and with a device error, or with the error that its
record names, on an accelerator. The libraries have to be installed (`pip install --no-deps` is enough for most);
--python is the interpreter that has them. A script whose library is absent or has another version is told apart.
Exit codes: 0, 1 (a script did not show its bug, or the page is stale), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]

import command  # noqa: E402
import hunted  # noqa: E402
import shown  # noqa: E402
import tables  # noqa: E402
from trophies import EXECUTED, REAL, load_executed, load_found, page, store  # noqa: E402

SIMULATED = 2
"""How many accelerators `torchdevlint run` simulates unless it is told."""


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("found", _parser().parse_args(arguments))


def execute(options: argparse.Namespace) -> int:
    wanted = options.only.split(",")
    chosen = [one for one in load_found(HERE) if any(part in one.script for part in wanted)]
    gpu, there = shown.accelerators(options.python) if options.device else ("", SIMULATED)
    for one in chosen:
        if one.accelerators > there:
            print(f"{one.script}: needs {one.accelerators} accelerators")
    chosen = [one for one in chosen if one.accelerators <= there]
    with ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda one: shown.show(one, HERE, options.python, options.device), chosen))
    for one in done:
        print(f"{one.script}: {one.outcome}: {one.error}")
    if options.store:
        store(HERE, [replace(one, gpu=gpu) for one in done], REAL if gpu else EXECUTED)
    counts = {outcome: sum(one.outcome == outcome for one in done) for outcome in shown.OUTCOMES}
    print(", ".join(f"{outcome}: {count}" for outcome, count in counts.items()))
    return int(any(one.outcome in shown.BAD for one in done))


def write(options: argparse.Namespace) -> int:
    executed = load_executed(HERE), load_executed(HERE, REAL)
    return _into_page(options, "found", "page", page(load_found(HERE), *executed, HERE))


def hunts(options: argparse.Namespace) -> int:
    if options.add:
        package, report = options.add
        installed = version(package)
        hunted.add(HERE, hunted.row_of(package, installed, Path(report), options.seconds, options.tests))
        return 0
    return _into_page(options, "hunted", "hunted", hunted.page(hunted.load(HERE)))


def _into_page(options: argparse.Namespace, block: str, name: str, text: str) -> int:
    """Compare `text` with the block of a page, write it there, or print it; `name` is the command that writes it."""
    if options.check:
        return tables.check(
            options.check, block, text, f"python benchmarks/found/run.py {name} --write {options.check}"
        )
    if options.write:
        tables.refresh(options.write, block, text)
    else:
        print(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    running = commands.add_parser("execute")
    running.add_argument("--python", default=sys.executable, help="interpreter that has the libraries and torchdevlint")
    running.add_argument("--only", default="", help="comma-separated parts of the scripts' names")
    running.add_argument("--device", default="", help="a real one, such as cuda; default: simulated")
    running.add_argument("--jobs", type=int, default=1, help="how many are executed at a time; default: 1")
    running.add_argument("--store", action="store_true", help="write what happened to executed.jsonl, or real.jsonl")
    running.set_defaults(run=execute)
    hunting = commands.add_parser("hunted")
    what = hunting.add_mutually_exclusive_group()
    what.add_argument("--add", nargs=2, metavar=("PACKAGE", "REPORT"), help="what the JSON report of a hunt says")
    what.add_argument("--write", type=Path, metavar="PAGE", help="between the markers of a page")
    what.add_argument("--check", type=Path, metavar="PAGE", help="whether it stands there")
    hunting.add_argument("--seconds", type=int, default=0, help="with --add: what the hunt took of the CPU")
    hunting.add_argument(
        "--tests", action="store_true", help="with --add: it had a command that runs the project's tests"
    )
    hunting.set_defaults(run=hunts)
    writing = commands.add_parser("page")
    where = writing.add_mutually_exclusive_group()
    where.add_argument("--write", type=Path, metavar="PAGE", help="between the markers of a page")
    where.add_argument("--check", type=Path, metavar="PAGE", help="whether it stands there")
    writing.set_defaults(run=write)
    return parser


if __name__ == "__main__":
    sys.exit(main())
