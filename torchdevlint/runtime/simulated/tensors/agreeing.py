"""The short way: operations whose operands are all in one place run without the dispatch mode.

The dispatch mode is the specification. It sees every ATen call, and by that alone costs several times what a small
kernel takes. Of the few methods and functions here it is known beforehand what it would do: if all operands are claimed
to be on one device, no check can fail, and what comes out new is there as well. So they run with the mode left out, and
their outputs are claimed here.

This holds for plain tensors, and only where nothing else looks on: another mode, a hook on saved tensors, autocast.
Every other call goes on to the mode as it was. `test_agreeing.py` holds that both ways say the same.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _python_dispatch

from torchdevlint.runtime.record.sites import user_place
from torchdevlint.runtime.simulated.driver.memory import BLOCKS, block_of
from torchdevlint.runtime.simulated.errors import refuse_without_kernel
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.tensors import backward, composites, subscript
from torchdevlint.runtime.simulated.tensors.claims import (
    PLAIN,
    WITHOUT_STORAGE,
    AcceleratorClaim,
    Claim,
    beside,
    device_of,
    storage_of,
)
from torchdevlint.runtime.simulated.tensors.indices import indices_in, is_of_sizes
from torchdevlint.runtime.simulated.tensors.mode import PlacementMode
from torchdevlint.runtime.simulated.tensors.results import claim_new

_IN_PLACE = {"__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_"}
_OPERATORS = ("add", "sub", "mul", "gt", "ge", "lt", "le", "ne", "eq", "neg")
_METHODS = (
    *("add", "sub", "mul", "div", "exp", "log", "abs", "sqrt", "clamp", "neg", "sigmoid", "tanh", "relu"),
    *("sin", "cos", "rsqrt", "reciprocal", "sign", "floor", "ceil", "erf", "log1p", "expm1", "maximum", "minimum"),
    *("gt", "ge", "lt", "le", "ne", "eq", "where", "pow"),
)
ELEMENTWISE = {
    **{f"__{name}__": name for name in _OPERATORS},
    "__radd__": "add",
    "__rmul__": "mul",
    "__truediv__": "div",
    **_IN_PLACE,
    **{name: name for name in (*_METHODS, *_IN_PLACE.values())},
}
"""Methods that are one element-wise ATen operator with TensorIterator's check, and the operator's name."""
FUNCTIONS = _METHODS
"""Those that are functions of `torch` as well, with the same arguments."""
VIEWS = (
    *("view", "reshape", "transpose", "permute", "t", "unsqueeze", "squeeze", "flatten", "expand", "select", "narrow"),
    *("detach", "unbind", "chunk", "view_as", "expand_as"),
)
"""Methods that give other views of a tensor, or a copy where that cannot be, for numbers alone."""
CELLS = ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")

_Tensor = torch.Tensor
_NUMBERS = frozenset((int, float, bool, type(None)))
_MASKS = frozenset((torch.bool, torch.uint8))
_PYTHON = torch._C.DispatchKey.Python
_SNAPSHOT = torch._C.DispatchKey.PythonTLSSnapshot
"""What keeps the state of a thread for a mode. It takes 1.3 µs of what calls other operators, as a number's does."""
_frame = sys._getframe
_leave_out = torch._C._dispatch_tls_set_dispatch_key_excluded
_modes = torch._C._len_torch_dispatch_stack
_mode_at = torch._C._get_dispatch_stack_at
_function_modes = torch._C._len_torch_function_stack
_hooks_on_saved = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
"""None before torch 2.5, where it cannot be told whether there are such hooks: all calls go to the mode there."""


def patches(simulation: Simulation, mode: PlacementMode, follower: Any) -> Iterator[Patch]:
    """What replaces methods of `torch.Tensor`, `linear`, and the cells of recurrent networks."""
    if _hooks_on_saved is None:
        return

    def alone() -> bool:
        """Whether the mode of the simulation is all that looks on in this thread."""
        if _modes() != 1 or _function_modes():
            return False
        if not watched.others:
            return True
        only = _mode_at(0)
        return (only is mode or only is follower) and _hooks_on_saved(True) is None

    def usable() -> bool:
        """What is written in place makes nothing new, at which a forked child would be refused."""
        return not simulation.driver.in_bad_fork and alone()

    watched = _Watched(simulation, mode, follower)
    yield from watched.patches()
    yield from backward.patches(simulation, alone)
    tensor = torch.Tensor
    yield tensor, "__setitem__", _setitem(simulation, composites.setitem(tensor.__setitem__), alone)
    for name, operator in ELEMENTWISE.items():
        asks = usable if operator.endswith("_") else alone
        yield tensor, name, _elementwise(simulation, getattr(tensor, name), operator, asks)
    for name in FUNCTIONS:
        yield torch, name, _elementwise(simulation, getattr(torch, name), name, alone)
    for name in VIEWS:
        yield tensor, name, _view(simulation, getattr(tensor, name), name, alone)
    yield from subscript.patches(_getitem(simulation, tensor.__getitem__, alone))
    linear = _composed(simulation, torch._C._nn.linear, "addmm", alone)
    yield torch._C._nn, "linear", linear
    yield torch.nn.functional, "linear", linear
    for name in CELLS:
        cell = _composed(simulation, getattr(torch._C._VariableFunctions, name), name, alone)
        yield torch._VF, name, cell
        yield torch, name, cell


