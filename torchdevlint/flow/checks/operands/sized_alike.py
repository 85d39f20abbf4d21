"""Tensors of the default device that are made after an argument, and leave the function for where that is.

Three ways out tell that they are meant to be there: a kernel or layer of another library gets both; the function stands
in for an operator where only shapes are worked out (`register_fake`), so that what it gives is where the operator's
result is; or shape and dtype are both those of the argument, or the whole shape in a file that speaks of devices, and
the tensor is returned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.kernel_buffers import is_as_large
from torchdevlint.flow.checks.literals.placement import record
from torchdevlint.flow.checks.literals.same_device import says_more
from torchdevlint.flow.events import ForeignCalled, LayerCalled, Mixed, Placed, Returned
from torchdevlint.flow.facts.tensors import RESULT, SIZED_ALIKE
from torchdevlint.flow.kinds.autograd_functions import is_function
from torchdevlint.flow.kinds.sizes import shaped_after
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.followed_devices import root_of
from torchdevlint.flow.scope.knowing_devices import knows_devices
from torchdevlint.flow.scope.names import dotted_path, is_dtype_name, last_name, parameter_names
from torchdevlint.flow.scope.naming_cuda import cuda_in_words, names_cuda
from torchdevlint.flow.scope.same_size import factories_by_size, told_place
from torchdevlint.flow.state.devices import DEFAULT, TOP, Device, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Conditions, Map, Record, Seq, Step, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import arguments_of, inside, once_a_node

_FILLED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "eye"})
_WHOLE_NUMBERS = regex(r"long|int|short|bool")
_FOR_THE_CPU = regex(
    r"cpu|host|numpy|plot|show|draw|save|dump|write|log|print|assert|check|equal|close|collate|dataset|loader|array"
    r"|summary|table|text|append|add|extend|insert|put|update|set|pin|queue|send",
    re.IGNORECASE,
)
"""Names of functions that copy what they get, only look at it, or keep it."""
_OF_DATA = regex(r"data|batch|sample|image|img|frame|audio|wave|collate|augment|transform|preprocess|load|read")
"""Words of what is prepared on the CPU."""
_OF_OPTIONS = regex(
    r"args|opts?$|option|conf|cfg|param|setting|spec|polic|backend|meta|info|type|array|arr$|(?:^|_)np|engine"
)
_OF_SIZE = ("shape", "size", "numel")
_STAND_INS = frozenset({"register_fake", "impl_abstract"})

_ANYWHERE = frozenset({Origin.ARGUMENT, Origin.MODEL, Origin.EXPRESSION})

Part = tuple[ast.expr, Tensor]


def _note_layer(event: LayerCalled) -> None:
    """``kernel[grid](x, torch.empty(x.shape))``, for something of unknown kind."""
    if event.owner is None:
        _look(event.frame, event.state, event.node, event.operands)


def _note_library(event: ForeignCalled) -> None:
    """``extension.forward(x, torch.empty(x.shape))``."""
    pairs = event.arguments.pairs
    if len(pairs) > 1:
        _look(event.frame, event.state, event.node, pairs)


def _look(frame: Frame, state: State, node: ast.Call, operands: Iterable[tuple[ast.expr, Value]]) -> None:
    tensors = [(at, value) for at, value in operands if isinstance(value, Tensor)]
    made = [each for each in tensors if each[1].device == DEFAULT and each[1].creations and each[1].ndim != 0]
    function = frame.function
    if not made or function is None or frame.depth or not _is_foreign(node):
        return
    given = [(at, value, name) for at, value in tensors for name in [_came_in(function, at, value)] if name is not None]
    for at, value in made:
        if is_bookkeeping(dotted_path(at)):
            continue
        for by, source, name in given:
            if all(_is_for(function, node, site.node, name) for site in value.creations):
                operation = f"`{frame.machine.text_of(node.func)}()`"
                frame.machine.emit(Mixed(frame, state, node, operation, (at, value), (by, source)))
                break


def is_for_the_cpu(node: ast.Call) -> bool:
    """Whether what is called copies what it gets to the CPU, only looks at it or keeps it, as far as its name says."""
    return _is_called_for_the_cpu(last_name(node.func))


@lru_cache(maxsize=8192)
def _is_called_for_the_cpu(name: str) -> bool:
    return _FOR_THE_CPU.search(name) is not None


def _is_foreign(node: ast.Call) -> bool:
    """Whether it is no method of the object itself, and its name speaks of nothing that is done on the CPU."""
    name = dotted_path(node.func)
    if name is None:
        return isinstance(node.func, ast.Subscript)
    root, _, last = name.rpartition(".")
    return root != "self" and not name.startswith("super") and not _is_called_for_the_cpu(last)


def _came_in(function: AnyFunction, at: ast.expr, value: Tensor) -> str | None:
    """The name of the argument that a tensor is, or was made of."""
    if value.device.origin not in (Origin.ARGUMENT, Origin.MODEL) or value.ndim == 0:
        return None
    names = parameter_names(function)
    return next((each.id for each in inside(at) if isinstance(each, ast.Name) and each.id in names), None)


def _is_for(function: AnyFunction, taker: ast.Call, node: ast.AST, name: str) -> bool:
    """Whether what a factory makes goes with an argument into a kernel.

    It is as large, and is left empty for a kernel to fill, or has the same dtype, or is given to what is launched as
    ``kernel[grid](..)``. Other functions may well move a mask that they are given.
    """
    if not _is_filled(node) or not is_as_large(function, node, name):
        return False
    is_empty = isinstance(node, ast.Call) and last_name(node.func) == "empty"
    return is_empty or isinstance(taker.func, ast.Subscript) or next(_sized_alike(node, name), None) is not None


def _is_filled(node: ast.AST) -> bool:
    """Whether a factory makes floats, or what has the dtype of something else."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _FILLED:
        return False
    dtypes = [dotted_path(each.value) or "" for each in node.keywords if each.arg == "dtype"]
    return not any(is_dtype_name(f"torch.{each.rpartition('.')[2]}") and _WHOLE_NUMBERS.search(each) for each in dtypes)


