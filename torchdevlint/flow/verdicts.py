"""Which facts stand in the end: those that rest on something, and one for each cause.

This is the one place where a fact is taken back that was recorded. A fact falls if the code that recorded it, or other
code, has explained it (`Machine.explain`), if it takes an argument to be elsewhere that all callers give from the CPU,
and if another fact is nearer to the edit that would end both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Creation, Fact, Operand
from torchdevlint.flow.facts.devices import DeviceNotForwarded, LeftBehind
from torchdevlint.flow.facts.modules import LossNotMoved, ModulesInContainer, MovedParameter
from torchdevlint.flow.facts.processes import AcceleratorInWorker, PinnedOnDevice
from torchdevlint.flow.facts.tensors import (
    BatchNotMoved,
    DeadLoopMove,
    DiscardedMove,
    IgnoresGivenDevice,
    MixedDevices,
    ReadOnHost,
)
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.scope.programs import functions_of_program, mentions_accelerators, names_accelerators
from torchdevlint.flow.state.arrivals import Parameter
from torchdevlint.flow.state.machine import Machine
from torchdevlint.model import Span
from torchdevlint.patterns import regex

_NAME = regex(r"\w+(?:\.\w+(?!\w*\())*")
"""A name, or an attribute, at the beginning of an expression, without methods that are called on it."""


def founded(
    machine: Machine,
    is_given_cpu_elsewhere: Callable[[ast.AST, str], bool],
    is_placed_elsewhere: Callable[[ast.AST, str], bool],
) -> Iterator[Fact]:
    """What was found and holds, asking what callers in other files give a parameter: tensors of the CPU, or placed."""
    machine.explain(*machine.arrivals.unfounded())
    machine.arrivals.forget_reads(frozenset(key[-1] for key in machine.held if key[0] == "host"))

    def seen_on_cpu(parameter: Parameter) -> bool:
        function, name = parameter
        called = function in machine.entered and name in parameter_names(function)  # type: ignore[arg-type]
        on_cpu = machine.observed.get(parameter, called) or _is_of_the_program(machine, function)
        return on_cpu or is_given_cpu_elsewhere(function, name)

    for key, held in machine.held.items():
        if (held.owner is not None and held.owner.in_pipeline) or not machine.explained.isdisjoint((key, key[-1])):
            continue
        if isinstance(held.fact, ReadOnHost) and held.fact.by_callers:
            alone = ("host", key[-1]) not in machine.held
            asked = [each for each in held.assumed if each is not None and alone]
            if any(not is_given_cpu_elsewhere(*each) and is_placed_elsewhere(*each) for each in asked):
                yield held.fact
            elif held.fact.for_users and asked and not any(map(seen_on_cpu, asked)):
                yield replace(held.fact, by_users=True)
            continue
        if any(each is None or not _is_given_cpu(machine, each, is_given_cpu_elsewhere) for each in held.assumed):
            of_arguments = isinstance(held.fact, (LossNotMoved, MixedDevices, ReadOnHost))
            known = [each for each in held.assumed if each is not None] if of_arguments else ()
            placed = any(each in machine.arrivals.placed or is_placed_elsewhere(*each) for each in known)
            yield replace(held.fact, placed_by_caller=True) if placed else held.fact


def _is_given_cpu(
    machine: Machine, parameter: Parameter, is_given_cpu_elsewhere: Callable[[ast.AST, str], bool]
) -> bool:
    """Whether all calls that are seen give a parameter tensors of the CPU, here and in other files."""
    if _is_brought_back(machine, parameter):
        return True
    given = _is_of_the_program(machine, parameter[0]) or machine.arrivals.given_to(parameter, machine.observed)
    if isinstance(given, bool):
        return given
    handed_on = bool(given) and all(is_given_cpu_elsewhere(*each) for each in given)
    return handed_on or (machine.observed.get(parameter) is None and is_given_cpu_elsewhere(*parameter))


def _is_brought_back(machine: Machine, parameter: Parameter) -> bool:
    """Whether only the program of this file calls a function, and with what it has moved to the CPU."""
    if not machine.arrivals.brought_back.get(parameter) or machine.observed.get(parameter) is False:
        return False
    return parameter not in machine.arrivals.placed and parameter[0] in functions_of_program(machine.tree)


def _is_of_the_program(machine: Machine, function: ast.AST) -> bool:
    """Whether only the program of this file calls a function, and nothing that it is made of knows accelerators.

    A notebook is a program as a whole, since nobody imports it.
    """
    notebook = machine.others is not None and machine.others.home.endswith(".ipynb")
    if not notebook and function not in functions_of_program(machine.tree):
        return False
    used = machine.others.texts_used() if machine.others is not None else ()
    return not mentions_accelerators(machine.reading.source.text) and not any(map(names_accelerators, used))


Led = MixedDevices | BatchNotMoved
"""What a call in this file has meet in another one."""


def led_to(facts: Iterable[Fact]) -> list[Led]:
    """The facts of what meets in another file, to which a call in this one leads."""
    return [each for each in facts if isinstance(each, (MixedDevices, BatchNotMoved)) and each.led_by]


def not_told_there(led: Iterable[Led], told_in: Callable[[str], list[Fact]]) -> Iterator[Led]:
    """Those calls that lead to operands of other files which nothing tells of there, be it advice."""
    by_file: dict[str, set[tuple[int, int]]] = {}
    for fact in led:
        causes = _to_be_edited(fact)
        places = {each.file for each in causes} | {fact.met_at.file if fact.met_at is not None else ""}
        for path in places.difference(by_file):
            found = (each for each in told_in(path) if isinstance(each, (MixedDevices, BatchNotMoved)))
            told = {span for each in found for span in _to_be_edited(each)}
            by_file[path] = {(each.row, each.column) for each in told if not each.file}
        if not any((each.row, each.column) in by_file[each.file] for each in causes):
            yield fact


def _to_be_edited(fact: Led) -> list[Span]:
    """What made the operand that stays behind, or the loop that takes it from its loader."""
    return [fact.loaded_at] if isinstance(fact, BatchNotMoved) else [each.span for each in fact.creations]


def with_causes(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, each with what it shares with the others that one decision would end."""
    return [replace(fact, shared=":".join(map(str, held))) if (held := _shared(fact)) else fact for fact in facts]