class _Watched:
    """Whether anything in this process has ever looked on that `alone` has to ask for.

    To ask for a mode in the place of the simulation's, and for hooks on saved tensors, takes half a microsecond for
    every operation, and most programs have neither. So it is not asked before the first.
    """

    def __init__(self, simulation: Simulation, *modes: Any) -> None:
        self._simulation = simulation
        self._modes = modes
        self.others = _hooks_on_saved is None or _hooks_on_saved(True) is not None
        simulation.graphs_differ |= self.others

    def patches(self) -> Iterator[Patch]:
        """What is told of modes and hooks: through these functions they come."""
        push, push_hooks = _python_dispatch._push_mode, torch._C._autograd._push_saved_tensors_default_hooks

        @functools.wraps(push)
        def push_mode(mode: Any) -> None:
            if not self.others and mode not in self._modes and not _modes():
                self.others = True
            push(mode)

        @functools.wraps(push_hooks)
        def push_saved_tensors_default_hooks(*hooks: Any) -> None:
            self.others = True
            self._simulation.graphs_differ = True  # backward will run the second one
            push_hooks(*hooks)

        yield _python_dispatch, "_push_mode", push_mode
        yield torch._C._autograd, "_push_saved_tensors_default_hooks", push_saved_tensors_default_hooks


def _elementwise(
    simulation: Simulation, original: Callable[..., Any], name: str, alone: Callable[[], bool]
) -> Callable[..., Any]:
    lacks_float64 = simulation.lacks_float64

    @functools.wraps(original)
    def operation(*args: Any, **kwargs: Any) -> Any:
        """`_shared` and `_without_the_mode`, written out: a fifth of the time of a small operation are calls."""
        if kwargs or not alone():
            return original(*args, **kwargs)
        first: Claim | None = None
        for operand in args:
            kind = type(operand)
            if kind in PLAIN:
                try:
                    claim: Claim | None = storage_of(operand)._torchdevlint_claim
                except WITHOUT_STORAGE:
                    return original(*args)
                if claim is None:
                    return original(*args)
                if first is None:
                    first = claim
                elif claim.device is not first.device:
                    return original(*args)
            elif kind not in _NUMBERS:
                return original(*args)
        _leave_out(_PYTHON, True)
        _leave_out(_SNAPSHOT, True)
        try:
            made = original(*args)
        except RuntimeError as error:
            refuse_without_kernel(error)
            raise
        finally:
            _leave_out(_SNAPSHOT, False)
            _leave_out(_PYTHON, False)
        if type(first) is AcceleratorClaim and type(made) is _Tensor and not lacks_float64:
            storage = storage_of(made)
            if storage._torchdevlint_claim is None:
                size, line = storage.nbytes(), user_place(_frame(1))
                storage._torchdevlint_claim = beside(first, BLOCKS.get(size) or block_of(size), name, line)
        elif first is not None:
            claim_new(simulation, made, first.device, first, name)
        return made

    return operation


