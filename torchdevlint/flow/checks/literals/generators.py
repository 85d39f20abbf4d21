"""Generators of CUDA by name, by which the same function draws where a tensor is (TDL012).

``torch.randint(9, size, generator=g, device=x.device)`` refuses a `g` of the current GPU wherever else `x` is.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.for_cuda import is_for_cuda
from torchdevlint.flow.checks.literals.given_devices import Given
from torchdevlint.flow.checks.literals.placement import is_guarded, is_what_it_is_for, record
from torchdevlint.flow.checks.literals.same_device import says_more
from torchdevlint.flow.scope.names import dotted_path, first_name, parameter_names
from torchdevlint.flow.scope.naming_cuda import names_cuda
from torchdevlint.flow.scope.place_tests import names_place, tests_around
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignments_in, is_inside, keyword_of, nodes_in, own_nodes_in


def _note_generator(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``g = torch.Generator(device="cuda")``, and ``torch.rand(n, generator=g, device=x.device)`` behind it."""
    function, text = frame.function, names_cuda(node)
    if function is None or text is None or frame.machine.in_child or is_guarded(state):
        return
    if is_what_it_is_for(frame) or is_for_cuda(frame) or any(map(names_place, tests_around(function, node))):
        return
    place = _drawn_for(function, node)
    path = dotted_path(place) if place is not None else None
    if place is None or path is None or not says_more(frame, node, path, place):
        return
    why = f"it draws for `{path}` here" if path.endswith(".device") else f"it draws for `{path}`, a device, here"
    record(frame, state, node, text, Given(path, why, place))


def _drawn_for(function: AnyFunction, made: ast.Call) -> ast.expr | None:
    """The device of an argument, or a device that is one, for which a call draws by what is made."""
    bound = (each for each in assignments_in(function) if each.value is made or is_inside(made, each.value))
    names = {dotted_path(target) for each in bound for target in each.targets} - {None}
    for call in own_nodes_in(function, ast.Call):
        given = keyword_of(call, "generator")
        if given is not None and call.lineno >= made.lineno and (given is made or dotted_path(given) in names):
            told = (keyword_of(each, "device") for each in (call, *nodes_in(call, ast.Call)))
            found = next((each for each in told if each is not None and _is_of_argument(function, each)), None)
            if found is not None:
                return found
    return None


def _is_of_argument(function: AnyFunction, place: ast.expr) -> bool:
    """``x.device`` of an argument `x`, or an argument `device`, which nothing binds anew."""
    path = dotted_path(place) or ""
    root = first_name(path)
    if not path or (path != root and path != f"{root}.device") or root not in parameter_names(function) - {"self"}:
        return False
    return not any(is_bound for _, is_bound, _ in bindings_in(function).get(root, ()))


FUNCTIONS = {"torch.Generator": _note_generator}
