"""Time torchdevlint beside other linters on the same code in one run, and write the page that says how fast it is.

    python benchmarks/run.py --write docs/performance.md     all of it: five releases from the package index
    python benchmarks/run.py --quick                         on accelerate alone
    python benchmarks/run.py --peers torchfix,ruff src/ timm==1.0.9
    python benchmarks/run.py --peers '' --compiled ../compiled/bin/python accelerate==1.0.1    pure and compiled

Every tool is started as a user would start it, in a process of its own. Rounds alternate between the tools, so that a
busy machine slows all of them, and the median round counts. Time and memory are those of the whole process with its
children: wall and CPU seconds, and the peak size of the largest process. Cached sources of releases are only read;
what has to be changed is a copy. Exit codes: 0, 2 (it did not work).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]

import corpus  # noqa: E402
import tables  # noqa: E402
from corpus import CorpusError  # noqa: E402
from linting import report, scenarios  # noqa: E402
from linting import tools as linters  # noqa: E402
from linting.timing import Pace  # noqa: E402

QUICK_TARGETS = ["accelerate==1.0.1"]
TARGETS = [*QUICK_TARGETS, "timm==1.0.9", "torch_geometric==2.6.1", "diffusers==0.30.3", "transformers==4.46.3"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    pace = Pace(options.rounds, options.patience)
    try:
        tools = linters.chosen(options.peers, options.python, options.compiled)
        names = options.targets or (QUICK_TARGETS if options.quick else TARGETS)
        targets = [linters.target(name, options.cache) for name in names]
        versions = {tool.name: linters.version(tool) for tool in tools}
        measured = scenarios.measure_all(targets, tools, pace, options.full)
        print(report.terminal(measured, versions, pace))
        if options.write:
            plot = options.write.with_suffix(".svg")
            plot.write_text(report.chart(measured), encoding="utf-8")
            tables.refresh(options.write, "benchmark", report.markdown(measured, versions, pace, plot.name))
    except (CorpusError, OSError) as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("targets", nargs="*", metavar="TARGET", help=f"paths or pinned releases; default: {', '.join(TARGETS)}")
    add("--quick", action="store_true", help=f"by default {', '.join(QUICK_TARGETS)} only")
    add("--full", action="store_true", help="give large targets to slow peers too, which takes an hour")
    add("--peers", default=",".join(linters.PEERS), help="comma-separated, or ''; default: %(default)s")
    add("--python", default=sys.executable, help="interpreter that has torchfix and torch-preflight; default: this one")
    add("--compiled", metavar="PYTHON", help="also time the linter that this interpreter has from a compiled wheel")
    add("--rounds", type=int, default=3, help="measured rounds for each tool; default: %(default)s")
    add("--patience", type=float, default=10, metavar="SECONDS", help="what takes longer is run once; default: 10")
    add("--cache", type=Path, default=corpus.default_cache(), help="where pinned releases are kept")
    add("--write", type=Path, metavar="PAGE", help="also replace the benchmark section of PAGE, and the plot beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
