"""The device is chosen between CUDA and the CPU, and other accelerators are forgotten.

## What it does
Finds `"cuda" if torch.cuda.is_available() else "cpu"` and the same in statements, in files that know no other
accelerator. It is advice, off unless it is selected. Selected, it also finds two mistakes in such choices: a choice as
the default value of a parameter, and `torch.backends.mps.is_built()` where it should be `is_available()`, which is an
error.

## Why is this bad?
On a Mac, or beside an Intel GPU, the program runs on the CPU without a word, many times slower than it could.

A default value is made when the module is imported, by everybody who imports it: `torch.cuda.is_available()` reads
`CUDA_VISIBLE_DEVICES` then, and a later assignment has no effect.

`is_built()` says how PyTorch was compiled. On a Mac whose system is too old, or that has no such GPU, the choice is
`mps` all the same, and its first use raises

    RuntimeError: The MPS backend is supported on MacOS 13.0+.Current OS version can be queried using `sw_vers`

## Example
```python
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
```

## Use instead
```python
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
```
`torch.accelerator` is there since PyTorch 2.6. For older ones, ask for each kind:
`"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"`.

## Fix safety
The fix asks `torch.accelerator`, which is there since PyTorch 2.6, for a choice between `"cuda"` and `"cpu"` in one
expression, and `is_available()` in place of `is_built()`. It is unsafe: a program may have been tried on CUDA alone,
and not every operation is there on MPS. There is none where `target-torch` is older, and for a choice in the default of
a parameter.

## What it cannot see
Whether the other accelerators are of use: a program with kernels of its own for CUDA has no third choice. Choices by
an option of the user alone (`"cuda" if args.cuda else "cpu"`) are left alone, and so is every file that names another
kind of accelerator.

## References
- [torch.accelerator](https://docs.pytorch.org/docs/stable/accelerator.html)
- built but not available: pytorch/pytorch#78343, pytorch/pytorch#164943, sktime/pytorch-forecasting#1648
- [MPS backend](https://docs.pytorch.org/docs/stable/notes/mps.html): asks `is_available()` first, and `is_built()` only
  to say why it is not
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.events import Branched
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import device_spec, dotted_path, public_path
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.model import Applicability, Fix, Report, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import assignment_of, assignments_in, nodes_in

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A choice that is a default value is made at import, and hiding every GPU after that has no effect."""
import os

import torch

NEEDS = "cuda"
OBSERVES = {"a tensor can be made on a hidden GPU": True}


def flagged(device):
    def build(place="cuda" if torch.cuda.is_available() else "cpu"):
        return torch.zeros(1, device=place)

    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return observe(build)


def repaired(device):
    def build(place=None):
        return torch.zeros(1, device=place or ("cuda" if torch.cuda.is_available() else "cpu"))

    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return observe(build)


def observe(build):
    return {"a tensor can be made on a hidden GPU": build().device.type == "cuda"}