def _note_returned(event: Returned) -> None:
    frame, function = event.frame, event.frame.function
    if function is None or isinstance(function, ast.Lambda) or frame.depth:
        return
    held = _tensors_in(event.value, event.state.conditions)
    made = [each for each in held if each.device == DEFAULT and each.creations]
    if not made:
        return
    stands_in = _stands_in(function)
    surely = stands_in or is_function(frame.owner)
    for each in made:
        for name, value in _arguments(event.state, function, surely):
            alike = [next(_sized_alike(site.node, name, function), None) for site in each.creations]
            if surely or may_be_anywhere(frame, name):
                alike = [at or _of_whole_shape(site.node, name) for at, site in zip(alike, each.creations, strict=True)]
            sized = [at for at in alike if at is not None]
            if stands_in or len(sized) == len(each.creations):
                at = sized[0] if sized else ast.copy_location(ast.Name(name, ast.Load()), event.node)
                operation = RESULT if stands_in else SIZED_ALIKE
                frame.machine.emit(Mixed(frame, event.state, event.node, operation, (event.node, each), (at, value)))
                break
        else:
            _look_at_parts(frame, event, each)


def _look_at_parts(frame: Frame, event: Returned, made: Tensor) -> None:
    """``return torch.zeros(x[0].shape)``, ``State(flow=torch.zeros(state.flow.shape))``: as large as a part of another.

    So is what is as large as an attribute of the object itself that its class says is a tensor.
    """
    asked = [_part_of_whole_shape(frame, site.node) for site in made.creations]
    if not asked or asked[0] is None or frame.entry.kind == "init":
        return
    text = ast.unparse(asked[0])
    if any(each is None or ast.unparse(each) != text for each in asked):
        return
    value = frame.evaluate(asked[0], event.state)
    if _is_of_no_known_place(value) and _is_declared(frame, asked[0]):
        step = Step("its class says that it is a tensor, as large as the other one", asked[0])
        value = Tensor(Device(Origin.EXPRESSION, f"{text}.device"), steps=(step,))
    if isinstance(value, Tensor) and value.device.origin in _ANYWHERE and may_be_anywhere(frame, text):
        pair = (event.node, made), (asked[0], value)
        frame.machine.emit(Mixed(frame, event.state, event.node, SIZED_ALIKE, *pair))


