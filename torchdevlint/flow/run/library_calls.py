"""Calls of library functions and classes by their public names: torch's own, and what Python brings."""

from __future__ import annotations

import ast

from torchdevlint.flow.events import ForeignCalled, LibraryCalled
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run import checkpoint_values, clip_models, distributions, einops_calls, host_made, metrics
from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.run.factories import call_factory, is_factory
from torchdevlint.flow.run.modules import construct
from torchdevlint.flow.run.objects import on_the_model
from torchdevlint.flow.run.operand_kinds import told_by_other
from torchdevlint.flow.run.operations import Operands, combine
from torchdevlint.flow.run.outputs import note_classes, taken_by_loss
from torchdevlint.flow.run.python_calls import call_builtin
from torchdevlint.flow.run.special_calls import (
    SPECIAL,
)
from torchdevlint.flow.run.tensor_methods import (
    call_tensor_method,
    method_ndim,
    operands_of,
    refuses_scalars,
    tensor_operands,
    without_ndim,
)
from torchdevlint.flow.run.unknown_calls import is_known
from torchdevlint.flow.run.wrapping import is_called_wrapper, wrap
from torchdevlint.flow.scope.input_pipeline import GIVEN_AS_TRANSFORM
from torchdevlint.flow.scope.names import is_one_of, mentions_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import is_module_class
from torchdevlint.flow.state.devices import DEFAULT, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import is_number, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import elements
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NUMBER,
    UNKNOWN,
    Const,
    Dev,
    Guard,
    Library,
    Map,
    Obj,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)

_OPERATIONS: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {
    "torch": (torch_api.TORCH_TENSOR, torch_api.TORCH_TUPLE, torch_api.TORCH_LIST),
    "torch.nn.functional": (torch_api.FUNCTIONAL_TENSOR, torch_api.FUNCTIONAL_TUPLE, frozenset()),
    "torch.sparse": (torch_api.SPARSE_TENSOR, frozenset(), frozenset()),
    "torch.linalg": (torch_api.LINALG_TENSOR, torch_api.LINALG_TUPLE, frozenset()),
    "torch.fft": (torch_api.FFT_TENSOR, frozenset(), frozenset()),
    "torch_scatter": (torch_api.SCATTER_TENSOR, frozenset(), frozenset()),
}


