"""Placements that ignore what the code knows: a literal CUDA device beside a known one (TDL012)."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from torchdevlint.flow.checks.literals import hardcoded
from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.given_devices import Given, at_hand, devices_in
from torchdevlint.flow.checks.literals.given_operands import by_call, by_layer, by_operand, is_of_what_moves
from torchdevlint.flow.checks.literals.refused_cpu import refused_before
from torchdevlint.flow.events import FunctionCalled, LayerCalled, Met, Placed
from torchdevlint.flow.facts.tensors import IgnoresGivenDevice
from torchdevlint.flow.kinds.autograd_functions import is_run_by_the_engine
from torchdevlint.flow.scope.brought_to_current import is_brought_to_current
from torchdevlint.flow.scope.cuda_programs import sets_current_gpu
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, positional_names, stem_of
from torchdevlint.flow.scope.naming_cuda import (
    asks_for_cuda,
    chooses_gpu,
    cuda_defaults,
    cuda_in_words,
    device_arguments,
    is_numbered,
    names_another_gpu,
    names_cuda,
    naming_arguments,
)
from torchdevlint.flow.scope.other_arms import is_for_another_arm
from torchdevlint.flow.scope.parts_of_run import is_within
from torchdevlint.flow.scope.switches import stands_under_switch
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, Device, Origin, Relation, stays_behind
from torchdevlint.flow.state.joins import alternatives, is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref, Tensor, Value
from torchdevlint.flow.vouch.devices import device_at, known_at, remember, remembered
from torchdevlint.flow.vouch.elsewhere import is_given_around, scope_of, stands_here
from torchdevlint.flow.vouch.names import asked_before, means_the_same
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, nodes_in

_OF_OTHERS = regex(r"\b(?:mps|xpu|npu|hpu)\.is_available")
_AGREE = regex(r"[\w.]+\.device == [\w.]+\.device$")
"""Where two tensors are in one place, which may be any: behind ``if a.device != b.device: raise``."""
_MODEL = regex(r"model|net|module", re.IGNORECASE)
_ABOUT_ACCELERATORS = regex(r"cuda|gpu|device|is_available", re.IGNORECASE)


class _Memory:
    """What one file puts on CUDA by name."""

    def __init__(self) -> None:
        self.literals: set[ast.AST] = set()
        """Calls that name CUDA, outside of tests for it."""


def _note_placed(event: Placed) -> None:
    """A move to, or creation on, CUDA by name, where the code says elsewhere which device it has to be."""
    frame, state, node = event.frame, event.state, event.node
    if event.device.origin is not Origin.LITERAL or event.device.name != "cuda" or frame.machine.in_child:
        return
    if not isinstance(node, ast.Call) or is_what_it_is_for(frame) or is_for_cuda(frame):
        return
    text, guarded = names_cuda(node), is_guarded(state) or _is_under_question(frame, node)
    if not guarded or (asks_only_the_machine(frame, node) and not _script_moves(frame)):
        frame.machine.memory(_Memory).literals.add(node)
    if text is None:
        return
    remember(frame, state, node)
    found = _of_guard(frame, state, node) or _up_again(frame, node, state)
    if found is None and not guarded:
        found = at_hand(frame, state, node)
    if found is not None and not _is_made_by(frame, found, node):
        record(frame, state, node, text, found)


def _is_under_question(frame: Frame, node: ast.Call) -> bool:
    """Whether a test that asks for CUDA encloses the place, though the outcome is known on this path."""
    return stands_under_switch(frame.machine.tree, frame.function or frame.machine.tree, node)


def _is_made_by(frame: Frame, found: Given, node: ast.Call) -> bool:
    """Whether the device that is at hand is that of the very tensor which the reported call makes."""
    scope = frame.function or frame.machine.tree
    name = first_name(found.text)
    return scope is not None and any(
        dotted_path(each.targets[0]) == name and (each.value is node or node in nodes_in(each.node, ast.Call))
        for each in assignments_in(scope)
    )


def _note_meeting(event: Met) -> None:
    """An operation of a tensor that was put on CUDA by name, and one whose device only its owner knows."""
    frame, state, one, other = event.frame, event.state, event.one, event.other
    if event.relation is not Relation.UNKNOWN:
        return
    for (put, placed), (node, given) in ((one, other), (other, one)):
        if placed.device.origin is not Origin.LITERAL or given.device.origin not in (Origin.MODEL, Origin.ARGUMENT):
            continue
        place = literal_place(frame, placed)
        if place is not None and not (given.device.origin is Origin.ARGUMENT and is_given_around(frame, place)):
            text = _device_of(frame, state, node, given, place)
            found = by_operand(frame, (place, put), (node, given), text)
            if found is not None:
                record(frame, state, place, cuda_in_words(place), found)


def _note_layer(event: LayerCalled) -> None:
    """``self.layer(x.cuda())`` in a class with a forward, for a layer of a class that is not known."""
    frame, state, node, operands = event.frame, event.state, event.node, event.operands
    path, owner = dotted_path(event.layer) or "", frame.owner
    if owner is None or "forward" not in owner.all_methods or not any(path[5:] in each.writers for each in owner.mro):
        return
    for put, value in operands:
        place = literal_place(frame, value) if isinstance(value, Tensor) else None
        found = None if place is None else by_layer(frame, (place, put), node, path)
        if place is not None and found is not None:
            record(frame, state, place, cuda_in_words(place), found)


def _note_default(event: FunctionCalled) -> None:
    """A call that leaves ``device="cuda"`` of a function of this file as it is, and gives it a tensor."""
    frame, state, node, function, arguments = event.frame, event.state, event.node, event.function, event.arguments
    literals = cuda_defaults(function.node)
    if not literals or arguments.starred or arguments.double_starred or is_guarded(state):
        return
    names = positional_names(function.node)
    taken = {*names[: len(arguments.positional) + (function.receiver is not None)], *arguments.keywords}
    given = next((each for each in arguments.pairs if is_with_inputs(each[1])), None)
    for name, default in literals:
        if given is not None and name not in taken:
            text = f"{name}={frame.machine.text_of(default)}"
            found = Given(
                _device_of(frame, state, *given, node), "it is given a tensor that is somewhere", given[0], "default"
            )
            record(frame, state, node, text, found)


def _note_stream(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A stream of the current GPU, for tensors that the same function moves to a device that it knows."""
    if node.args or node.keywords or frame.function is None or frame.machine.words & {"set_device", "device_of"}:
        return
    if any(map(chooses_gpu, nodes_in(frame.function, ast.With))):
        return
    for each in devices_in(frame.function):
        path = dotted_path(each) or ""
        if path == "self.device" and "current_device" not in frame.machine.words:
            record(frame, state, node, f"{name}()", Given(path, f"`{path}` is where the tensors go", each, "stream"))
            return


