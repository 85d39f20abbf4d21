"""Run with a linter of one's choice first on the path.

Without arguments: prints, as JSON, what the linter makes of the programs of the test cases, of files changed out of
them, and of files that are nested more or less deeply. With arguments: runs the command line on them, with an inference
that fails on each ``lambda``.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

from robustness import inputs  # noqa: E402
from robustness.judged import SETTINGS, Sample, examine  # noqa: E402

from torchdevlint import cli, engine  # noqa: E402
from torchdevlint.flow.analyse import TRANSFERS  # noqa: E402
from torchdevlint.flow.state import machine  # noqa: E402

CHANGED, SEED = 60, 7
"""So many changes of each kind are tried."""
CHAIN = 12
"""So many functions call each other in the nested files."""


def judged(sample: Sample) -> tuple[str, tuple[str, ...]]:
    outcome = examine(sample)
    return outcome.digest, outcome.faults


def of_nested(levels: int) -> list[str]:
    """What is found in a file whose functions call each other in expressions that are nested so deeply."""
    signs = "-" * levels
    functions = [f"def f{each}(x):\n    return {signs}f{each + 1}(x) + torch.zeros(3)\n" for each in range(CHAIN)]
    ends = f"def f{CHAIN}(x):\n    return x.cuda()\n\nf0(torch.zeros(3))\n"
    result = engine.check_bytes("".join(["import torch\n", *functions, ends]).encode(), "nested.py", SETTINGS)
    return [*(f"{each.code}:{each.span.row}" for each in result.diagnostics), *map(str, result.problems)]


def tell() -> None:
    snippets = inputs.snippets()
    changed = [each for kind in ("bytes", "trees") for each in inputs.changed(snippets, SEED, range(CHANGED), kind)]
    found = {
        "machine": machine.__file__,
        "snippets": {sample.name: judged(sample) for sample in snippets},
        "changed": {sample.name: judged(sample) for sample in changed},
        "nested": {levels: of_nested(levels) for levels in (1, 60, 240, 300)},
    }
    print(json.dumps(found))


def fail_on_lambdas(arguments: list[str]) -> NoReturn:
    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError("a lambda")

    assert isinstance(TRANSFERS, dict)
    TRANSFERS[ast.Lambda] = fail
    cli.main(arguments)


if __name__ == "__main__":
    fail_on_lambdas(sys.argv[1:]) if sys.argv[1:] else tell()
