"""What says at a literal CUDA device which place is meant, though nothing has to meet there (TDL012).

It is made with the dtype of a tensor, ``torch.zeros(3, dtype=x.dtype, device="cuda")``; it is returned as large as an
argument; or it is moved where it is not at the place of another: ``if a.device != b.device: a = a.cuda()``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.placement import is_guarded, is_what_it_is_for, record
from torchdevlint.flow.checks.literals.same_device import says_more
from torchdevlint.flow.events import Placed
from torchdevlint.flow.kinds.sizes import sizes_asked
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.joins import settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import is_inside, nodes_in

_MADE = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "randint"})
_SOMEWHERE = (Origin.ARGUMENT, Origin.MODEL, Origin.EXPRESSION)


def _note_placed(event: Placed) -> None:
    frame, state, node = event.frame, event.state, event.node
    if event.device.origin is not Origin.LITERAL or event.device.name != "cuda" or not isinstance(node, ast.Call):
        return
    text = names_cuda(node)
    if text is None or frame.function is None or frame.depth or frame.machine.in_child:
        return
    if is_what_it_is_for(frame) or is_for_cuda(frame):
        return
    found = next(_by_test(frame.function, node), None)
    if found is None and not is_guarded(state):
        found = meant_at(frame, state, node)
    if found is not None:
        record(frame, state, node, text, found)


def meant_at(frame: Frame, state: State, node: ast.Call) -> Given | None:
    """The device of what a call is made for."""
    function = frame.function
    if function is None:
        return None
    found = (*_by_dtype(frame, state, node), *_as_large(function, node))
    return next((each for each in found if says_more(frame, node, each.text, each.place)), None)


def _by_dtype(frame: Frame, state: State, node: ast.Call) -> Iterator[Given]:
    """``dtype=x.dtype``, of a tensor that is where its owner has it; ``x.real`` is where `x` is."""
    given = [each.value for each in node.keywords if each.arg == "dtype"]
    moved = node.func.value if isinstance(node.func, ast.Attribute) else None
    if moved is not None and last_name(node.func) == "to":
        given += node.args[1:2]
    for each in given:
        if not isinstance(each, ast.Attribute) or each.attr != "dtype":
            continue
        path, value = dotted_path(each.value), settle(frame.evaluate(each.value, state), state.conditions)
        if path is not None and moved is not None and path == dotted_path(moved):
            continue
        if path is not None and isinstance(value, Tensor) and value.device.origin in _SOMEWHERE:
            name = path.removesuffix(".real")
            yield Given(f"{name}.device", f"`{name}` gives it its dtype", each.value)


def _as_large(function: AnyFunction, node: ast.Call) -> Iterator[Given]:
    """``return torch.rand(x.shape[0], 3).to("cuda")``: as large as an argument, and nothing else is done with it.

    What has one dimension alone may be an index, which the host may have made for it.
    """
    if not any(each.value is node for each in nodes_in(function, ast.Return)):
        return
    made = node.func.value if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call) else node
    if last_name(made.func) not in _MADE:
        return
    tensors = {each.arg for each in nodes_in(function.args, ast.arg) if annotated_tensor(each.annotation)}
    for each in sizes_asked(made.args):
        name = dotted_path(each.value)
        if name in tensors and (each in made.args or len(made.args) > 1):
            yield Given(f"{name}.device", f"`{name}` gives it its shape, and it is returned for it", each.value)


def _by_test(function: AnyFunction, node: ast.Call) -> Iterator[Given]:
    """``if a.device != b.device: a = a.to("cuda")``."""
    moved = dotted_path(node.func.value) if isinstance(node.func, ast.Attribute) else None
    for test in nodes_in(function, ast.If) if moved is not None else ():
        compared = test.test
        if not isinstance(compared, ast.Compare) or not isinstance(compared.ops[0], ast.NotEq):
            continue
        sides = {dotted_path(each) or "": each for each in (compared.left, *compared.comparators)}
        own = sides.pop(f"{moved}.device", None)
        if own is not None and any(is_inside(node, each) for each in test.body):
            for path, each in sides.items():
                if path.endswith(".device"):
                    yield Given(path, f"the test asks whether it is at `{path}`", each)


EVENTS = {Placed: _note_placed}