def is_with_inputs(value: object) -> bool:
    """Whether it is a tensor that is where an argument or the model is."""
    return isinstance(value, Tensor) and value.device.origin in (Origin.MODEL, Origin.ARGUMENT)


def is_placed_here(frame: Frame, value: Tensor) -> bool:
    """Whether a step in the life of a tensor, besides coming in as an argument, is in the function that is run."""
    function = frame.function
    if function is None:
        return True
    lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    placed = (step.node for step in value.steps if not isinstance(step.node, ast.arg))
    return value.device.origin is not Origin.ARGUMENT and any(getattr(each, "lineno", 0) in lines for each in placed)


def literal_place(frame: Frame, placed: Tensor) -> ast.expr | None:
    """What put the tensor on CUDA by name, if nothing around it asked for CUDA: the call, or the device that it names.

    That is a local name which is bound once, to ``torch.device("cuda")``.
    """
    place = placed.steps[-1].node if placed.steps and placed.device.origin is Origin.LITERAL else None
    if not isinstance(place, ast.Call) or place not in frame.machine.memory(_Memory).literals:
        return None
    if names_cuda(place) is not None:
        return place
    names = [each.id for each in device_arguments(place) if isinstance(each, ast.Name)]
    scope = scope_of(frame, place)
    if isinstance(scope, ast.Module) or not names:
        return None
    values = [each.value for each in assignments_in(scope) if dotted_path(each.targets[0]) == names[0]]
    return values[0] if len(values) == 1 and names_cuda(values[0]) is not None else None


def _device_of(frame: Frame, state: State, node: ast.expr, value: Value, place: ast.AST) -> str:
    """An expression for the device of a tensor or module that can be written at `place`, or else here."""
    text = frame.machine.text_of(node)
    if any(is_module(each) for _, each in alternatives(frame.evaluate(node, state))):
        return f"next({text}.parameters()).device"
    around = remembered(frame, place)
    if around is not None and isinstance(value, Tensor):
        named = device_at(frame, around, place, value.device, f"{text}.device")
        if named is not None:
            return named
    return f"{text}.device" if dotted_path(node) is not None else f"({text}).device"


def record(frame: Frame, state: State, node: ast.AST, text: str, found: Given) -> None:
    machine = frame.machine
    if is_numbered(text) and names_another_gpu(machine.reading.tree_here):
        return
    machine.explain(*hardcoded.keys_of(node))
    scope = scope_of(frame, node)
    is_meant = sets_current_gpu(scope, getattr(node, "lineno", 0)) or is_for_another_arm(scope, node, found.text)
    if is_meant or is_run_by_the_engine(frame) or not machine.imports_torch or is_of_what_moves(found.text, node):
        return

    def make() -> IgnoresGivenDevice:
        known = known_at(frame, node, found.text)
        of_tensor = _is_there(known, found) or _is_asked(frame, found, node)
        stays = frame.machine.discarded is node and not _moves_in_place(frame, state, node)
        named = next(iter(naming_arguments(node)), None) if isinstance(node, ast.Call) else None
        return IgnoresGivenDevice(
            machine.span_of(node),
            text,
            found.text,
            found.why,
            machine.span_of(found.place),
            found.kind,
            machine.text_of(node),
            None if named is None else machine.span_of(named),
            not stays and (of_tensor or known is not None or _is_named(frame, found, node)),
            of_tensor,
            frame.scope,
            asks_only_the_machine(frame, node),
        )

    machine.record(("literal", node), make, state)


