"""The cache of the allocator is emptied in every round of a loop.

## What it does
Finds `torch.cuda.empty_cache()`, and its kin for other accelerators, in an innermost loop, where every round calls it.

## Why is this bad?
`empty_cache` waits for the accelerator and gives the memory that no tensor holds back to the driver. PyTorch could have
used that memory again at once; now the next round has to ask the driver for it, which takes a thousand times as long.
No tensor is freed by it, so it does not help against running out of memory.

## Example
```python
def evaluate(model: nn.Module, loader, device):
    for x, y in loader:
        model(x.to(device))
        torch.cuda.empty_cache()
```

## Use instead
```python
def evaluate(model: nn.Module, loader, device):
    with torch.inference_mode():
        for x, y in loader:
            model(x.to(device))
```

## Fix safety
There is no fix: why the memory ran out, it does not tell.

## What it cannot see
A function that empties the cache and is called in a loop. It is silent under an `if`, which may be true once in a
thousand rounds, in an `except`, and in a loop that has another one inside, such as one over epochs.

## References
- [torch.cuda.empty_cache](https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html)
- [Memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.rule_api import Arguments, Fact, Frame, Note, Report, Severity, Span, State, Value, nodes_in

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = None

_Loop = ast.For | ast.AsyncFor | ast.While
_SKIPPED = (ast.If, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.AsyncFor, ast.While)


class EmptiedInLoop(Fact, frozen=True):
    """The call `text` at `at` runs in every round of the loop that starts at `loop_at`."""

    text: str
    loop_at: Span


def _note_emptied(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.cuda.empty_cache()`` was called."""
    machine = frame.machine
    loops = _loops_in(frame.function or machine.tree)
    around = next((loop for loop in loops if not _has_loop(loop) and _runs_each_round(loop.body, node)), None)
    if around is not None:
        machine.record(
            ("emptied in loop", node),
            lambda: EmptiedInLoop(machine.span_of(node), machine.text_of(node), machine.span_of(around)),
            state,
        )


def _loops_in(node: ast.AST) -> list[_Loop]:
    return [*nodes_in(node, ast.For), *nodes_in(node, ast.AsyncFor), *nodes_in(node, ast.While)]


def _has_loop(loop: _Loop) -> bool:
    return any(inner is not loop for inner in _loops_in(loop))


def _runs_each_round(body: list[ast.stmt], node: ast.Call) -> bool:
    """Whether a call stands in these statements under no condition; those of a ``with`` count as these do."""
    for statement in body:
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            if _runs_each_round(statement.body, node):
                return True
        elif not isinstance(statement, _SKIPPED) and any(each is node for each in nodes_in(statement, ast.Call)):
            return True
    return False


FUNCTIONS = {f"torch.{kind}.empty_cache": _note_emptied for kind in ("accelerator", "cuda", "mps", "xpu")}


def check(fact: EmptiedInLoop) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"`{fact.text}` in every round of a loop",
        symptom="every round waits for the accelerator, and asks the driver for memory that PyTorch had",
        help="leave it out; to run in less memory, use smaller batches, or inference without gradients",
        notes=(Note("the loop", fact.loop_at),),
    )
