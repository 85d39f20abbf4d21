"""The dispatch mode below autograd: checks the operands of every ATen call and claims what comes out.

The usual case is one loop over the arguments: if all claims name one device, the operation runs and its new outputs
get that device. Only where claims differ are the operator's own rules asked (`operators`): they raise what the
accelerator would raise, or say where the outputs are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from torchdevlint.runtime.simulated.errors import (
    out_of_memory,
    refuse_without_kernel,
)
from torchdevlint.runtime.simulated.operators import Rule, placement, placements, rule_for, waits
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.story import passes, refuse_pinning, refused
from torchdevlint.runtime.simulated.tensors import registered
from torchdevlint.runtime.simulated.tensors.claims import (
    CPU,
    PLAIN,
    WITHOUT_STORAGE,
    Claim,
    claim_of,
    device_of,
    storage_of,
    tensors_in,
)
from torchdevlint.runtime.simulated.tensors.gradients import returns_to
from torchdevlint.runtime.simulated.tensors.kernels import as_on_cuda, by_name
from torchdevlint.runtime.simulated.tensors.randomness import check_generator, drawn, is_random
from torchdevlint.runtime.simulated.tensors.results import WITH_A_MODE, adopt, claim_new
from torchdevlint.runtime.simulated.tensors.special import SPECIAL
from torchdevlint.runtime.simulated.tensors.wrappers import takes_operations_apart

Handler = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Overload = Any

_Tensor = torch.Tensor
_SEQUENCES = (list, tuple)
_NO_KEYWORDS: dict[str, Any] = {}
_EXPLICIT = torch._C.DispatchKey.CompositeExplicitAutograd
_has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key


class PlacementMode(TorchDispatchMode):  # type: ignore[misc]
    """Runs one simulation. Modes are thread-local; one object may be entered in several threads."""

    supports_higher_order_operators = True

    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self._simulation = simulation
        self._handlers: dict[int, tuple[Handler, Overload]] = {}
        """By the identity of an overload, which is kept as well: its hash is worked out in Python for each look-up."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not wrapped in `torch._disable_dynamo`, which costs a microsecond for each operation."""
        return False

    def __torch_dispatch__(
        self, func: Overload, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if types and any(map(takes_operations_apart, types)):
            self._simulation.graphs_differ = True
            if any(issubclass(kind, WITH_A_MODE) for kind in types):
                return func(*args, **(kwargs or {}))  # the mode of their tracer comes after this one
            return NotImplemented  # a subclass with its own dispatch takes the operation apart first
        known = self._handlers.get(id(func))
        if known is None:
            known = self._handlers[id(func)] = self._handler(func), func
        return known[0](args, kwargs or _NO_KEYWORDS)

    def _handler(self, func: Overload) -> Handler:
        if isinstance(func, torch._ops.HigherOrderOperator):
            return self._higher_order(func)
        if func in SPECIAL:
            handler: Handler = SPECIAL[func](self._simulation, func)
            return handler
        if _has_kernel(func.name(), "CompositeImplicitAutograd"):
            return self._composite(func)
        return registered.handler_for(self._simulation, func, self, self._kernel(func))

    def _kernel(self, func: Overload) -> Handler:
        rule = rule_for(func)
        schema = rule.schema
        if schema.device is not None and not schema.tensors:
            return _factory(self._simulation, func, rule)
        given = schema.generator is not None or schema.device is not None
        particular = given or is_random(func) or rule.always or rule.syncs or rule.outputs not in _USUAL
        make = _particular if particular else _usual
        handler = by_name(schema, make(self._simulation, func, rule))
        if rule.kind == "free" and len(schema.tensors) > 1 and _has_kernel(func.name(), _EXPLICIT.name):
            handler = self._taken_apart(func, handler)
        return as_on_cuda(self._simulation, func, handler)

    def _taken_apart(self, func: Overload, handler: Handler) -> Handler:
        """An operator without a check of its own, made of others that may have one: where operands differ, they say."""

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not survey(args, kwargs)[1]:
                return handler(args, kwargs)
            self._simulation.graphs_differ = True
            with self:
                return func._op_dk(_EXPLICIT, *args, **kwargs)

        return run

    def _composite(self, func: Overload) -> Handler:
        """Operators that autograd takes apart arrive whole under `torch.inference_mode`, and with nested tensors.

        Nested ones stay whole where there is a kernel for them, as for `linear`.
        """
        whole = None
        if _has_kernel(func.name(), "NestedTensorCPU"):
            whole = _usual(self._simulation, func, rule_for(func))

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if whole is not None and any(tensor.is_nested for tensor in tensors_in(args, kwargs)):
                return whole(args, kwargs)
            with self:
                return func.decompose(*args, **kwargs)

        return run

    def _higher_order(self, func: Any) -> Handler:
        """`cond` and its likes run functions of the program, by a kernel that is written in Python."""

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if torch._C._len_torch_dispatch_stack():
                return func(*args, **kwargs)  # a tracer's mode, which lies below this one, takes it
            with self:
                return func.dispatch(torch._C.DispatchKey.CPU, *args, **kwargs)

        return run


_USUAL = ("common", "aliases", "each")


def _usual(simulation: Simulation, func: Overload, rule: Rule) -> Handler:
    """An operator whose operands share a device and whose new outputs are there too."""
    call = func._op
    name = rule.schema.base
    makes_new = rule.outputs != "aliases"
    writes = any(argument.written for argument in rule.schema.tensors)
    driver, fills = simulation.driver, writes and torch.Tag.inplace_view not in func.tags

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first, mixed, unclaimed = survey(args, kwargs)
        if first is None:
            return call(*args, **kwargs)
        places = where(simulation, rule, args, kwargs) if mixed else first.device
        if fills and driver.in_bad_fork:
            _refuse_to_write(simulation, first)
        try:
            made = call(*args, **kwargs)
        except RuntimeError as error:
            refuse_without_kernel(error)
            raise
        if makes_new or _has_own_claim(made):
            claim_new(simulation, made, places, first, name)
        if unclaimed and writes:
            adopt(simulation, rule, args, kwargs, first)
        return made

    return run


def _refuse_to_write(simulation: Simulation, first: Claim | None) -> None:
    """In a forked child. What makes something new is refused where that is claimed."""
    if first is not None and first.device.type == simulation.kind:
        simulation.driver.refuse_bad_fork()


def _particular(simulation: Simulation, func: Overload, rule: Rule) -> Handler:
    """An operator with a `device` or a generator, one that waits for the accelerator, or with outputs elsewhere."""
    call, kind, schema = func._op, simulation.kind, rule.schema
    name = schema.base
    writes = any(argument.written for argument in schema.tensors)
    outputs, random = rule.outputs, is_random(func)

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first, mixed, unclaimed = survey(args, kwargs)
        wanted = kwargs.get("device") if schema.device is not None else None
        ours = wanted is not None and wanted.type == kind
        if (first is None and not ours) or (wanted is not None and wanted.type not in ("cpu", kind)):
            return call(*args, **kwargs)
        places: Any = CPU if first is None else first.device
        if mixed or rule.always:
            places = where(simulation, rule, args, kwargs)
        if writes and simulation.driver.in_bad_fork:
            _refuse_to_write(simulation, first)
        generator = kwargs.get("generator")
        if generator is not None and first is not None:
            check_generator(simulation, generator, first.device, name)
        if rule.syncs and simulation.recorder is not None:
            _tell_if_it_waits(simulation, rule, args, kwargs)
        if ours:
            places = simulation.resolve(wanted)
            kwargs = {**kwargs, "device": CPU}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        if random and not isinstance(places, tuple) and places.type == kind:
            made = drawn(simulation, call, rule, args, kwargs, places)
        else:
            made = call(*args, **kwargs)
        if ours:
            simulation.created(made, places, name)
        elif outputs != "aliases" or _has_own_claim(made):
            claim_new(simulation, made, _as_said(outputs, places), first, name)
        if unclaimed and writes and first is not None:
            adopt(simulation, rule, args, kwargs, first)
        return made

    return run


def _as_said(outputs: str | tuple[str, ...], places: Any) -> Any:
    """`places`, but for the outputs that are on the CPU whatever the operands are (`Rule.outputs`)."""
    if isinstance(outputs, tuple):
        return tuple(CPU if output == "cpu" else places for output in outputs)
    return CPU if outputs == "cpu" else places


def _tell_if_it_waits(simulation: Simulation, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if simulation.recorder is not None and waits(rule, args, kwargs, device_of):
        simulation.recorder.synced(rule.schema.base)
        if any(tensor.requires_grad for tensor in tensors_in(args, kwargs)):
            simulation.graphs_differ = True  # it may wait again in backward


def _has_own_claim(made: Any) -> bool:
    """Whether this is a tensor that shares no claim with what it is a view of: a sparse one, such as `sparse.t()`."""
    return isinstance(made, _Tensor) and made.layout is not torch.strided


def _factory(simulation: Simulation, func: Overload, rule: Rule) -> Handler:
    """An operator that makes a tensor from no tensor, on the device it is told."""
    call, kind = func._op, simulation.kind
    name, random = rule.schema.base, is_random(func)

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wanted = kwargs.get("device")
        pinned = kwargs.get("pin_memory")
        generator = kwargs.get("generator")
        device = simulation.resolve(wanted) if wanted is not None else CPU
        if generator is not None:
            check_generator(simulation, generator, device, name)
        if wanted is not None and wanted.type == kind:
            kwargs = {**kwargs, "device": CPU}
        if pinned:
            if device.type == kind:
                refuse_pinning(simulation, name)
            kwargs = {**kwargs, "pin_memory": False}
        try:
            if random and device.type == kind:
                made = drawn(simulation, call, rule, args, kwargs, device)
            else:
                made = call(*args, **kwargs)
        except RuntimeError as error:
            if device.type == kind and "DefaultCPUAllocator" in str(error):
                raise out_of_memory(kind) from error
            raise
        if device.type == kind or pinned:
            simulation.claim(made, device, name, pinned=bool(pinned))
        return made

    return run


def survey(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Claim | None, bool, bool]:
    """The first claim among the operands, whether another names another device, and whether one has no claim."""
    first: Claim | None = None
    mixed = unclaimed = False
    for arg in (*args, *kwargs.values()) if kwargs else args:
        if type(arg) in PLAIN:
            try:
                claim = storage_of(arg)._torchdevlint_claim
            except WITHOUT_STORAGE:
                claim = claim_of(arg)
        elif isinstance(arg, _Tensor):
            claim = claim_of(arg)
        elif isinstance(arg, _SEQUENCES) and arg:
            claim, some_mixed, some_unclaimed = survey(tuple(arg), _NO_KEYWORDS)
            mixed, unclaimed = mixed or some_mixed, unclaimed or some_unclaimed
            if claim is None:
                continue
        else:
            continue
        if claim is None:
            unclaimed = True
        elif first is None:
            first = claim
        elif claim.device is not first.device and claim.device != first.device:
            mixed = True
    return first, mixed, unclaimed


def where(simulation: Simulation, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Where an operation has its outputs: a device, or one for each. Raises what the accelerator would raise."""
    found = [claim.device for tensor in tensors_in(args, kwargs) if (claim := claim_of(tensor)) is not None]
    likely = next((device for device in found if device.type == simulation.kind), CPU)

    def claimed(tensor: torch.Tensor) -> torch.device:
        claim = claim_of(tensor)
        return likely if claim is None else claim.device

    try:
        ask = placements if rule.outputs == "each" else placement
        places = ask(rule.overload, args, kwargs, claimed)
    except Exception as error:  # noqa: BLE001 (the accelerator's exceptions are of many classes)
        if passes(simulation, error):
            return likely
        raise refused(simulation, error, rule.schema.base) from None
    for tensor in tensors_in(args, kwargs):
        if tensor.requires_grad:
            simulation.graphs_differ = True
            if tensor.dim() == 0:
                returns_to(tensor, claimed(tensor))
    return places