def _is_there(known: Device | None, found: Given) -> bool:
    """Whether the device that is at hand is the current GPU in all code that works.

    An operation shows that, or what comes with an input of the model; an argument that nothing meets may be elsewhere,
    as may a device that a function is given and makes no use of.
    """
    return known is not None and (found.meets or known.origin is Origin.MODEL)


def _is_asked(frame: Frame, found: Given, node: ast.AST) -> bool:
    """``if x.is_cuda: y = y.cuda()``, where `x` is still what was asked."""
    return found.of_tensor and isinstance(found.place, ast.expr) and asked_before(frame, found.place, node)


def _is_named(frame: Frame, found: Given, node: ast.AST) -> bool:
    """Whether it is a name for a device, and not the device of something that may be no tensor, or not be there."""
    if found.text.endswith(".device") and "(" not in found.text and dotted_path(found.place) != found.text:
        return False
    return means_the_same(frame, found.text, node, found.place)


def _moves_in_place(frame: Frame, state: State, node: ast.AST) -> bool:
    """Whether a move moves what it is called on, so that its result can be dropped: that of a Module."""
    receiver = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return receiver is not None and is_module(frame.evaluate(receiver, state))


def asks_only_the_machine(frame: Frame, node: ast.AST) -> bool:
    """Whether the tests around a move ask whether there is a GPU, which does not say where the arguments are.

    The function around it counts, whichever reads what was moved.
    """
    scope = scope_of(frame, node)
    if isinstance(scope, ast.Module):
        return False
    around = [each for each in nodes_in(scope, ast.If) if is_within(node, each.body)]
    return bool(around) and all(not each.orelse and asks_for_cuda(each.test) for each in around)


def _script_moves(frame: Frame) -> bool:
    """Whether the file itself moves a model to the current GPU, by the same question as its functions."""
    body = frame.machine.tree.body if frame.machine.tree is not None else []
    outside = [each for each in body if not isinstance(each, ast.ClassDef)]
    calls = [call for each in outside for call in nodes_in(each, ast.Call) if names_cuda(call)]
    moved = [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
    return any(_MODEL.search(frame.machine.text_of(each)) for each in moved)


def is_what_it_is_for(frame: Frame) -> bool:
    """In an override of ``cuda`` or ``to``, or in a function that is for CUDA by its name."""
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return function.name in ("to", "_apply") or "cuda" in function.name.lower()


def is_guarded(state: State) -> bool:
    """Whether a test that asks for an accelerator, in whatever words, encloses the place."""
    asked = (_AGREE.sub("", key) if arm else key for key, arm in state.conditions)
    return state.guarded or any(map(_is_about_accelerators, asked))


@lru_cache(maxsize=4096)
def _is_about_accelerators(key: str) -> bool:
    return _ABOUT_ACCELERATORS.search(_OF_OTHERS.sub("", key)) is not None


def _of_guard(frame: Frame, state: State, node: ast.Call) -> Given | None:
    """``if x.is_cuda: y = y.cuda()``, or behind ``assert x.is_cuda``: the right device is that of `x`."""
    tensor = state.cuda_of or refused_before(frame, node)
    if tensor is None:
        return None
    asked = frame.machine.text_of(tensor)
    moved = frame.machine.text_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if asked == moved or is_brought_to_current(scope_of(frame, node), tensor, node.lineno):
        return None
    return Given(
        f"{asked}.device",
        f"the test asks where `{asked}` is",
        tensor,
        "question",
        of_tensor=dotted_path(tensor) is not None,
    )


def _up_again(frame: Frame, node: ast.Call, state: State) -> Given | None:
    """``x.cpu().f().cuda()``: the right device is the one that `x` came from, unless a literal put it there."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    value = frame.evaluate(receiver, state) if receiver is not None else None
    if receiver is None or not isinstance(value, Tensor) or value.device != CPU or len(value.steps) < 2:
        return None
    down = value.steps[-1].node
    if not stands_here(frame, down):
        return by_call(frame, state, receiver)
    source = down.func.value if isinstance(down, ast.Call) and isinstance(down.func, ast.Attribute) else None
    stem = stem_of(source) if source is not None else None
    path = dotted_path(stem) if stem is not None else None
    if stem is None or path in (None, "self"):
        return None
    origin = frame.evaluate(stem, state)
    if isinstance(origin, Ref) or (isinstance(origin, Tensor) and origin.device.origin is Origin.LITERAL):
        return None
    converted = isinstance(down, ast.Call) and last_name(down.func) == "type"
    if converted and not (isinstance(origin, Tensor) and not stays_behind(origin.device)):
        return None  # ``x.type(torch.LongTensor)`` is about the dtype, unless `x` is elsewhere
    return Given(f"{path}.device", f"`{path}` came from there", down)


EVENTS = {
    Placed: _note_placed,
    Met: _note_meeting,
    LayerCalled: _note_layer,
    FunctionCalled: _note_default,
}
FUNCTIONS = {"torch.cuda.Stream": _note_stream, "torch.cuda.current_stream": _note_stream}