def call_library(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """What calling the library object with the public name `name` gives."""
    frame.machine.emit(LibraryCalled(frame, state, node, name, arguments))
    if not is_known(name):
        frame.machine.emit(ForeignCalled(frame, state, node, name, arguments))
    note_pipeline(name, arguments)
    if name.rpartition(".")[2] in torch_api.OTHER_RUNTIMES:
        return Guard(False)
    special = SPECIAL.get(name)
    if special is not None:
        return special(frame, state, node, arguments)
    if name in torch_api.LOADERS:
        return checkpoint_values.load(frame, node, name, arguments)
    if name in torch_api.WRAPPER_MODULES or is_called_wrapper(frame, node, name):
        return wrap(frame, state, node, name, arguments)
    if distributions.is_distribution(name):
        return distributions.construct(name, arguments)
    head, _, tail = name.rpartition(".")
    if head == "builtins":
        return call_builtin(frame, state, node, tail, arguments)
    if head == "torch.Tensor" and arguments.positional:
        return _unbound(frame, state, node, tail, arguments)
    if is_factory(name):
        return call_factory(frame, state, node, name, arguments)
    if head == "torch.nn.init" and tail.endswith("_"):
        return arguments.value(0, "tensor")
    table = _OPERATIONS.get(head)
    if table is not None:
        return _operation(frame, state, node, name, tail, table, arguments)
    if is_module_class(name) and not metrics.is_metric(name):
        return construct(frame, state, node, name, tail, arguments)
    if tail == "from_pretrained" and head in torch_api.MADE_OF_WEIGHTS:
        return _made_of_weights(node, head, arguments)
    return _of_another_package(frame, state, node, name, arguments)


def _made_of_weights(node: ast.Call, name: str, arguments: Arguments) -> Library:
    """``nn.Embedding.from_pretrained(weights)``: a layer that is where its weights are."""
    weights = arguments.value(0, "embeddings")
    return Library(name, True, weights.device if isinstance(weights, Tensor) else TOP, made_at=node)


def _of_another_package(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    tail = name.rpartition(".")[2]
    if metrics.is_metric(name):
        return metrics.construct(frame, state, node, name, arguments) or UNKNOWN
    if metrics.compares(name) and tail[:1].isupper():
        return Library(name, True, made_at=node)
    metrics.compare(frame, state, node, name, arguments)
    if name.startswith(("einops.", "einx.")):
        return einops_calls.call(frame, state, node, name, arguments)
    if libraries.shows_progress(name) and arguments.positional:
        shown = arguments.positional[0][1]
        return shown if isinstance(shown, (Tensor, Seq, Map)) else UNKNOWN
    if name.startswith("torch.ops."):
        _custom_operation(frame, state, node, name, arguments)
    if libraries.makes_model(name):
        return Library(name, True, DEFAULT, made_at=node)
    if libraries.makes_pretrained_model(name, arguments.keywords):
        return Library("", True, DEFAULT, made_at=node)
    if name.startswith(clip_models.PACKAGES) and (made := clip_models.call(frame, node, name, arguments)) is not None:
        return made
    if libraries.dispatches_model(name, arguments.keywords):
        return _dispatched(frame, node, *arguments.keywords["device_map"])
    settings = frame.machine.settings
    if is_one_of(name, settings.batch_movers) and arguments.positional:
        return on_the_model(arguments.positional[0][1])
    if mentions_device(tail) and any(isinstance(each, Tensor) and on_cpu(each.device) for each in arguments.values):
        return Dev(TOP)
    in_place = is_one_of(name, settings.in_place_movers) or libraries.moves_in_place(name)
    known = in_place or tail.endswith("Loader")
    of_torch = name.startswith("torch.") and tail[:1].isupper()
    if known:
        return Library(name)
    return Unknown(made_by=name) if of_torch else host_made.call(frame, state, node, name, arguments)


def _dispatched(frame: Frame, node: ast.Call, at: ast.expr, given: Value) -> Value:
    """A model of transformers that ``device_map`` places: by a word, on an accelerator, which one machine in two has.

    Over several accelerators hooks bring the inputs; on one there are none, and the model was moved as any other is.
    """
    chosen = isinstance(given, Const) and given.value in libraries.DEVICE_MAPS
    there = Device(Origin.LITERAL, "cuda") if chosen else as_device(frame, at, given)
    named = there.origin is Origin.EXPRESSION and mentions_device(there.name)
    if there.origin is not Origin.LITERAL and not named:
        return UNKNOWN
    return Library("", True, there, made_at=node, placed=Step("placed by `device_map`", at))


def _custom_operation(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> None:
    """``torch.ops.package.name(..)``: its kernel is chosen for one kind of device, and gets all of its tensors."""
    operands = [each for given in arguments.pairs for each in tensor_operands(*given)]
    combine(frame, state, node, f"`{name}()`", operands)


def note_pipeline(name: str, arguments: Arguments) -> None:
    """What is given to transforms, or as ``transform=``, is part of the input pipeline, on the CPU."""
    named = arguments.keywords
    given = [named[key][1] for key in named if key in GIVEN_AS_TRANSFORM] if named else []
    if name.rpartition(".")[2] == "Compose" or name.startswith(_TRANSFORM_PACKAGES):
        given += arguments.values
    for value in given:
        for each in [value, *elements(value)]:
            if isinstance(each, Obj):
                each.info.in_pipeline = True


_TRANSFORM_PACKAGES = ("torchvision.transforms.", "albumentations.", "monai.transforms.")


def _unbound(frame: Frame, state: State, node: ast.Call, tail: str, arguments: Arguments) -> Value:
    (receiver_node, receiver), *rest = arguments.positional
    if not isinstance(receiver, Tensor):
        return UNKNOWN
    bound = Arguments(rest, arguments.keywords, arguments.starred, arguments.double_starred)
    return call_tensor_method(frame, state, node, receiver_node, receiver, tail, bound)


def _operation(
    frame: Frame,
    state: State,
    node: ast.Call,
    name: str,
    tail: str,
    table: tuple[frozenset[str], frozenset[str], frozenset[str]],
    arguments: Arguments,
) -> Value:
    in_place = tail.endswith("_") and not tail.endswith("__")
    plain = tail.rstrip("_") if in_place else tail
    one, pair, many = table
    if plain in torch_api.COMPARING:
        strict = plain in torch_api.STRICT
        combine(frame, state, node, f"`{_short(name)}()`", operands_of(plain, arguments, 0), strict)
        return NUMBER
    if plain not in one and plain not in pair and plain not in many:
        return UNKNOWN
    if plain in torch_api.CROSSING:
        return UNKNOWN
    operands = told_by_other(frame, operands_of(plain, arguments, 0))
    if plain in torch_api.FUNCTIONAL_LOSSES:
        operands = taken_by_loss(frame, state, operands, False)
    if "out" in arguments.keywords:
        written = tensor_operands(*arguments.keywords["out"])
        combine(frame, state, node, f"`{_short(name)}()`", [*operands, *written], True)
        return UNKNOWN
    strict = refuses_scalars(plain, operands)
    result = combine(frame, state, node, f"`{_short(name)}()`", operands, strict, in_place)
    if plain in _TAKES_CLASSES:
        note_classes(state, operands[:2])
    if not isinstance(result, Tensor):
        return UNKNOWN if is_number(result) else without_ndim(plain, result)
    first = operands[0][1] if operands else UNKNOWN
    if _is_reduced_loss(name, plain, arguments):
        result = Tensor(result.device, 0, result.creations, result.steps)
    elif isinstance(first, Tensor) and not isinstance(arguments.value(0, "input"), Seq):
        rest = Arguments(arguments.positional[1:], arguments.keywords)
        ndim = len(operands) if plain == "meshgrid" else method_ndim(plain, first, rest, result)
        result = Tensor(result.device, ndim, result.creations, result.steps)
        if plain in torch_api.PAIR_WITH_DIM and ("dim" in arguments.keywords or _numeric(rest)):
            return sequence([result, result])
    elif plain in ("stack", "cat"):
        result = Tensor(result.device, _joined_ndim(plain, operands), result.creations, result.steps)
    elif plain == "einsum":
        result = Tensor(result.device, _einsum_ndim(first), result.creations, result.steps)
    several = plain in pair or plain in many
    return Seq(None, result) if several else _whole(plain, arguments, result)


def _whole(name: str, arguments: Arguments, result: Tensor) -> Value:
    """What an operation gives: of ``torch.where(x > 0)`` that is a vector of places for each dimension."""
    if name == "where" and len(arguments.positional) == 1 and not (arguments.keywords or arguments.starred):
        return Seq(None, Tensor(result.device, 1, result.creations, result.steps))
    return result


_TAKES_CLASSES = frozenset({"cross_entropy", "nll_loss"})


def _is_reduced_loss(name: str, plain: str, arguments: Arguments) -> bool:
    """Whether it is a loss that gives one number, as ``F.mse_loss(x, y)`` does without ``reduction="none"``."""
    is_loss = plain.endswith(("_loss", "cross_entropy", "cross_entropy_with_logits")) or plain == "kl_div"
    if not is_loss or not name.startswith("torch.nn.functional.") or len(arguments.positional) >= _MOST_PLAIN:
        return False
    said = _REDUCTION.intersection(arguments.keywords)
    reduction = arguments.keywords.get("reduction")
    return not said or (len(said) == 1 and reduction is not None and reduction[1] in _TO_ONE_NUMBER)


_MOST_PLAIN = 3
"""Losses take an input and a target; what follows by position may say how they are reduced."""
_REDUCTION = frozenset({"reduction", "reduce", "size_average"})
_TO_ONE_NUMBER = (Const("mean"), Const("sum"), Const("batchmean"))


def _joined_ndim(name: str, operands: Operands) -> int:
    """What `cat` gives of tensors that have as many dimensions each; `stack` adds one."""
    held = {value.ndim if isinstance(value, Tensor) else None for _, value in operands}
    ndim = held.pop() if len(held) == 1 else None
    if ndim is None or ndim < 0:
        return AT_LEAST_1
    return ndim + 1 if name == "stack" else max(ndim, 1)


def _einsum_ndim(equation: Value) -> int | None:
    """What an equation such as ``"i,j->ij"`` gives, where it says so."""
    text = equation.value if isinstance(equation, Const) and isinstance(equation.value, str) else ""
    _, arrow, output = text.partition("->")
    return len(output.replace(" ", "")) if arrow and "." not in output else None


def _numeric(arguments: Arguments) -> bool:
    return bool(arguments.positional) and is_number(arguments.positional[0][1])


def _short(name: str) -> str:
    return name.replace("torch.nn.functional.", "F.")
