"""Prove that safe fixes are safe: apply all of them to real code, and look at what comes out.

    python scripts/fixes.py prove PATH ..           files and folders, such as those of a draw
    python scripts/fixes.py prove --set gating      pinned releases (--release NAME[==VERSION] ..)
    python scripts/fixes.py prove --cases           the programs of the case files

Nothing is written to what is given: the fixes are applied in memory, and what is run is a copy in a temporary folder.
Each file must still be parsed, have no name that is undefined and was not so before (pyflakes), show no finding that
was not there, and be left alone by a second run. With `--execute`, each function with a fix that `torchdevlint verify`
can call is called before and after, where accelerators are the CPU, and must give the same. `--diff` prints what was
changed. Exit codes: 0, 1 (a fix is wrong), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import command  # noqa: E402
import corpus  # noqa: E402
from fixes import executed  # noqa: E402
from fixes.proof import Proof, prove  # noqa: E402

from torchdevlint.fix.changes import Change  # noqa: E402
from torchdevlint.model import Diagnostic  # noqa: E402
from torchdevlint.source.gate import may_hold_findings  # noqa: E402
from torchdevlint.source.text import decode  # noqa: E402

ENDINGS = (".py", ".ipynb")


def run(options: argparse.Namespace) -> int:
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for root in _roots(options, Path(scratch)):
            for path in _files(root):
                for proof in _proofs(root, path):
                    counts += Counter(each.code for each in proof.fixed)
                    counts["files"] += 1
                    faults += [f"{path}: {fault}" for fault in proof.faults]
                    if options.diff:
                        print(Change(str(path), proof.old, proof.new, Counter()).diff())
                    if options.execute and path.suffix == ".py":
                        faults += _executed(root, path, proof, counts)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "nothing to fix")
    for fault in faults:
        print(fault)
    return bool(faults)


def _roots(options: argparse.Namespace, scratch: Path) -> Iterator[Path]:
    yield from options.path
    if options.cases:
        from tests.casefile import read_cases

        for case in read_cases():
            scratch.joinpath(f"{case.slug.replace('-', '_')}.py").write_text(case.code, encoding="utf-8")
        yield scratch
    if options.release or options.set:
        releases = corpus.select(corpus.load(HERE / "ecosystem"), options.release, options.set or "all")
        yield from (corpus.folder(each, options.cache) for each in releases)


def _files(root: Path) -> list[Path]:
    return [root] if root.is_file() else sorted(each for each in root.rglob("*") if each.suffix in ENDINGS)


def _proofs(root: Path, path: Path) -> Iterator[Proof]:
    """What fixing gives, with the folder as the project that the file is one of."""
    try:
        data = path.read_bytes()
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return
    here = Path.cwd()
    os.chdir(root if root.is_dir() else root.parent)
    try:
        proof = prove(data, str(path)) if path.suffix != ".py" or may_hold_findings(data) else None
    finally:
        os.chdir(here)
    if proof is not None:
        yield proof


def _executed(root: Path, path: Path, proof: Proof, counts: Counter[str]) -> Iterator[str]:
    """Run each function with a fix, in a copy of the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        base = root if root.is_dir() else root.parent
        copy = Path(shutil.copytree(base, Path(scratch, base.name)))
        target = copy / path.relative_to(base)
        for each in proof.fixed:
            done = executed.compare(target, decode(proof.new), _finding(target, each))
            counts["not executed" if done.same is None else "executed"] += 1
            if done.same is False:
                yield f"{path}:{each.span.row}: {each.code} changes what is computed: {done.why}"


def _finding(path: Path, diagnostic: Diagnostic) -> dict[str, Any]:
    span = diagnostic.span
    at = [span.row, span.column, span.end_row, span.end_column]
    told = {"notes": [], "silent": False, "claims": [], "on_cpu": False}
    return {"path": str(path), "code": diagnostic.code, "at": at, **told}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("prove")
    one.set_defaults(run=run)
    one.add_argument("path", nargs="*", type=Path)
    one.add_argument("--cases", action="store_true")
    one.add_argument("--set", choices=[*corpus.SETS, "all"])
    one.add_argument("--release", action="append", default=[], metavar="NAME[==VERSION]")
    one.add_argument("--cache", type=Path, default=corpus.default_cache())
    one.add_argument("--execute", action="store_true")
    one.add_argument("--diff", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(command.execute("fixes", _parser().parse_args()))
