"""Write the agreement of the simulated backend with the truth table into docs/runtime.md, or see that it is there.

    python scripts/truth.py write
    python scripts/truth.py check

Runs every case of the table on the simulated backend, which takes half a minute.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import command
import tables
from corpus import CorpusError

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "runtime.md"


def table() -> str:
    """The table as Markdown, made by the installed torch."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.truth", "table"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CorpusError(f"the table was not made: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("write").set_defaults(run=lambda _: tables.refresh(PAGE, "truth", table()) or 0)
    checked = commands.add_parser("check")
    checked.set_defaults(run=lambda _: tables.check(PAGE, "truth", table(), "python scripts/truth.py write"))
    return command.execute("truth", parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
