"""Arguments that a function places itself: a move would do nothing if they were there, so they come from elsewhere.

What is moved may be made of several arguments, which were together before. That is known only when a function has run,
so findings that rest on the place of an argument are noted until then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from torchdevlint.flow.knowledge.torch_api import MOVE_METHODS
from torchdevlint.flow.state.devices import Device, Origin, on_cpu
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.nodes import nodes_in

Key = tuple[object, ...]
Parameter = tuple[ast.AST, str]
"""A function and the name of one of its parameters."""

_CHOSEN = (Origin.EXPRESSION, Origin.LITERAL, Origin.MODEL)
"""Places that the code chooses, unlike that of another argument."""


class Arrivals:
    """What the run of a file shows of the places in which arguments arrive."""

    def __init__(self) -> None:
        self._moved: set[ast.arg] = set()
        self._at_model: set[ast.arg] = set()
        """Arguments that meet a parameter, or what a layer gave, as they came."""
        self._with: dict[ast.arg, set[ast.arg]] = {}
        """For each argument those that it meets in an operation."""
        self._handed_on: dict[tuple[ast.AST, str], set[ast.arg]] = {}
        """For each parameter the arguments that calls of this file hand on to it."""
        self._resting: dict[Key, tuple[int, set[ast.arg | None]]] = {}
        """What findings rest on, with the standing of the code that shows them."""
        self.made_of: dict[Parameter, dict[Parameter, None]] = {}
        """For each parameter those of entered functions of which calls make what they give it, unmoved."""
        self.placed: set[Parameter] = set()
        """Parameters that a call gives something which is neither on the CPU nor where an argument is."""
        self.brought_back: dict[Parameter, bool] = {}
        """Whether all that the program of the file itself gives a parameter is on the CPU by name: ``x.cpu()``."""
        self.left_behind: set[Parameter] = set()
        """Parameters that a call gives what its function has a copy of on a device."""
        self.open: set[Parameter] = set()
        """Parameters that a call gives something of which nothing is known."""
        self.given: dict[Parameter, bool] = {}
        """Whether calls of this file give a parameter anything but None; of what they do not call nothing is told."""
        self.read_on_host: dict[Parameter, set[ast.AST]] = {}
        """Parameters of entered functions that NumPy reads as they came, whatever the branch, and where it does."""

    def note_move(self, function: ast.AST | None, call: ast.Call, tensor: Tensor, device: Device) -> None:
        """A move of a tensor; one to where another argument is says nothing of the rest: ``y.to(x.device)``.

        ``y.type_as(x)`` is there to convert.
        """
        argument = _argument(function, tensor)
        converts = isinstance(call.func, ast.Attribute) and call.func.attr == "type_as"
        if argument is None or converts or on_cpu(device) or device.origin not in _CHOSEN:
            return
        names = {each.id for given in call.args for each in nodes_in(given, ast.Name)}
        if device != tensor.device or "self" in names:
            self._moved.add(argument)

    def note_operands(self, function: ast.AST | None, operands: Iterable[Tensor]) -> None:
        """Tensors that an operation takes together."""
        tensors = list(operands)
        arguments = {each for tensor in tensors if (each := _argument(function, tensor)) is not None}
        for each in arguments:
            self._with.setdefault(each, set()).update(arguments)
        if any(tensor.steps and tensor.steps[0].of_module and not tensor.moved for tensor in tensors):
            self._at_model |= arguments

    def note_parameter(self, function: ast.AST, name: str, caller: ast.AST | None, given: Iterable[Tensor]) -> None:
        """A call gives a parameter what may be made of arguments of its caller."""
        arguments = {each for tensor in given if (each := _argument(caller, tensor)) is not None}
        if arguments:
            self._handed_on.setdefault((function, name), set()).update(arguments)

    def note_finding(self, function: ast.AST | None, key: Key, standing: int, other: Tensor) -> None:
        """A finding that holds if `other` is not where what it meets is; the highest standing tells."""
        known, rests_on = self._resting.get(key, (standing, set()))
        if standing >= known:
            self._resting[key] = standing, {*(rests_on if standing == known else ()), _argument(function, other)}

    def unfounded(self) -> Iterator[Key]:
        """The findings that rest on nothing but arguments which the file moves itself."""
        moved = self._together(self._moved) - self._together(self._at_model)
        for (function, name), given in self._handed_on.items():
            if given & moved:
                moved |= {each for each in nodes_in(function, ast.arg) if each.arg == name}
        return (key for key, (_, rests_on) in self._resting.items() if rests_on <= moved)

    def forget_reads(self, found: frozenset[object]) -> None:
        """Take no read for right that is a finding itself: it says nothing of where a parameter is."""
        left = {parameter: reads - found for parameter, reads in self.read_on_host.items()}
        self.read_on_host = {parameter: reads for parameter, reads in left.items() if reads}

    def given_to(
        self, parameter: Parameter, observed: Mapping[Parameter, bool], seen: frozenset[Parameter] = frozenset()
    ) -> bool | tuple[Parameter, ...]:
        """Whether all calls of this file give a parameter tensors of the CPU; else the arguments that these hand on.

        None of them where no call tells. `observed` says it of the calls that hand on no argument.
        """
        if parameter in self.read_on_host or observed.get(parameter):
            return True
        if parameter in self.placed:
            return False
        left: dict[Parameter, None] = {}
        seen |= {parameter}
        handed_on = [each for each in self.made_of.get(parameter, ()) if each not in seen]
        for each in handed_on:
            given = self.given_to(each, observed, seen)
            if given is False:
                return False
            left |= {} if given is True else dict.fromkeys(given or (each,))
        return tuple(left) or (True if handed_on else ())

    def _together(self, arguments: set[ast.arg]) -> set[ast.arg | None]:
        """These arguments and all that are where they are."""
        found: set[ast.arg | None] = set()
        level = set(arguments)
        while level:
            found |= level
            level = {each for argument in level for each in self._with.get(argument, ())} - found
        return found


def _argument(function: ast.AST | None, tensor: Tensor) -> ast.arg | None:
    """The argument of which a tensor is made, if nothing has moved it yet.

    One that turned out to be a tensor by its use is known by its name in the `function` that is run, and what was made
    of it by its place.
    """
    if not tensor.steps or tensor.moved:
        return None
    first, *later = tensor.steps
    if later and any(_is_move(each.node) for each in later):
        return None
    node = first.node
    if isinstance(node, ast.arg) or function is None:
        return node if isinstance(node, ast.arg) else None
    names = [node.id] if isinstance(node, ast.Name) else []
    names += [tensor.device.name] if tensor.device.origin is Origin.ARGUMENT else []
    return next((each for name in names for each in nodes_in(function, ast.arg) if each.arg == name), None)


def _is_move(node: ast.AST) -> bool:
    """``x.to(device)`` in the life of a tensor, whatever was made of it since."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MOVE_METHODS
