"""Arguments that `x.numpy()` reads as they came, in code that others use: who works on an accelerator gets an error.

No call has to be seen that gives it a tensor of an accelerator; what says that it is on the CPU, though, is asked for.
"""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.run.numpy_reads import is_made_by_call, is_of_another_framework
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_reads import brings_any, is_of_data
from torchdevlint.flow.scope.followed_devices import is_detached_in, root_of
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import TOP
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_SAMPLES = regex(r"batch|sample|item|record|example|transition|episode")
"""Names of what a data set, a loader or a memory holds."""
_BUILDS_DATA = regex(r"Data_?[sS]et(?:Builder|Maker|Converter)$")
"""Names of classes that write examples for a data set: text as numbers, pictures. What a model gives has writers."""


def is_for_users(frame: Frame, state: State, read: ast.AST, name: str) -> bool:
    """Whether ``x.numpy()`` reads the argument `name` as it came, and nothing around says that it is on the CPU.

    Labels, lengths and samples often stay there, and so does what a data set is built of, which loaders read again.
    """
    function = frame.function
    if frame.owner is not None and _BUILDS_DATA.search(frame.owner.name):
        return False
    if not _is_open(frame, state, read) or root_of(read.func.value) != name:  # type: ignore[attr-defined]
        return False
    if is_bookkeeping(name) or is_of_data(name) or _SAMPLES.search(name):
        return False
    places = bindings_in(function).get(name, ()) if function is not None else ()
    return not any(is_bound and line < read.lineno for line, is_bound, _ in places)  # type: ignore[attr-defined]


def is_detached_for_users(frame: Frame, state: State, read: ast.AST, value: Tensor) -> bool:
    """Whether ``f(x).detach().numpy()`` reads what a model gave, or its parameters: only these are detached.

    A function that speaks of devices has thought of them, and of what is made in it something is known. Who asks
    whether `x` is a tensor at all makes arrays of tensors and arrays alike, and does so for tensors of any device.
    """
    if frame.depth or value.device != TOP:
        return False
    if not _is_open(frame, state, read) or not is_detached_in(frame.function, read):  # type: ignore[arg-type]
        return False
    detached = read.func.value  # type: ignore[attr-defined]
    if not _is_tested(state, root_of(detached)) and not is_made_by_call(frame, state, detached):
        return False
    return all(each.attr not in _PLACES for each in nodes_in(frame.function, ast.Attribute))  # type: ignore[arg-type]


_PLACES = frozenset("cpu cuda to device is_cuda".split())


def _is_open(frame: Frame, state: State, read: ast.AST) -> bool:
    """Whether ``.numpy()`` is asked of what may be anywhere, in a function that says nothing of the CPU.

    What is read beside something that the function brings there may be kept there, and so may what a test decides
    about. What becomes a tensor of torch again comes from another framework.
    """
    function = frame.function
    if not isinstance(read, ast.Call) or not isinstance(read.func, ast.Attribute) or read.func.attr != "numpy":
        return False
    own = root_of(read.func.value)
    others = (each for each in state.conditions if not _is_of_class(each[0], own))
    if any(map(_decides_places, others)) or not isinstance(function, ast.FunctionDef):
        return False
    if function in frame.machine.pipeline:
        return False
    if brings_any(function) or _names_cpu(function) or is_of_another_framework(frame):
        return False
    return not _becomes_tensor(function, read)


def _is_tested(state: State, name: str | None) -> bool:
    """Whether a test says that a name stands for a tensor."""
    return any(holds and _is_of_class(key, name) and _TENSOR.search(key) for key, holds in state.conditions)


_TENSOR = regex(r"Tensor\b|\bis_tensor\b")


def _is_of_class(key: str, name: str | None) -> bool:
    """Whether a test asks for the class of what a name stands for, and for nothing else."""
    test = key.partition(":")[2]
    return name is not None and test.startswith((f"isinstance({name}, ", f"torch.is_tensor({name})", f"type({name}) "))


def _decides_places(condition: tuple[str, bool]) -> bool:
    """Whether a test may say where something is, or of which kind."""
    return _OF_PLACES.search(condition[0]) is not None


_OF_PLACES = regex(r"cuda|gpu|cpu|device|numpy|tensor|isinstance|\bnp\b|type", re.IGNORECASE)


@once_a_node
def _names_cpu(function: ast.FunctionDef) -> bool:
    return any(each.value == "cpu" for each in nodes_in(function, ast.Constant))


def _becomes_tensor(function: ast.FunctionDef, read: ast.Call) -> bool:
    """Whether it is in ``torch.tensor(x.numpy() / 255)``."""
    made = (each for each in nodes_in(function, ast.Call) if public_path(each.func).startswith("torch."))
    return any(read is each for call in made for each in inside(call))
