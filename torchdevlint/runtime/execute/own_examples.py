"""In a child process: runs what a module shows of its own use, and gives the calls of targets that come of it.

That is the examples of its docstrings, and what it does if it is run as a script. What is printed does not count, and
one that raises ends nothing: what it has called until then was seen.
"""

from __future__ import annotations

import ast
import doctest
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from torchdevlint.runtime.execute.alarm import Alarm
from torchdevlint.runtime.execute.called import Callee
from torchdevlint.runtime.execute.reading import as_script, without_arguments
from torchdevlint.runtime.execute.seen import Seen

SECONDS = 10
"""What one example may take."""
MOST_FAILURES = 3


def calls_of(modules: Sequence[str], targets: Sequence[Callee], root: str) -> dict[str, Any]:
    """The calls that the examples in docstrings of modules make, as `Seen` tells them."""
    seen = Seen(targets, root)
    for name in modules:
        module = sys.modules.get(name)
        if module is None:
            continue
        for steps in _examples(module, name):
            _run(steps, {**vars(module), "__name__": "__main__"}, seen)
    return seen.told()


def calls_of_file(name: str, tree: ast.Module, targets: Sequence[Callee], root: str) -> dict[str, Any]:
    """The calls that a file makes of its own: in docstrings, as a script, and in functions that need no argument.

    Of such functions those count that construct a class of the file, or call a function of it: ``def resnet18()``.
    """
    seen = Seen(targets, root)
    module = sys.modules[name]
    names = {**vars(module), "__name__": "__main__"}
    for steps in _examples(module, name):
        _run(steps, dict(names), seen)
    sys.argv = [name]
    _run([ast.unparse(each) for each in as_script(tree)], dict(names), seen)
    for function in without_arguments(tree):
        _run([f"{function}()"], dict(names), seen)
    return seen.told()


def _examples(module: Any, name: str) -> Iterator[list[str]]:
    """The statements of each docstring that has some, in the order of the names."""
    try:
        found = doctest.DocTestFinder().find(module, name)
    except Exception:  # noqa: BLE001 (objects of the module are looked at, and may raise anything)
        return
    for test in sorted(found, key=lambda test: test.name):
        if test.examples:
            yield [example.source for example in test.examples]


def _run(steps: Sequence[str], names: dict[str, Any], seen: Seen) -> None:
    random.seed(0)
    torch.manual_seed(0)
    failures = 0
    for step in steps:
        try:
            code = compile(step, "<example>", "single")
            with Alarm(SECONDS), seen:
                exec(code, names)  # noqa: S102 (this is what the process is for)
        except BaseException:  # noqa: BLE001 (`sys.exit()` is an answer as well)
            failures += 1
            if failures == MOST_FAILURES:
                return
