"""Functions that send something to CUDA by name unless they are told not to, and are not told (TDL012).

``def ones(n, use_cuda=True)`` is called as ``ones(3)``, beside tensors that are somewhere else.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.checks.literals.calls_with_cuda import sized_by
from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.placement import is_guarded, is_what_it_is_for, is_with_inputs, record
from torchdevlint.flow.checks.literals.same_device import is_of_literal
from torchdevlint.flow.events import FunctionCalled
from torchdevlint.flow.scope.names import defaults, mentions_cuda, positional_names
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.source.nodes import nodes_in, once_a_node, own_nodes_in


def _note_call(event: FunctionCalled) -> None:
    """A call that leaves a switch on, in `forward` or what it calls, or with a tensor that is somewhere."""
    frame, state, node, function, arguments = event.frame, event.state, event.node, event.function, event.arguments
    switch = _switch_of(function.node) if isinstance(function.node, ast.FunctionDef) else None
    if switch is None or arguments.starred or arguments.double_starred or frame.function is None:
        return
    names = positional_names(function.node)
    given = names[: len(arguments.positional) + (function.receiver is not None)]
    if switch in given or switch in arguments.keywords:
        return
    if is_what_it_is_for(frame) or is_for_cuda(frame) or is_guarded(state) or frame.machine.in_child:
        return
    found = _given(event) or sized_by(frame, state, node) or _input(frame, state)
    if found is not None and not is_of_literal(frame.function, frame.owner, found.text):
        record(frame, state, node, f"{switch}=True", replace(found, kind="switch"))


def _given(event: FunctionCalled) -> Given | None:
    """What the function is given, if it is a tensor that is somewhere."""
    for at, value in event.arguments.pairs:
        if isinstance(at, ast.Name) and is_with_inputs(value):
            return Given(f"{at.id}.device", f"`{at.id}` is given to it", at)
    return None


def _input(frame: Frame, state: State) -> Given | None:
    """A parameter of `forward`, or of what it calls, that is where the model is."""
    if frame.entry.kind != "forward" or frame.owner is None or frame.function is None:
        return None
    taken = (*positional_names(frame.function), *(each.arg for each in frame.function.args.kwonlyargs))
    name = next((each for each in taken if is_with_inputs(state.env.get(each))), None)
    return None if name is None else Given(f"{name}.device", f"`{name}` is where the model is", frame.function)


@once_a_node
def _switch_of(function: ast.FunctionDef) -> str | None:
    """The parameter that is on by default, and sends something to CUDA: ``if use_cuda: x = x.cuda()``."""
    if mentions_cuda(function.name):
        return None
    literals = ((name, each) for name, each in defaults(function) if isinstance(each, ast.Constant))
    on = {name for name, each in literals if each.value is True and mentions_cuda(name)}
    for test in own_nodes_in(function, ast.If) if on else ():
        name = test.test.id if isinstance(test.test, ast.Name) else ""
        sent = (call for each in test.body for call in nodes_in(each, ast.Call))
        if name in on and any(names_cuda(each) is not None for each in sent):
            return name
    return None


EVENTS = {FunctionCalled: _note_call}
