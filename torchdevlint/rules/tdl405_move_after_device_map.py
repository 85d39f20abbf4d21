"""A model that is loaded with a device map, or quantised, is moved or wrapped in `DataParallel`.

## What it does
Finds `.to(device)`, `.cuda()` and `nn.DataParallel(...)` on a model that `from_pretrained` has put on its devices
already: with `device_map="auto"` or a map that names several devices, or with weights of 8 bits.

## Why is this bad?
The library has spread the layers over the GPUs, the memory of the CPU and the disk, and put hooks before them that
bring the inputs there. A move collects all layers on one device while the hooks stay. Where layers were left on the CPU
or the disk, it is refused:

    RuntimeError: You can't move a model that has some modules offloaded to cpu or disk.

A pipeline of `diffusers` refuses every move: "It seems like you have activated a device mapping strategy on the
pipeline which doesn't allow explicit device placement using `to()`." So does a model of 8 bits:

    ValueError: `.to` is not supported for `8-bit` bitsandbytes models. Please use the model as it is, since the model
    has already been set to the correct devices and casted to the correct `dtype`.

`DataParallel` wants all parameters on one GPU and finds some of them elsewhere. If the whole model fits on the first
GPU, all of this goes well, and fails on a machine with smaller or with more GPUs.

## Example
```python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
model.to("cuda")
```

## Use instead
```python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
```
The inputs go to `model.device`. To have the whole model on one device, leave the map out and move it, or say
`device_map={"": "cuda:0"}`.

## Fix safety
The fix takes the move out of an expression that goes on without it. It is unsafe: whether the map or the move is meant,
the code does not say, and the inputs have to go where the model is. There is none for a line that does nothing but
move, and for the wrap.

## What it cannot see
Maps and settings that come from a configuration, models that are loaded in one function and moved in another, models
that are wrapped by `peft` or handed to `Trainer` in between, and models of 4 bits, which recent versions of
bitsandbytes can move. What stands under a test other than for an accelerator is left alone.

## References
- [Big model inference](https://huggingface.co/docs/accelerate/concept_guides/big_model_inference)
- A device map: mlfoundations/rtfm#19, evalplus/evalplus#280, 01-ai/Yi#302
- 8 bits: huggingface/transformers#38717, zai-org/GLM-4-Voice#152
- `DataParallel`: huggingface/accelerate#1300
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.run.moves import to_device
from torchdevlint.flow.run.wrapping import DATA_PARALLEL
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Cls, Const, Library, Map, Ref, Unknown, Value
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import cut_after, fix
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import assignments_in, nodes_in, parts_of_sequence

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = '''
"""A move collects on one GPU what was spread over two."""
import torch

NEEDS = "two"
OBSERVES = {"GPUs": 1}


def spread():
    layers = [torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 4).to("cuda:1")]
    return torch.nn.Sequential(*layers)


def flagged(device):
    model = spread()
    model.to("cuda:0")
    return {"GPUs": len({each.device for each in model.parameters()})}


def repaired(device):
    model = spread()
    return {"GPUs": len({each.device for each in model.parameters()})}
'''


class MovedAfterDispatch(Fact, frozen=True):
    """A model that ``from_pretrained`` has put on its devices is moved, or wrapped in `DataParallel`.

    `method` is what moves it, empty for the wrap; `how` is ``spread`` (a device map over several devices) or
    ``quantised`` (weights of 8 bits), `argument` what says so in the call at `loaded_at`. `model_at` is the model, if
    it can stand alone in place of the move.
    """

    model: str
    method: str
    how: str
    argument: str
    loaded_at: Span
    model_at: Span | None = None


_LIBRARIES = ("transformers.", "diffusers.", "peft.", "optimum.")
_SPREADS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
_TAKES_BACK = frozenset(
    {"remove_hook_from_submodules", "remove_hook_from_module", "reset_device_map", "dispatch_model"}
)


def note_move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``model.to(device)`` and ``model.cuda()``."""
    if not isinstance(node.func, ast.Attribute) or not isinstance(receiver, (Unknown, Library)):
        return
    if node.func.attr == "cuda" or to_device(frame, arguments) is not None:
        _note(frame, state, node, node.func.value)


