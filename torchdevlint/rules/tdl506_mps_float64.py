"""A tensor of float64 goes to Apple's GPU, which has no such type.

## What it does
Finds a tensor that is known to be float64, such as one that NumPy's numbers were made into, where it is moved to `mps`
or to a device that was chosen with `mps` among the choices; likewise a factory with `dtype=torch.float64` on such a
device. It is advice, off unless it is selected.

## Why is this bad?
The move itself raises on a Mac, though a cast follows it:

    TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use
    float32 instead.

## Example
```python
import numpy as np

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
x = torch.from_numpy(np.random.randn(8, 4)).to(device).float()
```

## Use instead
```python
import numpy as np

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
x = torch.from_numpy(np.random.randn(8, 4)).float().to(device)
```
This order also moves half as many bytes, on every accelerator.

## Fix safety
Where a cast follows the move in the same expression, the fix exchanges the two, which changes no number. Elsewhere
there is none: whether float32 will do the code does not say.

## What it cannot see
The type of arrays that come from files, arguments or other functions. Code that asks for MPS or for the type first, and
files that do not name MPS, are left alone.

## References
- pytorch/pytorch#122602, where this is called a known limitation
- thu-ml/tianshou#1237, chemprop/chemprop#711; Maratyszcza/PeachPy#122, where the cast followed
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref, Tensor, Value
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import assignments_in, keyword_of, nodes_in

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = None


class DoubleOnMps(Fact, frozen=True):
    """A tensor of float64 that goes to, or is made on, Apple's GPU, which has no such type.

    `device` is the text of the device, `surely` whether it is MPS on every machine, `why` says with its place why the
    tensor is float64, and `cast_after` is the conversion that follows the move, if one does; `move` is the move as it
    is written behind what is at `moved_at`, and `cast_at` all of it with the conversion, where both can change places.
    """

    device: str
    surely: bool
    why: str
    why_at: Span
    cast_after: str | None
    move: str = ""
    moved_at: Span | None = None
    cast_at: Span | None = None


_DOUBLES = ("torch.float64", "torch.double")
_OF_NUMPY = frozenset(
    f"numpy.{name}"
    for name in "zeros ones empty eye linspace logspace identity random.rand random.randn random.random random.normal "
    "random.uniform random.random_sample random.standard_normal".split()
)
"""Functions that give float64 if they are not told otherwise."""
_KEEPS = frozenset("view reshape unsqueeze squeeze expand permute transpose t flatten contiguous clone detach".split())
_TAKES_DATA = frozenset({"torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.asarray"})

_SAYS_NO_PLACE = frozenset({"dtype", "copy", "non_blocking", "memory_format"})
"""Keywords of a conversion that say nothing of a device."""

Why = tuple[str, ast.AST]


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    machine, callee = frame.machine, node.func
    if "mps" not in machine.words or not isinstance(callee, ast.Attribute):
        return
    if callee.attr == "mps":
        device: tuple[str, bool] | None = (".mps()", True)
    else:
        given = arguments.keywords.get("device") or next(iter(arguments.positional), None)
        device = None if given is None else _maybe_mps(frame, given[0])
    if device is None or not isinstance(receiver, Tensor) or len(arguments.pairs) > 1 + _counts(arguments):
        return
    why = _double(frame, state, callee.value)
    if why is not None:
        _record(frame, state, node, device, why, _cast_after(frame, node), callee.value)


def _counts(arguments: Arguments) -> int:
    """How many arguments say nothing about the type: then a cast comes with the move."""
    return len({"non_blocking", "copy", "memory_format"} & arguments.keywords.keys())


def _make(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    machine = frame.machine
    if "mps" not in machine.words or "device" not in arguments.keywords:
        return
    device = _maybe_mps(frame, arguments.keywords["device"][0])
    why = None if device is None else _double(frame, state, node)
    if device is not None and why is not None:
        _record(frame, state, node, device, why, None)


def _record(
    frame: Frame,
    state: State,
    node: ast.Call,
    device: tuple[str, bool],
    why: Why,
    cast: ast.Call | None,
    moved: ast.expr | None = None,
) -> None:
    machine = frame.machine
    if any("mps" in key or "float64" in key or "double" in key for key, _ in state.conditions):
        return
    machine.record(
        ("double", node),
        lambda: _fact(frame, node, device, why, cast, moved),
        state,
    )


def _fact(
    frame: Frame, node: ast.Call, device: tuple[str, bool], why: Why, cast: ast.Call | None, moved: ast.expr | None
) -> DoubleOnMps:
    text, span = frame.machine.text_of, frame.machine.span_of
    fact = DoubleOnMps(span(node), *device, why[0], span(why[1]), None)
    if cast is None or moved is None or not text(cast).startswith(text(node)):
        return fact
    if text(cast).lstrip("bBfFrRuU").startswith(('"', "'")):
        return fact  # all that is known of the place is that of an f-string
    fact = replace(fact, cast_after=text(cast)[len(text(node)) :].strip())
    if not text(node).startswith(text(moved)):
        return fact
    return replace(fact, move=text(node)[len(text(moved)) :], moved_at=span(moved), cast_at=span(cast))


def _maybe_mps(frame: Frame, node: ast.expr) -> tuple[str, bool] | None:
    """The text of a device that is MPS, or that is chosen with MPS among the choices, and whether it surely is."""
    path = dotted_path(node)
    value = node if path is None else _bound(frame, path)
    if value is None or _is_no_device(value):
        return None
    named = [each.value for each in (*nodes_in(value, ast.Constant), value) if isinstance(each, ast.Constant)]
    if "mps" not in named:
        return None
    return frame.machine.text_of(node), not nodes_in(value, ast.IfExp) and not isinstance(value, ast.IfExp)


def _is_no_device(value: ast.expr) -> bool:
    """A container, or a test, that holds the text."""
    return isinstance(value, (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Compare))


def _bound(frame: Frame, path: str) -> ast.expr | None:
    """What the only assignment to a name binds it to."""
    scopes = (frame.owner.node,) if path.startswith("self.") and frame.owner is not None else ()
    for scope in (*scopes, frame.function, frame.machine.tree):
        found = [] if scope is None else assignments_in(scope)
        values = [each.value for each in found if dotted_path(each.targets[0]) == path]
        if values:
            return values[0] if len(values) == 1 else None
    return None


def _double(frame: Frame, state: State, node: ast.expr, depth: int = 0) -> Why | None:
    """Why an expression is a tensor or array of float64; None if it is not, or nobody knows."""
    if isinstance(node, ast.Name) and depth < 2:
        bound = _bound(frame, node.id)
        return None if bound is None else _double(frame, state, bound, depth + 1)
    if not isinstance(node, ast.Call):
        return None
    callee = frame.evaluate(node.func, state)
    name = callee.name if isinstance(callee, Ref) else ""
    dtype = keyword_of(node, "dtype")
    if dtype is not None:
        said = frame.evaluate(dtype, state)
        doubles = public_path(dtype) in _DOUBLES or said == Ref("numpy.float64")
        return ("its type is said to be float64 here", dtype) if doubles and name else None
    if name in _OF_NUMPY:
        return "NumPy's numbers are float64", node
    if name in _TAKES_DATA and node.args:
        return _double(frame, state, node.args[0], depth)
    if name == "torch.DoubleTensor":
        return "it is made as float64 here", node
    if name or not isinstance(node.func, ast.Attribute):
        return None
    method = node.func.attr
    if method == "double" and not node.args:
        return "it is made float64 here", node
    if method in ("to", "type", "astype") and len(node.args) == 1 and public_path(node.args[0]) in _DOUBLES:
        return "it is made float64 here", node
    return _double(frame, state, node.func.value, depth) if method in _KEEPS else None


def _cast_after(frame: Frame, node: ast.Call) -> ast.Call | None:
    """The conversion that a chain does after the move: ``.float()``."""
    scope = frame.function or frame.machine.tree
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.value is node:
            types = {public_path(each) for each in call.args}
            if {each.arg for each in call.keywords} - _SAYS_NO_PLACE or len(call.args) > 1:
                continue
            casts = call.func.attr in torch_api.DTYPE_METHODS - {"double"} or "torch.float32" in types
            if casts and call.func.attr in torch_api.DTYPE_METHODS | {"to", "type"}:
                return call
    return None


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(("to", "mps"), _move)
FUNCTIONS: dict[str, Callable[..., None]] = {f"torch.{name}": _make for name in sorted(torch_api.FACTORIES)}


def check(fact: DoubleOnMps) -> Iterator[Report]:
    which = "Apple's GPU" if fact.surely else "a device that may be Apple's GPU"
    yield Report(
        span=fact.at,
        message=f"float64 goes to {code(fact.device)}, {which}, which has no such type",
        symptom=(
            "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
            "Please use float32 instead."
        ),
        help=f"put {code(fact.cast_after)} before the move"
        if fact.cast_after
        else "use float32, or cast before the move",
        notes=(Note(fact.why, fact.why_at),),
        fix=_fix(fact),
    )


def _fix(fact: DoubleOnMps) -> Fix | None:
    start, end = fact.moved_at, fact.cast_at
    if start is None or end is None or fact.cast_after is None:
        return None
    both = Span(start.end_row, start.end_column, end.end_row, end.end_column, end.file)
    return fix(Applicability.SAFE, "cast before the move", replaced(both, f"{fact.cast_after}{fact.move}"))