def _shared(fact: Fact) -> tuple[object, ...]:
    """The value that is in the wrong place, or the decision that the function has not taken; nothing where it is alone.

    Facts of different functions have nothing in common, but for an attribute, which is the business of its class, as
    are Parameters that it moves in one way, and an option such as ``args.cuda``, which is that of the file, as are the
    buffers of its kernels. A script, unlike a function, loads one thing after another, for many ends.
    """
    if isinstance(fact, IgnoresGivenDevice):
        if fact.kind == "kernel":
            return ("", fact.kind)
        of_file = fact.kind == "flag" and "." in fact.given and not fact.given.startswith("self.")
        return "" if of_file else fact.scope, fact.kind, fact.given
    if isinstance(fact, CheckpointLoad):
        return (fact.scope, fact.function) if fact.scope else ()
    if isinstance(fact, DiscardedMove):
        return (fact.scope, fact.receiver, fact.method, fact.target) if fact.scope else ()
    if isinstance(fact, ReadOnHost):
        whole = _whole(fact.value)
        return fact.scope, whole, _placed_at(fact.value) if whole == _name(fact.value) else fact.value.device
    if isinstance(fact, MovedParameter):
        return (fact.class_name, fact.ending) if fact.ending else ()
    return _shared_by_mixed(fact) if isinstance(fact, MixedDevices) else ()


def _shared_by_mixed(fact: MixedDevices) -> tuple[object, ...]:
    """The attribute that stays behind, the place for which a function makes its tensors, or what put one on the CPU."""
    if not fact.creations:
        name, at = _name(fact.stayed), _placed_at(fact.stayed)
        owner, _, method = fact.scope.rpartition(".")
        is_attribute = bool(owner and method) and name.startswith("self.")
        return (owner, name, at) if is_attribute else (fact.scope, at or name)
    first = fact.creations[0]
    if first.where == "init" and first.attribute:
        return first.scope.rpartition(".")[0], first.attribute
    if first.where == "module" and fact.scope:
        return ()
    return (first.scope, fact.other.device, "made of a tensor") if first.of_tensor else (first.scope, fact.other.device)


def _name(operand: Operand) -> str:
    found = _NAME.match(operand.text)
    return found[0] if found is not None else operand.text


def _whole(operand: Operand) -> str:
    """The object that the operand is a part of: all of a model, or of what it gave, is in one place."""
    name, _, part = _name(operand).partition(".")
    return f"{name}.{part}" if name in ("self", "cls") else name


def _placed_at(operand: Operand) -> Span | None:
    """What brought the operand where it is."""
    return operand.evidence[-1][1] if operand.evidence else None


