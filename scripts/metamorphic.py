"""Programs of the cases, written another way that does the same: what was found is found, what was right is not.

    python scripts/metamorphic.py run [CHANGE ..]     breaks of the given changes, or of all, that are not known
    python scripts/metamorphic.py write [CHANGE ..]   take the breaks that there are of these as known

`--rule TDLnnn` takes the cases of one rule, `--every N` each Nth case, and `--show` prints the programs as well. A
break is known if `scripts/metamorphic/known.jsonl` has it: some are right (what two rounds wrap is wrapped twice), the
others are what is to be mended next. Exit codes: 0, 1 (a break that is not known, or one that is no more), 2 (it did
not work).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import command  # noqa: E402
import jsonl  # noqa: E402
from metamorphic import changes  # noqa: E402
from metamorphic.broken import KNOWN, Break, cases_of_programs, found, known  # noqa: E402

from tests.casefile import Case  # noqa: E402


def run(options: argparse.Namespace) -> int:
    before, news = known(), 0
    seen: set[Break] = set()
    for name, made, broken in found(options.changes or changes.ALL, _cases(options), options.show):
        new = [each for each in broken if each not in before]
        seen.update(broken)
        news += len(new)
        print(f"{name}: {made} programs, {len(broken)} breaks, {len(new)} of them not known")
        for each in new:
            print(f"  {each.kind} {each.codes}: {each.case}")
    whole = options.every == 1 and not options.rule and not options.changes
    gone = sorted(before - seen, key=Break.key) if whole else []
    for each in gone:
        print(f"no break any more: {each.change}: {each.kind} {each.codes}: {each.case}")
    return int(bool(news or gone))


def write(options: argparse.Namespace) -> int:
    names = options.changes or changes.ALL
    broken = {each for _, _, several in found(names, cases_of_programs()) for each in several}
    broken |= {each for each in known() if each.change not in names} if options.changes else set()
    jsonl.write(KNOWN, [each.as_row() for each in sorted(broken, key=Break.key)])
    print(f"{KNOWN.name}: {len(broken)}")
    return 0


def _cases(options: argparse.Namespace) -> list[Case]:
    return [case for case in cases_of_programs() if options.rule in (None, case.rule)][:: options.every]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    running = commands.add_parser("run")
    running.add_argument("--rule")
    running.add_argument("--every", type=int, default=1, metavar="N")
    running.add_argument("--show", action="store_true")
    running.set_defaults(run=run)
    writing = commands.add_parser("write")
    writing.set_defaults(run=write)
    for each in (running, writing):
        each.add_argument("changes", nargs="*", choices=[*changes.ALL, []], metavar="CHANGE")
    return command.execute("metamorphic", parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