def _is_of_no_known_place(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.device == TOP and not value.creations
    return isinstance(value, Unknown) and value.given is None


def _part_of_whole_shape(frame: Frame, node: ast.AST) -> ast.expr | None:
    """`state.flow` in ``torch.zeros(state.flow.shape)``, for floats, of an argument or the object itself."""
    holder, function = shaped_after(node) if _is_filled(node) else None, frame.function
    rooted = function is not None and holder is not None and root_of(holder) in parameter_names(function)
    return holder if rooted and isinstance(holder, (ast.Attribute, ast.Subscript)) else None


def _is_declared(frame: Frame, node: ast.expr) -> bool:
    """``x: torch.Tensor`` in the class of `self`, or a base of it, for ``self.x``."""
    if frame.owner is None or not isinstance(node, ast.Attribute) or dotted_path(node.value) != "self":
        return False
    said = (each for info in frame.owner.mro for each in info.node.body if isinstance(each, ast.AnnAssign))
    return any(dotted_path(each.target) == node.attr and annotated_tensor(each.annotation) for each in said)


def _tensors_in(value: Value, conditions: Conditions) -> Iterator[Tensor]:
    """What is returned, or is a part of a tuple, a dict or an object of named fields that is, be it in one case."""
    parts: Iterable[Value] = (value,)
    if isinstance(value, Seq):
        parts = value.items or ()
    elif isinstance(value, (Map, Record)):
        parts = [each for _, each in value.items]
    held = (each for part in parts for _, each in alternatives(part, conditions))
    yield from (each for each in held if isinstance(each, Tensor))


def _arguments(state: State, function: AnyFunction, surely: bool = False) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a function was given, as long as they are bound to their names, be they moved on some paths.

    What stands in for an operator is given what that is given, tensors first; and so is a `Function` of autograd.
    """
    for parameter in (*function.args.posonlyargs, *function.args.args):
        name = parameter.arg
        value = state.env.get(name, UNKNOWN)
        for _, each in alternatives(value, state.conditions):
            if isinstance(each, Tensor) and each.device.origin in _ANYWHERE:
                yield name, each
                break
        if surely and isinstance(value, Unknown):
            yield name, Tensor(Device(Origin.ARGUMENT, name), steps=(Step("the operator is given it here", parameter),))


def _note_placed(event: Placed) -> None:
    """``torch.zeros(x.shape, dtype=x.dtype, device="cuda")``; one of both is enough for its dtype."""
    frame, function = event.frame, event.frame.function
    if event.device.origin is not Origin.LITERAL or event.device.name != "cuda" or event.device.index is not None:
        return
    if function is None or frame.depth:
        return
    for name, _ in _arguments(event.state, function):
        at = next(_sized_alike(event.node, name), None)
        if at is not None:
            found = Given(f"{name}.device", f"`{name}` gives it its shape and dtype", at)
            record(frame, event.state, event.node, cuda_in_words(event.node), found)
            return
    node = event.node
    if not isinstance(node, ast.Call) or names_cuda(node) is None:  # else a name holds it, which may be chosen
        return
    alike = () if isinstance(function, ast.Lambda) else factories_by_size(function)
    for each in (each for calls in alike if node in calls for each in calls):
        place = told_place(each)
        if place is not None:
            found = Given(frame.machine.text_of(place), f"`{frame.machine.text_of(each)}` is as large", each)
            if says_more(frame, node, found.text, found.place):
                record(frame, event.state, node, cuda_in_words(node), found)
                return
    typed = _typed_after(node)
    if typed is not None and not _is_told(typed):
        text = frame.machine.text_of(typed)
        found = Given(f"{text}.device", f"`{text}` gives it its dtype", typed)
        if says_more(frame, node, found.text, found.place):
            record(frame, event.state, node, cuda_in_words(node), found)


def _is_told(node: ast.expr) -> bool:
    """Whether what is asked for a dtype may be the object itself, or options, of which nobody knows a device."""
    return last_name(node) in ("self", "cls", "torch") or _OF_OPTIONS.search(last_name(node)) is not None


def _typed_after(node: ast.AST) -> ast.expr | None:
    """`x` in ``torch.zeros(3, dtype=x.dtype)`` and ``y.to(device, x.dtype)``."""
    given = arguments_of(node) if isinstance(node, ast.Call) else []
    asked = (each for each in given if isinstance(each, ast.Attribute) and each.attr == "dtype")
    return next((each.value for each in asked if isinstance(each.value, (ast.Name, ast.Attribute))), None)


def _sized_alike(node: ast.AST, name: str, function: AnyFunction | None = None) -> Iterator[ast.Name]:
    """`x` in ``torch.zeros(x.shape[0], 3, dtype=x.dtype)``, a factory that asks `name` for both.

    In a `function`, its dtype may be one that is asked for before: ``dtype = x.dtype``.
    """
    if not isinstance(node, ast.Call) or last_name(node.func) not in _FILLED:
        return
    read: Iterator[ast.AST] = (each for given in node.args for each in inside(given))
    asked = next((holder for each in read if (holder := _asked(each, name, _OF_SIZE)) is not None), None)
    dtypes = [each.value for each in node.keywords if each.arg == "dtype"]
    bound = values_by_path(function) if function is not None else {}
    told = [bound.get(each.id, []) if isinstance(each, ast.Name) else [] for each in dtypes]
    dtypes += [values[0] for values in told if len(values) == 1]
    if asked is not None and any(_asked(each, name, ("dtype",)) is not None for each in dtypes):
        yield asked


def may_be_anywhere(frame: Frame, name: str) -> bool:
    """Whether the file speaks of devices, and an argument is not called like data, which are prepared on the CPU."""
    function, tree = frame.function, frame.machine.tree
    words = name if _is_of_distributions(frame) else f"{frame.scope} {name}"
    if function in frame.machine.pipeline or is_bookkeeping(name) or _OF_DATA.search(words.lower()):
        return False
    return knows_devices(tree)


def _is_of_distributions(frame: Frame) -> bool:
    """Whether a method belongs to what changes random variables, and is no transform of data."""
    owner = frame.owner
    return owner is not None and any(each.startswith("torch.distributions.") for each in owner.library_bases)


def _of_whole_shape(node: ast.AST, name: str) -> ast.Name | None:
    """`x` in ``torch.zeros(x.shape)``, for floats."""
    holder = shaped_after(node) if _is_filled(node) else None
    return holder if isinstance(holder, ast.Name) and holder.id == name else None


def _asked(node: ast.AST, name: str, attributes: tuple[str, ...]) -> ast.Name | None:
    """`x` in ``x.shape``."""
    if not isinstance(node, ast.Attribute) or node.attr not in attributes:
        return None
    return node.value if isinstance(node.value, ast.Name) and node.value.id == name else None


@once_a_node
def _stands_in(function: AnyFunction) -> bool:
    """Whether it is registered to work out what an operator gives, without running it."""
    decorators = () if isinstance(function, ast.Lambda) else function.decorator_list
    called = (each.func if isinstance(each, ast.Call) else each for each in decorators)
    return any((dotted_path(each) or "").rpartition(".")[2] in _STAND_INS for each in called)


EVENTS = {LayerCalled: _note_layer, ForeignCalled: _note_library, Placed: _note_placed, Returned: _note_returned}
