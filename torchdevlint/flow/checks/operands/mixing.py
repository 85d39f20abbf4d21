"""Facts of operands that are on different devices: what stayed behind, what it met, and what it was made by."""

from __future__ import annotations

import ast
from functools import partial

from msgspec.structs import replace

from torchdevlint.flow.checks.literals import placement
from torchdevlint.flow.checks.operands import batches
from torchdevlint.flow.checks.operands.evaluated_models import is_read_in_training_alone
from torchdevlint.flow.checks.operands.filled_alike import is_given_together
from torchdevlint.flow.checks.operands.met_elsewhere import has_meet_elsewhere, is_placed_elsewhere, led_by
from torchdevlint.flow.checks.operands.reported_elsewhere import stands
from torchdevlint.flow.checks.registration.registering import attribute_of, kept_by
from torchdevlint.flow.events import Collected, Mixed
from torchdevlint.flow.facts.common import Creation, Operand
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.kinds.sizes import is_made_empty, is_one_element
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.own_moves import is_before_own_move
from torchdevlint.flow.scope.replaced_by_then import is_replaced_by_then
from torchdevlint.flow.state.devices import LOADER, MODEL, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.values import Site, Tensor
from torchdevlint.flow.vouch.devices import Meeting
from torchdevlint.model import Span
from torchdevlint.source.nodes import is_below, nodes_in

_MAX_FURTHER = 8
"""How many other creations behind an operand a fact names."""
_JOINING = frozenset(f"`torch.{name}()`" for name in "stack cat concat concatenate hstack vstack column_stack".split())
_MASKED = frozenset({"`.masked_fill()`", "`.masked_fill_()`", "`torch.where()`"})
_CHANGE_SIZE = frozenset({"resize_", "resize_as_", "set_"})
"""Methods that give an empty tensor another size, as a call does that is told to write there."""


class _Memory:
    """What one file makes tensors of."""

    def __init__(self) -> None:
        self.collected: set[ast.AST] = set()
        """Calls of `torch.tensor` with a list of tensors that are not on the CPU."""


def _note_collected(event: Collected) -> None:
    event.frame.machine.memory(_Memory).collected.add(event.node)


def _note_mixed(event: Mixed) -> None:
    """One fact for each creation behind the operand that stayed: each is a place that must be edited.

    What is converted from one of several types that may be given goes with the other arguments, for all that is known.
    """
    frame, state, node, operation = event.frame, event.state, event.node, event.operation
    stayed, other, written = event.stayed, event.other, event.written
    machine = frame.machine
    if is_read_in_training_alone(frame, node):
        return
    if stayed[1].device == LOADER:
        batches.record(frame, state, node, operation, stayed, other, _operand(frame, *other))
        return
    if other[1].device == MODEL and (_is_where_the_model_goes(frame, stayed[1]) or _is_not_moved_yet(frame, node)):
        return
    if _fails_anywhere(machine, node, operation, stayed[1], other[1]):
        return
    argument = other[1].device.name if other[1].device.origin is Origin.ARGUMENT else None
    made = () if _is_put_on_another(stayed[1]) else stayed[1].creations
    sites = [site for site in made if argument is None or not site.converted]
    sites = [site for site in sites if stands(frame, site) and not _is_filled_with(frame, site, argument)]
    if frame.owner is not None:
        sites = [site for site in sites if not is_replaced_by_then(frame.owner.node, site.node, node)]
    if made and not sites:
        return
    place = placement.literal_place(frame, other[1])
    meeting = Meeting(frame, state, node, other[0], other[1].device)
    led = has_meet_elsewhere(frame, node, stayed[1], sites, other[1])

    def make(first: Site | None) -> MixedDevices:
        rest = [site for site in sites if site is not first][:_MAX_FURTHER]
        found = MixedDevices(
            at=machine.span_of(node),
            operation=operation,
            stayed=_operand(frame, *stayed),
            other=_operand(frame, *other),
            creations=tuple(_creation(frame, site) for site in ([first, *rest] if first else rest)),
            entry=frame.context,
            model_side=other[1].device.origin is Origin.MODEL,
            there=meeting.device_at(first) if first else None,
            here=meeting.device_here(),
            movable=not (written or event.made_of) and meeting.reads(stayed[0]),
            one_input=first is not None and first.near is not None and first.near.inputs == 1,
            other_origin=other[1].device.origin.value,
            literal=None if place is None else machine.span_of(place),
            scope=frame.scope,
            placed_here=placement.is_placed_here(frame, other[1]),
            placed_elsewhere=is_placed_elsewhere(frame, other[1]),
            scalar=_scalar(frame, operation, stayed[1], written),
            made_of=event.made_of,
            brought=_brought(frame, node, stayed[1], first) if first else None,
            through=_through(frame, node, first) if first else None,
        )
        if led is None or found.brought is not None:
            return found
        call, callee = led
        scope = callee.called_at[1].scope if callee.called_at is not None else frame.scope
        led_by, at = machine.text_of(call), machine.span_of(call)
        return replace(found, at=at, led_by=led_by, met_at=found.at, scope=scope, there=None, here=None)

    shown: list[Site | None] = [*sites] or [None]
    for site in shown:
        key = "mixed", site or node
        machine.record(key, partial(make, site), state, argument)
        machine.arrivals.note_finding(frame.function, key, machine.standing, other[1])