'''


class CudaOnlySelection(Fact, frozen=True):
    """A choice of the device that knows CUDA and the CPU only.

    `form` is ``choice``; ``default``, where the choice is the default value of a parameter, and so is made at import;
    or ``built``, where ``mps.is_built()`` is taken for the question whether a device is there. `text` is the choice.
    `question_at` is what asks, and `cuda_at` what is chosen then, where they can be written as `question` and `chosen`.
    """

    text: str
    form: str
    question_at: Span | None = None
    question: str = ""
    cuda_at: Span | None = None
    chosen: str = ""


_CUDA = regex(r"cuda(?::\d+)?")
_OTHERS = frozenset(
    {"mps", "xpu", "npu", "hpu", "xla", "mtia", "accelerator", "torch_xla", "privateuseone", "musa", "mlu"}
)
"""Words of files that know other accelerators."""
_ASKS = "torch.cuda.is_available"
_BUILT = "torch.backends.mps.is_built"


def _note_branch(event: Branched) -> None:
    if isinstance(event.node, ast.IfExp):
        _note_choice(event.frame, event.state, event.node)
    else:
        _note_arms(event.frame, event.state, event.node)


def _note_choice(frame: Frame, state: State, node: ast.IfExp) -> None:
    """``"cuda" if torch.cuda.is_available() else "cpu"``."""
    _note_built(frame, state, node.test, node.body, node)
    if not _chooses(node.body, node.orelse) or not _asks(frame, state, node.test):
        return
    default = _is_default(frame, node)
    if not default and frame.machine.words & _OTHERS:
        return
    _record(frame, state, node, "default" if default else "choice")


def _note_arms(frame: Frame, state: State, node: ast.If) -> None:
    """``if torch.cuda.is_available(): device = "cuda"``, with ``else: device = "cpu"``, or with that before it."""
    for one in node.body:
        if (assigned := assignment_of(one)) is not None:
            _note_built(frame, state, node.test, assigned.value, one)
    if frame.machine.words & _OTHERS or len(node.body) != 1 or len(node.orelse) > 1:
        return
    name, value = _bound(node.body[0])
    if name is None or value is None:
        return
    other = _bound(node.orelse[0]) if node.orelse else (name, _bound_before(frame, name, node))
    if other[0] == name and other[1] is not None and _chooses(value, other[1]) and _asks(frame, state, node.test):
        _record(frame, state, node.body[0], "choice")


def _bound(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    assigned = assignment_of(statement)
    if assigned is not None and len(assigned.targets) == 1:
        return dotted_path(assigned.targets[0]), assigned.value
    if isinstance(statement, ast.Return) and statement.value is not None:
        return "return", statement.value
    return None, None


def _bound_before(frame: Frame, name: str, node: ast.If) -> ast.expr | None:
    """What the name is bound to before the test, if to one thing."""
    scope = frame.function or frame.machine.tree
    assigned = () if scope is None else assignments_by_path(scope).get(name, ())
    values = [each.value for each in assigned if each.lineno < node.lineno]
    if values or name != "return":
        return values[0] if len(values) == 1 else None
    following = frame.following[:1]
    return following[0].value if following and isinstance(following[0], ast.Return) else None


def _chooses(one: ast.expr, other: ast.expr) -> bool:
    """Whether one side is CUDA and the other the CPU."""
    kinds = {_kind(one), _kind(other)}
    return kinds == {"cuda", "cpu"}


def _kind(node: ast.expr) -> str | None:
    node = device_spec(node)
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        return "cuda" if str(node.values[0].value).startswith("cuda") else None
    text = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(text, str):
        return None
    return "cuda" if _CUDA.fullmatch(text) else text


def _asks(frame: Frame, state: State, test: ast.expr) -> bool:
    """Whether a test asks if CUDA is there, itself or by a name that is bound to that."""
    for each in _parts(test):
        if isinstance(each, ast.Call) and frame.evaluate(each.func, state) == Ref(_ASKS):
            return True
        path = dotted_path(each) if isinstance(each, (ast.Name, ast.Attribute)) else None
        if path is not None and _is_bound_to_question(frame, path):
            return True
    return False


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for each in test.values:
            yield from _parts(each)
    elif isinstance(test, ast.UnaryOp):
        yield from _parts(test.operand)
    else:
        yield test


def _is_bound_to_question(frame: Frame, path: str) -> bool:
    for scope in (frame.function, frame.machine.tree):
        found = [] if scope is None else assignments_in(scope)
        values = [each.value for each in found if dotted_path(each.targets[0]) == path]
        if values:
            calls = [*nodes_in(values[0], ast.Call), *([values[0]] if isinstance(values[0], ast.Call) else ())]
            asks = any(public_path(each.func) == _ASKS for each in calls)
            return len(values) == 1 and asks
    return False


def _is_default(frame: Frame, node: ast.IfExp) -> bool:
    """Whether the choice stands among the default values of a function."""
    tree = frame.machine.tree
    return tree is not None and any(
        node is each or node in nodes_in(each, ast.IfExp)
        for arguments in nodes_in(tree, ast.arguments)
        for each in (*arguments.defaults, *arguments.kw_defaults)
        if each is not None
    )


def _note_built(frame: Frame, state: State, test: ast.expr, chosen: ast.expr, node: ast.AST) -> None:
    """``"mps" if torch.backends.mps.is_built() else ..``: built for it is not the same as there."""
    if _kind(chosen) != "mps":
        return
    calls = [each for each in _parts(test) if isinstance(each, ast.Call)]
    names = {value.name for each in calls if isinstance(value := frame.evaluate(each.func, state), Ref)}
    if _BUILT in names and "torch.backends.mps.is_available" not in names and "torch.mps.is_available" not in names:
        _record(frame, state, node, "built")


def _record(frame: Frame, state: State, node: ast.AST, form: str) -> None:
    machine = frame.machine
    machine.record_anyway(
        ("selection", node),
        lambda: CudaOnlySelection(machine.span_of(node), machine.text_of(node), form, *_rewritten(frame, node, form)),
    )


def _rewritten(frame: Frame, node: ast.AST, form: str) -> tuple[Span | None, str, Span | None, str]:
    """Where the question and the answer stand, and what to write there, if the choice has its simplest form."""
    machine, nothing = frame.machine, (None, "", None, "")
    test = getattr(node, "test", None)
    if not isinstance(node, ast.IfExp) or not isinstance(test, ast.Call):
        return nothing
    torch = spelled(machine.tree, "torch")
    if torch is None:
        return nothing
    if form == "built" and public_path(test.func) == _BUILT:
        return machine.span_of(test), f"{torch}.backends.mps.is_available()", None, ""
    if form != "choice" or public_path(test.func) != _ASKS or _is_older(machine.settings.target_torch):
        return nothing
    arms = (node.body, node.orelse)
    specs = [device_spec(each) for each in arms]
    if [each.value if isinstance(each, ast.Constant) else None for each in specs] != ["cuda", "cpu"]:
        return nothing
    are_texts = {spec is arm for spec, arm in zip(specs, arms, strict=True)}
    if len(are_texts) > 1:
        return nothing
    current = f"{torch}.accelerator.current_accelerator(){'.type' if are_texts == {True} else ''}"
    return machine.span_of(test), f"{torch}.accelerator.is_available()", machine.span_of(node.body), current


def _is_older(release: str | None) -> bool:
    """Whether a project is for releases without ``torch.accelerator``."""
    found = re.match(r"(\d+)\.(\d+)", release or "")
    return found is not None and (int(found[1]), int(found[2])) < (2, 6)


EVENTS = {Branched: _note_branch}


_NEW = 'torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")'


def check(fact: CudaOnlySelection) -> Iterator[Report]:
    if fact.form == "built":
        yield Report(
            span=fact.at,
            message="`torch.backends.mps.is_built()` says how PyTorch was compiled, not whether the device is there",
            symptom="where it is not, RuntimeError: The MPS backend is supported on MacOS 13.0+.",
            help="ask `torch.backends.mps.is_available()`",
            fix=_fix(fact, "ask whether it is available"),
            severity=Severity.ERROR,
        )
    elif fact.form == "default":
        yield Report(
            span=fact.at,
            message=f"the default value {code(fact.text)} is chosen once, when the module is imported",
            symptom="the visible devices are read at import, and setting `CUDA_VISIBLE_DEVICES` later has no effect",
            help="let the default be None, and choose in the function",
        )
    else:
        yield Report(
            span=fact.at,
            message=f"{code(fact.text)} knows CUDA and the CPU only",
            symptom="on other accelerators, such as Apple's or Intel's, the program runs on the CPU without a word",
            help=f"since PyTorch 2.6: `{_NEW}`",
            fix=_fix(fact, "choose whichever accelerator is there"),
        )


def _fix(fact: CudaOnlySelection, message: str) -> Fix | None:
    if fact.question_at is None:
        return None
    chosen = () if fact.cuda_at is None else (replaced(fact.cuda_at, fact.chosen),)
    return fix(Applicability.UNSAFE, message, replaced(fact.question_at, fact.question), *chosen)
