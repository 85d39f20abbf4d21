"""Functions that take a device which is the CPU by default, where nothing in an application gives another one."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import BatchNotMoved, MixedDevices, ReadOnHost
from torchdevlint.flow.programs.reached.options_off import OptionsOff
from torchdevlint.flow.programs.texts.project_calls import around
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.names import device_spec, given_by_default, has_stars, parameter_names
from torchdevlint.source.nodes import names_bound_in


def is_left_on_cpu(fact: Fact, options: OptionsOff) -> bool:
    """Whether each call that comes to a place leaves a device of its function at the CPU, on which the fact rests.

    A call that takes another arm may give any device. What the top level of a program says is a setting, be it the CPU.
    """
    device = _device_of(fact)
    coming = options.coming_to(fact.at) if device.isidentifier() and not fact.at.file else None
    if coming is None:
        return False
    (_, function, owner), sites = coming
    default = dict(given_by_default(function.args)).get(device)
    if device not in parameter_names(function) or device in names_bound_in(function) or not _is_cpu(default):
        return False
    for file, call in sites:
        given = argument_of(call, function, device, is_bound=owner is not None)
        if has_stars(call) or not (given is None or (_is_cpu(given) and around(file, call.lineno))):
            return False
    return bool(sites)


def _device_of(fact: Fact) -> str:
    """How the place is called on which one of two tensors is, or what the host reads."""
    if isinstance(fact, (MixedDevices, BatchNotMoved)):
        return fact.other.device.strip("`")
    return fact.value.device.strip("`") if isinstance(fact, ReadOnHost) else ""


def _is_cpu(place: ast.expr | None) -> bool:
    """Whether it is the CPU by name, or a device that is made of that."""
    named = None if place is None else device_spec(place)
    return isinstance(named, ast.Constant) and named.value == "cpu"
