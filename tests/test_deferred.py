"""Modules that are executed when their functions are first called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.casefile import sampled
from tests.conftest import python

OF_EACH_RULE = 4
ALL = 10_000

DEFERRED = """
import sys
from torchdevlint.deferred import defer, execute_all
defer()
"""

NO_ROOM = """
from torchdevlint.flow.checks.loads import telling_names
from torchdevlint.flow.checks.loads.telling_names import is_for_cpu

before = sys.getrecursionlimit()
sys.setrecursionlimit(8)
try:
    is_for_cpu("net_cpu.pt")
except RecursionError:
    sys.setrecursionlimit(before)
    print("refused", "__later__" in vars(telling_names))
print(is_for_cpu("net_cpu.pt"), "__later__" in vars(telling_names))
"""

SEEN = """
from torchdevlint.flow.checks.loads import telling_names
from torchdevlint.flow.checks.loads.telling_names import is_for_cpu

assert "__later__" in vars(telling_names)
assert not hasattr(telling_names, "no_such_name")
assert "__later__" not in vars(telling_names)
assert is_for_cpu is telling_names.is_for_cpu and is_for_cpu.__doc__ and is_for_cpu.__kwdefaults__ is None
assert (is_for_cpu.__module__, is_for_cpu.__qualname__) == (telling_names.__name__, "is_for_cpu")
assert telling_names.__doc__ and telling_names.__file__.endswith("telling_names.py")
execute_all()
assert not any("__later__" in getattr(each, "__dict__", {}) for each in sys.modules.values())
assert not execute_all()
print("seen")
"""


WAITING = """
try:
    main(["check", "--isolated", "--no-cache", "linted.py"])
except SystemExit:
    print([name for name, each in sys.modules.items() if "__later__" in getattr(each, "__dict__", {})])
"""


@pytest.mark.parametrize("most", [OF_EACH_RULE, pytest.param(ALL, marks=pytest.mark.slow)])
def test_the_findings_are_the_same(most: int) -> None:
    """All in one process each: what the first cases execute, the next ones find executed."""
    code = f"{DEFERRED}\nfrom tests.casefile import main\nmain()"
    runs = [python(*how, str(most)) for how in (("-c", code), ("-m", "tests.casefile"))]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    deferred, eager = (json.loads(run.stdout) for run in runs)
    assert deferred.keys() == {case.id for case in sampled(most)}
    assert {name: found for name, found in deferred.items() if found != eager[name]} == {}


def test_a_module_looks_as_if_it_had_been_executed() -> None:
    done = python("-c", DEFERRED + SEEN)
    assert done.stdout == "seen\n", done.stderr


def test_a_module_that_could_not_be_executed_is_executed_the_next_time() -> None:
    """Such as for want of stack: see `torchdevlint.flow.observers.Observers.import_all`."""
    done = python("-c", DEFERRED + NO_ROOM)
    assert done.stdout == "refused True\nTrue False\n", done.stdout + done.stderr


def test_a_small_file_executes_little(tmp_path: Path) -> None:
    """What is imported for functions that no code of the file calls for waits."""
    (tmp_path / "linted.py").write_text("import torch\n\nmask = torch.ones(4)\n")
    code = f"{DEFERRED}\nfrom torchdevlint.cli import main\n{WAITING}"
    waiting = python("-c", code, cwd=tmp_path).stdout
    assert waiting.count("torchdevlint.flow.kinds.") > 10, waiting