def _composed(
    simulation: Simulation, original: Callable[..., Any], name: str, alone: Callable[[], bool]
) -> Callable[..., Any]:
    """A function of floating-point tensors that is made of several operators, none of which does anything else."""

    @functools.wraps(original)
    def function(given: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and args and alone() and not _operators_differ() and type(given) in PLAIN:
            states = args[0] if isinstance(args[0], (tuple, list)) else args[:1]
            shared = _shared((given, *states, *args[1:])) if given.is_floating_point() else None
            if shared is not None:
                return _without_the_mode(simulation, original, name, shared, (given, *args))
        return original(given, *args, **kwargs)

    return function


def _operators_differ() -> bool:
    """Whether something is on that acts on the operators inside of a function."""
    return bool(torch._C._is_any_autocast_enabled() or torch._C._get_deterministic_algorithms())


def _without_the_mode(
    simulation: Simulation, original: Callable[..., Any], name: str, shared: Claim, args: tuple[Any, ...]
) -> Any:
    """Called by what replaces a function of torch, whose caller is the line that is remembered."""
    _leave_out(_PYTHON, True)
    _leave_out(_SNAPSHOT, True)
    try:
        made = original(*args)
    except RuntimeError as error:
        refuse_without_kernel(error)
        raise
    finally:
        _leave_out(_SNAPSHOT, False)
        _leave_out(_PYTHON, False)
    if type(shared) is AcceleratorClaim and type(made) is _Tensor and not simulation.lacks_float64:
        storage = storage_of(made)
        if storage._torchdevlint_claim is None:
            block = block_of(storage.nbytes())
            storage._torchdevlint_claim = beside(shared, block, name, user_place(_frame(2)))
    else:
        claim_new(simulation, made, shared.device, shared, name)
    return made


def _view(
    simulation: Simulation, original: Callable[..., Any], name: str, alone: Callable[[], bool]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def view(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and args and type(args[0]) in PLAIN and alone() and all(map(is_of_sizes, args[1:])):
            shared = _shared(args[:1])
            if shared is not None:
                return _without_the_mode(simulation, original, name, shared, args)
        return original(*args, **kwargs)

    return view


def _setitem(simulation: Simulation, original: Callable[..., Any], alone: Callable[[], bool]) -> Callable[..., Any]:
    driver = simulation.driver

    @functools.wraps(original)
    def setitem(self: torch.Tensor, index: Any, value: Any) -> Any:
        if driver.in_bad_fork:
            _refuse_what_was_inherited(simulation, self)
        if type(self) in PLAIN and alone():
            indices = () if type(index) is int else indices_in(index)
            known = indices is not None and not (indices and _operators_differ())
            if known and _shared((self, value, *indices) if indices else (self, value)) is not None:
                if indices and not composites.fills_in(value, indices):
                    _tell_of_masks(simulation, indices, "index_put_")
                _leave_out(_PYTHON, True)
                _leave_out(_SNAPSHOT, True)
                try:
                    return original(self, index, value)
                finally:
                    _leave_out(_SNAPSHOT, False)
                    _leave_out(_PYTHON, False)
        return original(self, index, value)

    return setitem


def _getitem(simulation: Simulation, original: Callable[..., Any], alone: Callable[[], bool]) -> Callable[..., Any]:
    driver = simulation.driver

    @functools.wraps(original)
    def getitem(self: torch.Tensor, index: Any) -> Any:
        if driver.in_bad_fork:
            _refuse_what_was_inherited(simulation, self)
        if type(self) in PLAIN and alone():
            indices = () if type(index) is int else indices_in(index)
            if indices is not None:
                shared = _shared((self, *indices) if indices else (self,))
                if shared is not None and indices:
                    _tell_of_masks(simulation, indices, "index")
                    return _without_the_mode(simulation, original, "index", shared, (self, index))
                if shared is not None:  # a view has the claim of what it is a view of
                    _leave_out(_PYTHON, True)
                    _leave_out(_SNAPSHOT, True)
                    try:
                        return original(self, index)
                    finally:
                        _leave_out(_SNAPSHOT, False)
                        _leave_out(_PYTHON, False)
        return original(self, index)

    return getitem


def _refuse_what_was_inherited(simulation: Simulation, tensor: torch.Tensor) -> None:
    """python_variable_indexing.cpp, `THPVariable_getitem`: its guard makes the tensor's device the current one."""
    if device_of(tensor).type == simulation.kind:
        simulation.driver.refuse_bad_fork()


def _tell_of_masks(simulation: Simulation, indices: Sequence[torch.Tensor], name: str) -> None:
    """How many elements a mask chooses is needed on the CPU (`operators.waits`)."""
    if simulation.recorder is not None:
        for one in indices:
            if one.dtype in _MASKS and device_of(one).type == simulation.kind:
                simulation.recorder.synced(name)
                return


def _shared(operands: Sequence[Any]) -> Claim | None:
    """The first claim of operands that are plain tensors, all claimed to be on one device, and numbers; else None."""
    first: Claim | None = None
    for operand in operands:
        kind = type(operand)
        if kind in PLAIN:
            try:
                claim: Claim | None = storage_of(operand)._torchdevlint_claim
            except WITHOUT_STORAGE:
                return None
            if first is None:
                if claim is None:
                    return None
                first = claim
            elif claim is None or claim.device is not first.device:
                return None
        elif kind not in _NUMBERS:
            return None
    return first
