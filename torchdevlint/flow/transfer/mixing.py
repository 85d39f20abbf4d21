"""Facts of operands that are on different devices: what stayed behind, what it met, and what it was made by."""

from __future__ import annotations

import ast
from functools import partial

from torchdevlint.flow import torch_api
from torchdevlint.flow.checks import batches, placement
from torchdevlint.flow.checks.registering import kept_by
from torchdevlint.flow.facts.common import Creation, Operand
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.state.devices import LOADER, Origin
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Conditions, Site, Tensor, Value
from torchdevlint.flow.vouch.devices import Meeting

_MAX_FURTHER = 8
"""How many other creations behind an operand a fact names."""
_JOINING = frozenset(f"`torch.{name}()`" for name in "stack cat concat concatenate hstack vstack column_stack".split())


def record_mixed(
    frame: Frame,
    state: State,
    node: ast.AST,
    operation: str,
    stayed: tuple[ast.expr, Tensor],
    other: tuple[ast.expr, Tensor],
    written: bool = False,
) -> None:
    """One fact for each creation behind the operand that stayed: each is a place that must be edited.

    What is converted from one of several types that may be given goes with the other arguments, for all that is known.
    `written` says that the operation is to write into it.
    """
    machine = frame.machine
    if stayed[1].device == LOADER:
        batches.record(frame, state, node, operation, stayed, other, _operand(frame, *other))
        return
    argument = other[1].device.name if other[1].device.origin is Origin.ARGUMENT else None
    sites = [site for site in stayed[1].creations if argument is None or not site.converted]
    if stayed[1].creations and not sites:
        return
    place = placement.literal_place(frame, other[1])
    meeting = Meeting(frame, state, node, other[0], other[1].device)

    def make(first: Site | None) -> MixedDevices:
        rest = [site for site in sites if site is not first][:_MAX_FURTHER]
        return MixedDevices(
            at=machine.span_of(node),
            operation=operation,
            stayed=_operand(frame, *stayed),
            other=_operand(frame, *other),
            creations=tuple(_creation(frame, site) for site in ([first, *rest] if first else rest)),
            entry=frame.context,
            model_side=other[1].device.origin is Origin.MODEL,
            there=meeting.device_at(first) if first else None,
            here=meeting.device_here(),
            movable=not written and meeting.reads(stayed[0]),
            one_input=first is not None and first.near is not None and first.near.inputs == 1,
            other_origin=other[1].device.origin.value,
            literal=None if place is None else machine.span_of(place),
            scope=frame.scope,
            placed_here=placement.is_placed_here(frame, other[1]),
            scalar=_scalar(frame, operation, stayed[1], written),
        )

    shown: list[Site | None] = [*sites] or [None]
    for site in shown:
        key = "mixed", site or node
        machine.record(key, partial(make, site), state, argument)
        machine.arrivals.note_finding(frame.function, key, machine.standing, other[1])


def _creation(frame: Frame, site: Site) -> Creation:
    machine = frame.machine
    attribute, whole = (machine.attribute_of(site) if site.where == "init" else None) or (None, True)
    return Creation(
        site.function,
        machine.text_of(site.node),
        machine.span_of(site.node),
        site.where,
        site.scope,
        site.random,
        site.drawn,
        attribute,
        whole,
        kept_by(machine, attribute, site) if attribute is not None else None,
    )


def _operand(frame: Frame, node: ast.expr, value: Tensor) -> Operand:
    machine = frame.machine
    return Operand(machine.text_of(node), value.device.describe(), machine.span_of(node), machine.evidence(value.steps))


def _scalar(frame: Frame, operation: str, stayed: Tensor, written: bool) -> str:
    """What kind of scalar stayed behind, as `MixedDevices` calls it."""
    if any(site.node in frame.machine.collected for site in stayed.creations):
        return "list"
    if stayed.ndim != 0 and not (written and is_one_element(stayed)):
        return ""
    if written:
        return "sum"
    literal = all(site.function.rpartition(".")[2] in torch_api.DATA_FACTORIES for site in stayed.creations)
    return "part" if operation in _JOINING and stayed.creations and literal else ""


def is_one_element(value: Tensor) -> bool:
    """Whether a vector comes from a call such as ``torch.zeros(1)`` or ``torch.tensor([0.5])``."""
    return value.ndim == 1 and any(_makes_one_element(site.node) for site in value.creations)


def _makes_one_element(node: ast.AST) -> bool:
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) == 1:
        return True
    return isinstance(first, ast.Constant) and first.value == 1


def what_is_filled(value: Value, conditions: Conditions = ()) -> Value | None:
    """`value` without what was made empty; None if nothing is left."""
    held = alternatives(value, conditions)
    left = [each for each in held if not is_made_empty(each[1])]
    return value if len(left) == len(held) else choose(left) if left else None


def is_made_empty(value: Value) -> bool:
    """Whether it is ``torch.tensor([])``, ``torch.empty(0, 4)`` or ``torch.Tensor()``, as it was made."""
    if not isinstance(value, Tensor) or len(value.creations) != 1 or len(value.steps) != 1:
        return False
    site = value.creations[0]
    maker, args = site.function.rpartition(".")[2], site.node.args if isinstance(site.node, ast.Call) else []
    listed = args[0].elts if args and isinstance(args[0], (ast.List, ast.Tuple)) else None
    if maker in torch_api.LEGACY_CONSTRUCTORS | torch_api.DATA_FACTORIES and (listed is not None or not args):
        return not listed
    sizes = args if listed is None else listed
    takes_sizes = maker in torch_api.SIZE_FACTORIES | torch_api.LEGACY_CONSTRUCTORS
    return takes_sizes and any(is_zero(each) for each in sizes)


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