def _fails_anywhere(machine: Machine, node: ast.AST, operation: str, stayed: Tensor, other: Tensor) -> bool:
    """Whether ``torch.empty(0)`` would meet something by its shape, which it never fits: no program comes there."""
    if not (isinstance(node, (ast.BinOp, ast.Compare)) or operation in _MASKED) or other.ndim == 0:
        return False
    if not is_made_empty(stayed, (0,)) or not _CHANGE_SIZE.isdisjoint(machine.words):
        return False
    return all(each.arg != "out" for each in nodes_in(machine.tree, ast.keyword))


def _is_filled_with(frame: Frame, site: Site, argument: str | None) -> bool:
    """Whether a tensor stands for an argument that is left out wherever the other one is left out as well."""
    return argument is not None and is_given_together(frame, site.node, argument)


def _is_where_the_model_goes(frame: Frame, tensor: Tensor) -> bool:
    """Whether a tensor was last moved to what a Module names in its own ``__init__``: ``self.to("cpu")``."""
    move, owner = tensor.steps[-1].node if tensor.steps else None, frame.owner
    init = owner.all_methods.get("__init__", (None, None))[1] if owner is not None else None
    if init is None or not isinstance(move, ast.Call) or not move.args:
        return False
    own = (each for each in nodes_in(init, ast.Call) if dotted_path(each.func) == "self.to" and each.args)
    return any(ast.dump(each.args[0]) == ast.dump(move.args[0]) for each in own)


def _is_not_moved_yet(frame: Frame, node: ast.AST) -> bool:
    """Whether a method here, or one that leads here, moves its Module further down: ``self.to(device)``."""
    while frame.function is not None:
        if is_before_own_move(frame.function, node):
            return True
        if frame.called_at is None:
            return False
        node, frame = frame.called_at
    return False


def _is_put_on_another(tensor: Tensor) -> bool:
    """Whether it was moved to an accelerator, which is the wrong one: where it was made is not to be edited."""
    return tensor.moved and tensor.device.origin is Origin.LITERAL and not on_cpu(tensor.device)


def _brought(frame: Frame, node: ast.AST, tensor: Tensor, site: Site) -> Operand | None:
    """The argument by which this file gives a tensor of another file to what has it meet the other operand there."""
    led = led_by(frame, node) if frame.machine.span_of(site.node).file else None
    if led is None:
        return None
    call, inner = led
    given = inner.given[max(len(inner.given) - len(call.args), 0) :]
    for argument, value in zip(call.args, given, strict=False):
        if isinstance(value, Tensor) and site in value.creations:
            return _operand(frame, argument, tensor)
    return None


def _through(frame: Frame, node: ast.AST, site: Site) -> Span | None:
    """The call that leads to the operation, if that is neither here nor at `site`: the one of the function entered.

    To an operation in another file the last call of this file leads, unless `site` is one of its arguments.
    """
    led = led_by(frame, node)
    if led is not None:
        return None if is_below(site.node, led[0]) else frame.machine.span_of(led[0])
    call, function = None, frame.function
    while frame.called_at is not None:
        call, frame = frame.called_at
    apart = call is not None and frame.scope != site.scope and frame.function is not function
    span = frame.machine.span_of(call) if call is not None and apart else None
    return None if span is None or span.file else span


def _creation(frame: Frame, site: Site) -> Creation:
    machine = frame.machine
    attribute, whole = (attribute_of(machine, site) if site.where == "init" else None) or (None, True)
    return Creation(
        site.function,
        machine.text_of(site.node),
        machine.span_of(site.node),
        "function" if attribute is None and _is_made_for_plain_object(machine, site) else site.where,
        site.scope,
        site.random,
        site.drawn,
        attribute,
        whole,
        kept_by(machine, attribute, site) if attribute is not None else None,
        site.of_tensor,
    )


def _is_made_for_plain_object(machine: Machine, site: Site) -> bool:
    """Whether what was made while a Module is constructed was made in a method of what is no Module."""
    name = site.scope.rpartition(".")[0]
    plain = any(each.name == name and not each.is_module for each in machine.classes.values())
    return site.where == "init" and plain


def _operand(frame: Frame, node: ast.expr, value: Tensor) -> Operand:
    machine = frame.machine
    return Operand(machine.text_of(node), value.device.describe(), machine.span_of(node), machine.evidence(value.steps))


def _scalar(frame: Frame, operation: str, stayed: Tensor, written: bool) -> str:
    """What kind of scalar stayed behind, as `MixedDevices` calls it."""
    collected = frame.machine.memory(_Memory).collected
    if collected and any(site.node in collected for site in stayed.creations):
        return "list"
    if stayed.ndim != 0 and not (written and is_one_element(stayed)):
        return ""
    if written:
        return "sum"
    literal = all(site.function.rpartition(".")[2] in torch_api.DATA_FACTORIES for site in stayed.creations)
    return "part" if operation in _JOINING and stayed.creations and literal else ""


EVENTS = {Mixed: _note_mixed, Collected: _note_collected}