def note_wrap(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``DataParallel(model)``."""
    if node.args and isinstance(arguments.value(0, "module"), (Unknown, Library)):
        _note(frame, state, node, node.args[0])


def _note(frame: Frame, state: State, node: ast.Call, model: ast.expr) -> None:
    machine = frame.machine
    if "from_pretrained" not in machine.words:
        return
    load = _load_of(frame, node, model)
    how = _dispatch(frame, state, load) if load is not None and not machine.words & _TAKES_BACK else None
    if load is None or how is None:
        return
    method = node.func.attr if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS else ""
    machine.record(
        (node, "dispatched"),
        lambda: MovedAfterDispatch(
            machine.span_of(node),
            machine.text_of(model),
            method,
            how[0],
            how[1],
            machine.span_of(load),
            machine.span_of(model) if method and _is_part(frame, node, model) else None,
        ),
        state,
    )


def _is_part(frame: Frame, move: ast.Call, model: ast.expr) -> bool:
    """Whether a move is a part of a statement that still does something without it."""
    scope, path = frame.function or frame.machine.tree, dotted_path(model)
    alone = any(each.value is move for each in nodes_in(scope, ast.Expr))
    back = (each.targets for each in assignments_in(scope) if each.value is move)
    return not alone and not any(path is not None and path == dotted_path(one) for each in back for one in each)


def _load_of(frame: Frame, node: ast.Call, model: ast.expr) -> ast.Call | None:
    """The call of ``from_pretrained`` whose model is moved: in place, or by the last assignment, on the same path."""
    path = dotted_path(model)
    if path is None:
        return _load_in(model)
    scope = frame.function or frame.machine.tree
    before = [
        assign
        for assign in assignments_in(scope)
        if assign.lineno < node.lineno and any(_binds(target, path) for target in assign.targets)
    ]
    if not before:
        return None
    last = max(before, key=lambda each: each.lineno)
    tests = [test for kind in (ast.If, ast.IfExp) for test in nodes_in(scope, kind)]
    for test in tests:
        if _is_within(test, last.node) and not _is_same_arm(test, last.node, node):
            return None
        if _is_within(test, node) and not _is_within(test, last.node) and not _asks_for_accelerator(test):
            return None
    return _load_in(last.value)


def _binds(target: ast.expr, path: str) -> bool:
    parts = parts_of_sequence(target)
    return any(dotted_path(each) == path for each in parts)


def _load_in(node: ast.expr) -> ast.Call | None:
    """The call of ``from_pretrained`` that an expression is, with or without ``.eval()`` behind it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "from_pretrained":
            return node
        if node.func.attr not in ("eval", "train", "requires_grad_"):
            return None
        node = node.func.value
    return None


def _is_within(outer: Any, inner: ast.AST) -> bool:
    line: int = inner.lineno  # type: ignore[attr-defined]
    return bool(outer.lineno <= line <= outer.end_lineno)


def _is_same_arm(test: Any, one: ast.AST, other: ast.AST) -> bool:
    arms = [test.body, test.orelse] if isinstance(test, ast.If) else [[test.body], [test.orelse]]
    return any(all(any(_is_within(part, each) for part in arm) for each in (one, other)) for arm in arms)


def _asks_for_accelerator(test: Any) -> bool:
    return "is_available" in ast.unparse(test.test)


def _dispatch(frame: Frame, state: State, load: ast.Call) -> tuple[str, str] | None:
    """How a model is put on its devices as it is loaded: ``spread`` or ``quantised``, and the argument that says so."""
    if not isinstance(load.func, ast.Attribute) or not _is_of_library(frame.evaluate(load.func.value, state)):
        return None
    for keyword in load.keywords:
        value = frame.evaluate(keyword.value, state)
        text = f"{keyword.arg}={ast.unparse(keyword.value)}"
        if keyword.arg == "load_in_8bit" and value == Const(True):
            return "quantised", text
        if keyword.arg == "quantization_config" and _is_8bit(frame, keyword.value):
            return "quantised", text
    for keyword in load.keywords:
        if keyword.arg == "device_map" and _spreads(frame.evaluate(keyword.value, state)):
            return "spread", f"{keyword.arg}={ast.unparse(keyword.value)}"
    return None


def _is_of_library(value: Value) -> bool:
    if isinstance(value, Cls):
        return any(name.startswith(_LIBRARIES) for name in value.info.library_bases)
    return isinstance(value, Ref) and value.name.startswith(_LIBRARIES)


def _spreads(value: Value) -> bool:
    """Whether a device map names several devices, or leaves the choice to the library."""
    if isinstance(value, Const):
        return value.value in _SPREADS
    return isinstance(value, Map) and value.closed and len({each for _, each in value.items}) > 1


def _is_8bit(frame: Frame, node: ast.expr) -> bool:
    """``BitsAndBytesConfig(load_in_8bit=True)``, here or under a name that is bound once."""
    if isinstance(node, ast.Name):
        scope = frame.function or frame.machine.tree
        bound = [each.value for each in assignments_in(scope) if any(_binds(t, node.id) for t in each.targets)]
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and _is_8bit(frame, bound[0])
    if not isinstance(node, ast.Call) or (dotted_path(node.func) or "").rpartition(".")[2] != "BitsAndBytesConfig":
        return False
    return any(
        keyword.arg == "load_in_8bit" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in node.keywords
    )


METHODS = {"to": note_move, "cuda": note_move}
FUNCTIONS = dict.fromkeys(DATA_PARALLEL, note_wrap)


def check(fact: MovedAfterDispatch) -> Iterator[Report]:
    wrap = not fact.method
    what = "wrapped in `DataParallel`" if wrap else f"moved by `.{fact.method}()`"
    state = "spread over devices" if fact.how == "spread" else "quantised, and on its device,"
    yield Report(
        span=fact.at,
        message=f"a model that `{fact.argument}` has {state} is {what}",
        symptom=_symptom(fact),
        help=_help(fact),
        notes=(Note(f"loaded with {code(fact.argument)} here", fact.loaded_at),),
        fix=_fix(fact),
    )


def _fix(fact: MovedAfterDispatch) -> Fix | None:
    if fact.model_at is None or fact.model_at.end_row != fact.at.end_row:
        return None
    return fix(Applicability.UNSAFE, "leave the model where it was loaded", cut_after(fact.model_at, fact.at))


def _symptom(fact: MovedAfterDispatch) -> str:
    if not fact.method:
        return "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0])"
    if fact.how == "quantised":
        return "ValueError: the method is not supported for `8-bit` bitsandbytes models"
    return (
        "RuntimeError: You can't move a model that has some modules offloaded to cpu or disk., or silently all layers "
        "on one device"
    )


def _help(fact: MovedAfterDispatch) -> str:
    if not fact.method:
        return "load the model without a map to copy it to every GPU, or leave it as the map has spread it"
    return "leave the model where it was loaded, and move the inputs to `model.device`"
