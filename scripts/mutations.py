"""Which small mistakes in the code the tests notice: changes drawn by a seed, each with the tests that could see it.

    python scripts/mutations.py --count 30 --seed 1           # quick tests, and slow ones for what survives them
    python scripts/mutations.py --count 30 --seed 1 --list    # what would be tried

A change turns one comparison, drops one `not`, takes `or` for `and`, swaps the arms of a conditional, negates a test or
returns None instead of a value. The tests run on a copy of the repository, which is removed at the end.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = ["tests/test_cases.py", "-k", "not program and not symptoms and not hash_seed"]
TESTS: dict[str, list[list[str]]] = {
    "torchdevlint/flow": [CASES, ["tests/flow"], ["tests/project", "tests/rules", "tests/test_evidence.py"]],
    "torchdevlint/rules": [CASES, ["tests/rules", "tests/test_rules_meta.py", "tests/cli"], ["tests/flow"]],
    "torchdevlint/fix": [["tests/fix", "tests/rules"], CASES, ["tests/cli/test_fixing.py", "tests/test_notebooks.py"]],
    "torchdevlint/suppress": [["tests/test_suppress.py", "tests/fix/test_silence.py"], ["tests/cli", "tests/report"]],
    "torchdevlint/runtime/simulated": [
        ["tests/runtime/simulated"],
        ["tests/runtime/test_agreement_with_the_linter.py", "tests/runtime/test_factories_of_the_linter.py"],
        ["tests/test_cases.py", "-k", "simulated or symptoms"],
        ["tests/test_truth_table.py", "tests/cli/test_run_simulated.py", "tests/programs"],
    ],
}
"""By folder, what could see a change there, the likeliest first; each is run on its own, until one fails."""
TURNS = [
    f"torchdevlint/{name}"
    for name in ("flow", "rules", "runtime/simulated", "flow", "fix", "rules", "flow", "suppress", "rules", "flow")
]
"""The folders from which one change after the other is drawn."""
SECONDS = 900
KEPT = "not network and not compiled"

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A change of the text between two offsets of a module, counted in bytes as `ast` does."""

    path: str
    row: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, text: str) -> str:
        data = text.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.path}:{self.row}: `{self.before}` -> `{self.after}`".replace("\n", " ")


def mutations(path: str, text: str) -> list[Mutation]:
    """All changes of one module, in the order of its text."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, changed in _changes(ast.parse(text)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        before = text.encode()[start:end].decode()
        found.append(Mutation(path, node.lineno, start, end, before, f"({ast.unparse(changed)})"))
    return sorted(found, key=lambda one: (one.start, one.end, one.after))


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions, and what takes the place of each; what only describes (assertions, annotations) stays."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in OPPOSITE:
            yield node, ast.Compare(node.left, [OPPOSITE[type(node.ops[0])](), *node.ops[1:]], node.comparators)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, node.operand
        elif isinstance(node, ast.BoolOp):
            yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        elif isinstance(node, ast.IfExp):
            yield node, ast.IfExp(node.test, node.orelse, node.body)
        elif isinstance(node, ast.If) and isinstance(node.test, (ast.Call, ast.NamedExpr)):
            yield node.test, ast.UnaryOp(ast.Not(), node.test)
        elif isinstance(node, ast.Return):
            match node.value:
                case ast.Constant(value=bool(given)):
                    yield node.value, ast.Constant(not given)
                case ast.Call() | ast.Name() | ast.Attribute():
                    yield node.value, ast.Constant(None)


def drawn(count: int, seed: int) -> list[Mutation]:
    """So many, each of another module."""
    chance = random.Random(seed)
    modules = {folder: sorted((ROOT / folder).rglob("*.py")) for folder in TESTS}
    found: list[Mutation] = []
    while len(found) < count:
        folder = TURNS[len(found) % len(TURNS)]
        path = chance.choice(modules[folder])
        modules[folder].remove(path)
        if possible := mutations(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")):
            found.append(chance.choice(possible))
    return found


def killer(mutation: Mutation, copy: Path, marked: str) -> str | None:
    """The first test that fails with the change, of those that `marked` selects; None if it survives."""
    module = copy / mutation.path
    text = module.read_text(encoding="utf-8")
    module.write_text(mutation.applied(text), encoding="utf-8")
    try:
        plan = next(plan for folder, plan in TESTS.items() if mutation.path.startswith(f"{folder}/"))
        return next(filter(None, (failing(arguments, copy, marked) for arguments in plan)), None)
    finally:
        module.write_text(text, encoding="utf-8")


def failing(arguments: list[str], copy: Path, marked: str) -> str | None:
    """The first test that fails in a run of pytest, or how the run ends otherwise; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", marked, *arguments]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode in (0, 5):  # 5: none is selected
        return None
    failed = (line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return next(failed, "! it does not come to a test").partition(" ")[2].partition(" - ")[0].partition("@")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="only say what would be tried")
    options = parser.parse_args()
    chosen = drawn(options.count, options.seed)
    if options.list:
        print(*chosen, sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache"))
        survived = [one for one in chosen if not noticed(one, copy)]
    print(f"{len(chosen) - len(survived)} of {len(chosen)} are noticed by the quick tests")
    return 1 if survived else 0


def noticed(mutation: Mutation, copy: Path) -> bool:
    """Whether a quick test fails with the change; where none does, says also which slow one does."""
    print(mutation, flush=True)
    quick = killer(mutation, copy, f"{KEPT} and not slow")
    slow = None if quick else killer(mutation, copy, f"{KEPT} and slow")
    print(f"    {quick or (f'only slow: {slow}' if slow else 'survives')}", flush=True)
    return quick is not None


if __name__ == "__main__":
    sys.exit(main())