def nearest(facts: Iterable[Fact]) -> list[Fact]:
    """The facts without those that another one explains.

    A batch that was left behind explains the operation that it is used in, and a move whose result is lost explains
    that its device is a literal. A literal device explains what its tensor meets, unless that was made on the CPU by
    the same function, which stays there whatever the device. Workers that use an accelerator explain that what they
    give cannot be pinned. A device that a function was given and has forgotten explains what is mixed with what it
    makes, and a plain list of Parameters what its items meet; a load that says nothing of the place explains that it
    forgets the one it was given, unless what it loads was published, which is nearly always for the CPU. What an
    attribute meets explains that the ``to`` of its object leaves it, and what something meets that it is left alone
    among others.
    """
    held = list(facts)
    loads = {fact.at for fact in held if isinstance(fact, CheckpointLoad) and not fact.published}
    forgotten = {fact.at for fact in held if isinstance(fact, DeviceNotForwarded) and fact.kind != "unread"}
    mixed = {each.span for fact in held if isinstance(fact, MixedDevices) for each in fact.creations}
    contained = {(fact.class_name, fact.attribute) for fact in held if isinstance(fact, ModulesInContainer)}
    lost = [fact.at for fact in held if isinstance(fact, (DiscardedMove, DeadLoopMove, MovedParameter))]
    literals = {
        fact.at
        for fact in held
        if isinstance(fact, IgnoresGivenDevice)
        and fact.kind not in ("lone", "module", "alone")
        and not any(_within(fact.at, each) for each in lost)
    }
    shown = literals | {fact.literal for fact in held if isinstance(fact, MixedDevices) and fact.literal is not None}
    meeting = {(fact.scope.rpartition(".")[0], _whole(fact.stayed)) for fact in held if isinstance(fact, MixedDevices)}
    batches = {fact.at for fact in held if isinstance(fact, BatchNotMoved)}
    loaders = {fact.loader_at for fact in held if isinstance(fact, AcceleratorInWorker)}
    used = _used(held)
    return [
        fact
        for fact in held
        if not (isinstance(fact, LeftBehind) and (fact.at in loads or _left(fact) in meeting or _is_used(fact, used)))
        and not (_is_shown(fact, shown, lost) if _is_lone(fact) else _is_explained(fact, batches, literals))
        and not (isinstance(fact, DeviceNotForwarded) and fact.at in loads)
        and not (isinstance(fact, DeviceNotForwarded) and fact.kind == "unread" and fact.at in mixed)
        and not (isinstance(fact, CheckpointLoad) and fact.published and fact.at in forgotten)
        and not (isinstance(fact, MixedDevices) and any(each.span in forgotten for each in fact.creations))
        and not (isinstance(fact, MixedDevices) and any(_keeper(each) in contained for each in fact.creations))
        and not (isinstance(fact, PinnedOnDevice) and fact.loader_at in loaders)
    ]


_AMONG_OTHERS = frozenset({"beside", "cases"})
Used = tuple[set[str], list[Span]]
"""The names of what stays behind in operations, and where it begins."""


def _used(facts: Iterable[Fact]) -> Used:
    told = [fact for fact in facts if not fact.hurts_nobody]
    stayed = [fact for fact in told if isinstance(fact, MixedDevices)]
    names = {fact.name for fact in told if isinstance(fact, BatchNotMoved)} | {_name(fact.stayed) for fact in stayed}
    made = [each.span for fact in stayed for each in fact.creations]
    return names, [*made, *(span for fact in stayed for _, span in fact.stayed.evidence)]


def _is_used(fact: LeftBehind, used: Used) -> bool:
    """Whether what is left among others is seen to meet one of them, which is nearer, and hurts somebody."""
    names, places = used
    if fact.among not in _AMONG_OTHERS:
        return False
    return fact.name in names or any(_within(each, fact.at) for each in places if not each.file)


def _left(fact: LeftBehind) -> tuple[str, str] | None:
    """The class and the attribute that its own ``to`` leaves, for which what it meets is nearer."""
    return (fact.function.rpartition(".")[0], fact.left) if fact.among == "attributes" else None


def _keeper(creation: Creation) -> tuple[str, str | None]:
    """The class and the attribute of it that hold what was made."""
    return creation.scope.rpartition(".")[0].rpartition(".")[2], creation.attribute


def _is_explained(fact: Fact, batches: set[Span], literals: set[Span]) -> bool:
    if isinstance(fact, IgnoresGivenDevice):
        return fact.at not in literals
    if not isinstance(fact, MixedDevices):
        return False
    return fact.at in batches or (fact.literal in literals and not _is_made_beside(fact))


def _is_lone(fact: Fact) -> bool:
    return isinstance(fact, IgnoresGivenDevice) and fact.kind in ("lone", "module", "alone")


def _is_shown(fact: Fact, shown: set[Span], lost: list[Span]) -> bool:
    """Whether something at hand says of a literal, or a move that is lost, what the rest of its file does."""
    return fact.at in shown or any(_within(fact.at, each) for each in lost)


def _is_made_beside(fact: MixedDevices) -> bool:
    """Whether the function that holds the operation made what stayed on the CPU."""
    return bool(fact.creations) and fact.creations[0].scope == fact.scope


def _within(inner: Span, outer: Span) -> bool:
    start, end = (inner.row, inner.column), (inner.end_row, inner.end_column)
    return (outer.row, outer.column) <= start and end <= (outer.end_row, outer.end_column)
