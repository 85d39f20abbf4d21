"""What a module that is made here has to be moved for: its layers, or buffers and parameters of its own (TDL004).

Its own are those that `forward` surely brings together with an input, itself or by a module that it holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.kinds.held_modules import classes_held
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run.objects import attribute_of_object
from torchdevlint.flow.scope.names import dotted_path, positional_names
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Library, Obj, Tensor, Value
from torchdevlint.source.nodes import arguments_of, inside, nodes_in, once_a_node

_SOMETIMES = (ast.IfExp, ast.Try, ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.BoolOp)
_MAX_HELD = 3
"""How many modules hold each other on the way to the one that has the buffer."""


def has_parameters(frame: Frame, module: Library | Obj) -> bool:
    """Whether its class surely makes parameters, and neither it nor what it holds brings anything anywhere."""
    if isinstance(module, Library):
        if libraries.holds_tensors(module.name) or libraries.makes_model(module.name):
            return True
        name = module.name.rpartition(".")[2]
        layers = (each.name.rpartition(".")[2] for each in module.children if isinstance(each, Library))
        return name in torch_api.PARAMETER_MODULES or any(each in torch_api.PARAMETER_MODULES for each in layers)
    if not module.info.resolved or _places(module.info):
        return False
    if any(each.makes_layers for each in module.info.mro):
        return True
    if any(_is_unmoved(frame, each) for each in _given_to(module)):
        return True
    held = classes_held(module.info, frame.machine.others)
    return any(each.makes_layers for one in held for each in one.mro) and not any(map(_places, held))


def _given_to(module: Obj) -> list[Value]:
    """What its constructor got, which a Module keeps."""
    positional, keywords = module.made_of or ((), ())
    return [*positional, *(value for _, value in keywords)]


def _is_unmoved(frame: Frame, given: Value) -> bool:
    """Whether it is a module with parameters, and where it was made."""
    if not isinstance(given, (Library, Obj)) or given.device != DEFAULT:
        return False
    return is_module(given) and has_parameters(frame, given)


def meets_own(
    frame: Frame, module: Obj, hops: int = _MAX_HELD, method: str = "forward", names: frozenset[str] | None = None
) -> bool:
    """Whether a method surely combines an input with a buffer or parameter of its own that has dimensions.

    `names` are the inputs that count; else all do.
    """
    info, found = module.info, module.info.all_methods.get(method)
    if not info.resolved or found is None or _places(info):
        return False
    given = frozenset(positional_names(found[1])[1:]) if names is None else names
    combined, asked = _met(info, found[1].body, given)
    return any(_is_own(frame, module, each) for each in combined) or (
        hops > 0 and any(_holds_own(frame, module, each, hops) for each in asked)
    )


def _is_own(frame: Frame, module: Obj, name: str) -> bool:
    """Whether an attribute is a buffer or parameter with dimensions, for all classes that set it."""
    held = _attribute(frame, module, name)
    own = (each for each in held if isinstance(each, Tensor) and each.device == MODEL)
    return bool(held) and [each for each in own if each.ndim not in (None, 0)] == held


def _holds_own(frame: Frame, module: Obj, name: str, hops: int) -> bool:
    """Whether an attribute is a module of which the same is true."""
    held = _attribute(frame, module, name)
    return bool(held) and all(isinstance(each, Obj) and meets_own(frame, each, hops - 1) for each in held)


def _attribute(frame: Frame, module: Obj, name: str) -> list[Value]:
    attribute_of_object(frame, module, name)
    return [each.attributes[name] for each in module.info.mro if name in each.attributes]


def _met(info: ClassInfo, body: list[ast.stmt], given: frozenset[str]) -> tuple[set[str], set[str]]:
    """The attributes of `self` that a parameter surely is combined with, and those that are called with one.

    An operator or a function of torch combines. Of two branches both do, or one hands both to a function that is not
    known, and the other one shows what they are.
    """
    combined, called = set[str](), set[str]()
    for statement in body:
        if isinstance(statement, ast.If) and statement.orelse:
            arms = [_met(info, each, given) for each in (statement.body, statement.orelse)]
            (one, one_called), (other, other_called) = arms
            combined |= (one & (other | _handed(statement.orelse, given))) | (other & _handed(statement.body, given))
            called |= one_called & other_called
        elif not isinstance(statement, ast.If):
            for function, names in _operations(statement, given):
                path = dotted_path(function) or "" if function is not None else ""
                if function is None or (info.public_name(function) or "").startswith("torch."):
                    combined |= names
                elif path.startswith("self.") and path.count(".") == 1:
                    called.add(path.removeprefix("self."))
    return combined, called


def _handed(body: list[ast.stmt], given: frozenset[str]) -> set[str]:
    """The attributes of `self` that go to a call together with a parameter."""
    return {name for each in body for _, names in _operations(each, given) for name in names}


@once_a_node
def _calls_and_operators(statement: ast.stmt) -> tuple[tuple[ast.expr | None, tuple[ast.expr, ...]], ...]:
    """The operands of each operator and call of a statement that it surely comes to, with what is called."""
    branches = (each for each in inside(statement) if isinstance(each, _SOMETIMES))
    sometimes = {inner for each in branches for inner in inside(each)}
    found: list[tuple[ast.expr | None, tuple[ast.expr, ...]]] = []
    for node in inside(statement):
        if node in sometimes:
            continue
        if isinstance(node, ast.BinOp):
            found.append((None, (node.left, node.right)))
        elif isinstance(node, ast.Call):
            found.append((node.func, tuple(arguments_of(node))))
    return tuple(found)


def _operations(statement: ast.stmt, given: frozenset[str]) -> Iterator[tuple[ast.expr | None, set[str]]]:
    """What is called, or None for an operator, and the attributes of `self` that go with a parameter there."""
    for function, operands in _calls_and_operators(statement):
        if any(isinstance(each, ast.Name) and each.id in given for each in operands):
            paths = (dotted_path(each) or "" for operand in operands for each in _calculated_with(operand))
            own = {path.removeprefix("self.") for path in paths if path.startswith("self.") and path.count(".") == 1}
            yield function, own


def _calculated_with(operand: ast.expr) -> Iterator[ast.expr]:
    """``self.table`` and ``self.scale`` for ``self.table * self.scale``, and what is no calculation for itself."""
    if isinstance(operand, ast.BinOp):
        yield from _calculated_with(operand.left)
        yield from _calculated_with(operand.right)
    else:
        yield operand


def _places(info: ClassInfo) -> bool:
    return any(speaks_of_places(each.node) for each in info.mro)


@once_a_node
def speaks_of_places(node: ast.ClassDef) -> bool:
    """Whether a class moves something, or asks for a device."""
    words = {each.attr for each in nodes_in(node, ast.Attribute)} | {each.arg for each in nodes_in(node, ast.keyword)}
    words |= {each.arg for each in nodes_in(node, ast.arg)}
    return not words.isdisjoint({"to", "device", "cpu", *torch_api.DEVICE_METHODS})
