"""What says where things belong, around a place that names CUDA: devices, attributes, choices, flags (TDL012)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

from torchdevlint.flow.checks.literals.same_device import (
    choice_of,
    goes_to_others,
    is_chosen,
    is_literal,
    says_more,
)
from torchdevlint.flow.kinds import known_devices
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.deciding_flags import deciding_test
from torchdevlint.flow.scope.decorators import is_of_class
from torchdevlint.flow.scope.model_names import is_named_like_a_loss
from torchdevlint.flow.scope.names import defaults, dotted_path, first_name, mentions_device, parameter_names
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.joins import settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Dev
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction, functions_in
from torchdevlint.source.nodes import (
    Assignment,
    assignment_of,
    assignments_in,
    inside,
    is_inside,
    nodes_in,
    once_a_node,
    own_assignments_in,
    own_nodes_in,
)

_OF_MODULES = torch_api.MODULE_ONLY_ATTRIBUTES - {"zero_grad", "state_dict", "load_state_dict"}
"""What modules have and optimizers have not."""
_FOR_SOMETHING_ELSE = regex(
    r"^(?:num|n|nr)_|devices|^(?:out|output|storage|offload|map|cpu|ema|save|load|dst|src|cache|input|host|result|gather(?:ed)?|collect)_"
)
"""Names of devices that are not where the model and its inputs are, or of numbers of devices."""
_KNOWN = (Origin.EXPRESSION, Origin.MODEL, Origin.ARGUMENT)


class Given(Struct, frozen=True):
    """An expression that says where, why it does, and the place that shows it; the rest as in the fact."""

    text: str
    why: str
    place: ast.AST
    kind: str = "device"
    of_tensor: bool = False
    meets: bool = False
    """An operation shows it, at which both have to be on one device."""


def at_hand(frame: Frame, state: State, node: ast.Call) -> Given | None:
    """What says where to, in a name, in an attribute that is used around `node`, or by a flag."""
    scope = frame.function or frame.machine.tree
    found = chain(
        _in_a_name(frame, state),
        _beside(frame, state, scope),
        _chosen(frame, scope),
        _of_self(frame, state),
        _flag(frame, scope, node),
        _of_kept_model(frame, state, node),
        (Given(*each) for each in known_devices.at_hand(frame, state)),
    )
    said = (each for each in found if says_more(frame, node, each.text, each.place))
    return next((each for each in said if not _is_cuda_here(scope, node, each.text)), None)


def _is_cuda_here(scope: ast.AST, node: ast.Call, text: str) -> bool:
    """Whether the place is run only where a device is the literal itself: ``if device == "cuda":``."""
    return any(is_inside(node, each) for test in _asking_for_cuda(scope).get(text, ()) for each in test.body)


@once_a_node
def _asking_for_cuda(scope: ast.AST) -> dict[str, list[ast.If]]:
    """The statements that ask whether a device is ``"cuda"``, by its name."""
    found: dict[str, list[ast.If]] = {}
    for each in nodes_in(scope, ast.If):
        test = each.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and right.value == "cuda":
                found.setdefault(dotted_path(test.left) or "", []).append(each)
    return found


def _in_a_name(frame: Frame, state: State) -> Iterator[Given]:
    """A parameter or a local name that holds a device."""
    if frame.function is None:
        return
    for name, held in state.env.items():
        value = settle(held, state.conditions)
        if _FOR_SOMETHING_ELSE.search(name) or name in _on_the_cpu_by_default(frame.function):
            continue
        if isinstance(value, Choice) and mentions_device(name) and is_chosen([each for _, each in value.alternatives]):
            bound = next((each for each in assignments_in(frame.function) if _binds(each, name)), None)
            if bound is not None:
                yield Given(name, f"`{name}` is chosen here", bound.node)
        if not isinstance(value, Dev) or value.device.origin is Origin.LITERAL:
            continue
        if value.device == Device(Origin.EXPRESSION, name):
            yield Given(name, f"the function is given `{name}`", frame.function)
        if mentions_device(name):
            bound = next((each for each in assignments_in(frame.function) if _binds(each, name)), None)
            taken = bound is not None and isinstance(bound.value, ast.Attribute) and bound.value.attr == "device"
            if bound is not None and (taken or value.device.origin in _KNOWN):
                yield Given(name, f"`{name}` is the device here", bound.node)


def _on_the_cpu_by_default(function: AnyFunction) -> frozenset[str]:
    """The parameters whose default says CPU: where something is kept, not where it is computed."""
    return frozenset(
        name
        for name, default in defaults(function)
        if default is not None
        and any(isinstance(each, ast.Constant) and each.value == "cpu" for each in inside(default))
    )


def _binds(node: Assignment, name: str) -> bool:
    return any(dotted_path(target) == name for target in node.targets)


def _beside(frame: Frame, state: State, scope: ast.AST) -> Iterator[Given]:
    for each in devices_in(scope):
        path = dotted_path(each) or ""
        if _FOR_SOMETHING_ELSE.search(path.rpartition(".")[2]) or _is_kept_on_cpu(frame, path):
            continue
        seen = _is_visible(frame, state, path) and not _is_bound_inside(scope, each, path)
        if seen and not is_literal(frame, each, state):
            yield Given(path, f"`{path}` is used beside it", each)


def _is_visible(frame: Frame, state: State, path: str) -> bool:
    """Whether the name that a path starts with is bound where the place is."""
    name = first_name(path)
    return name in state.env or any(name in names for names in frame.closure.scopes)


def _is_bound_inside(scope: ast.AST, node: ast.expr, path: str) -> bool:
    """Whether a path stands in a function within the scope that binds its first name anew."""
    name = first_name(path)
    inner: list[AnyFunction] = [*functions_in(scope)]
    for function in (*inner, *nodes_in(scope, ast.Lambda)):
        if function.lineno <= node.lineno <= (function.end_lineno or 0):
            parameters = {each.arg for each in nodes_in(function.args, ast.arg)}
            if name in parameters or any(bound for _, bound, _ in bindings_in(function).get(name, ())):
                return True
    return False


def _is_kept_on_cpu(frame: Frame, path: str) -> bool:
    """Whether an attribute of `self` holds a parameter of ``__init__`` whose default says CPU."""
    init = frame.owner.methods.get("__init__") if frame.owner is not None and path.startswith("self.") else None
    if init is None:
        return False
    names = _on_the_cpu_by_default(init)
    return bool(names) and any(
        dotted_path(node.targets[0]) == path and bool(names & {each.id for each in nodes_in(node.node, ast.Name)})
        for node in assignments_in(init)
    )


def _of_self(frame: Frame, state: State) -> Iterator[Given]:
    """``self.device``, which another method uses or chooses."""
    if frame.owner is None or not _is_visible(frame, state, "self"):
        return
    for info in frame.owner.mro:
        inner = nodes_in(info.node, ast.ClassDef)
        for each in devices_in(info.node):
            if any(other.lineno <= each.lineno <= (other.end_lineno or 0) for other in inner):
                continue
            path = dotted_path(each) or ""
            own = path.startswith("self.") and not _FOR_SOMETHING_ELSE.search(path[5:])
            if (
                own
                and not _is_of_a_part(info, path)
                and not is_literal(frame, each, state)
                and not _is_kept_on_cpu(frame, path)
            ):
                yield Given(path, "the object knows its device", each)
        for node in assignments_in(info.node):
            path = dotted_path(node.targets[0]) or ""
            if path.startswith("self.") and mentions_device(path[5:]) and _is_choice(node.value):
                yield Given(path, "the object has chosen its device", node.node)
        yield from _given_to(frame, info)


def _given_to(frame: Frame, info: ClassInfo) -> Iterator[Given]:
    """``self.device = device`` of an argument of ``__init__``."""
    init = info.methods.get("__init__")
    parameters = set() if init is None else set(parameter_names(init)) - _on_the_cpu_by_default(init)
    for node in () if init is None else assignments_in(init):
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name in parameters and name.rpartition("_")[2] == "device" and not _FOR_SOMETHING_ELSE.search(name):
            path = dotted_path(node.targets[0]) or ""
            if path in ("self.device", "self._device"):
                yield Given(path, "the object is given its device", node.node)


def _is_of_a_part(info: ClassInfo, path: str) -> bool:
    """Whether it is the device of a module that the object holds, which may be another one: ``self.teacher.device``."""
    holder = path.rpartition(".")[0]
    if holder == "self":
        return False
    called = any(dotted_path(node.func) == holder for node in nodes_in(info.node, ast.Call))
    return called or any(
        node.attr in torch_api.MODULE_ONLY_ATTRIBUTES and dotted_path(node.value) == holder
        for node in nodes_in(info.node, ast.Attribute)
    )


@once_a_node
def devices_in(scope: ast.AST) -> tuple[ast.expr, ...]:
    """The attributes that a function, class or file gives to ``.to(..)`` or ``device=``, such as ``args.device``."""
    return tuple(_devices_in(scope))


def _devices_in(scope: ast.AST) -> Iterator[ast.expr]:
    for node in nodes_in(scope, ast.Call):
        given = [keyword.value for keyword in node.keywords if keyword.arg == "device"]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            given += node.args[:1]
        for each in given:
            for part in (each.body, each.orelse) if isinstance(each, ast.IfExp) else (each,):
                if isinstance(part, ast.Attribute) and part.attr in ("device", "_device") and dotted_path(part):
                    yield part


def _chosen(frame: Frame, scope: ast.AST) -> Iterator[Given]:
    """``device = "cuda" if torch.cuda.is_available() else "cpu"``, in the function or in the module around it."""
    yield from _chosen_in(scope)
    yield from _chosen_on_top(frame.machine.reading.tree_here)
    yield from _chosen_by_arms(scope)


@once_a_node
def _chosen_in(scope: ast.AST) -> tuple[Given, ...]:
    return tuple(_choices(own_assignments_in(scope)))


@once_a_node
def _chosen_on_top(module: ast.Module) -> tuple[Given, ...]:
    return tuple(_choices(each for each in map(assignment_of, module.body) if each is not None))


def _choices(assignments: Iterable[Assignment]) -> Iterator[Given]:
    for node in assignments:
        if not isinstance(node.targets[0], ast.Name) or not _is_choice(node.value):
            continue
        name = node.targets[0].id
        if mentions_device(name) and not _FOR_SOMETHING_ELSE.search(name):
            yield Given(name, f"`{name}` is chosen here", node.node)


@once_a_node
def _chosen_by_arms(scope: ast.AST) -> tuple[Given, ...]:
    found = (_given_by_arms(node) for node in own_nodes_in(scope, ast.If))
    return tuple(each for each in found if each is not None)


def _given_by_arms(node: ast.If) -> Given | None:
    """``if ..: device = torch.device("cuda")`` with ``else: device = torch.device("cpu")``."""
    for target, value in _bound_in(node.body).items():
        other = _bound_in(node.orelse).get(target)
        means_place = mentions_device(target) and not _FOR_SOMETHING_ELSE.search(target)
        if other is not None and means_place and _are_two_sides(value, other):
            return Given(target, f"`{target}` is chosen here", node.test)
    return None


def _bound_in(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """What the statements of a block assign to plain names."""
    return {
        each.targets[0].id: each.value
        for each in map(assignment_of, body)
        if each is not None and isinstance(each.targets[0], ast.Name)
    }


def _is_choice(node: ast.expr) -> bool:
    """Whether an expression is CUDA on one side of a test and the CPU on the other."""
    choice = choice_of(node)
    return choice is not None and _are_two_sides(choice.body, choice.orelse)


def _are_two_sides(one_side: ast.expr, other_side: ast.expr) -> bool:
    one, other = (
        {each.value for each in inside(arm) if isinstance(each, ast.Constant)} for arm in (one_side, other_side)
    )
    return ("cpu" in one and _is_any_cuda(other)) or ("cpu" in other and _is_any_cuda(one))


def _is_any_cuda(values: Iterable[object]) -> bool:
    return any(isinstance(each, str) and each.startswith("cuda") for each in values)


def _flag(frame: Frame, scope: ast.AST, node: ast.Call) -> Iterator[Given]:
    """``if use_cuda: model.cuda()``: a flag that decides the other moves of the same function.

    A loss has seldom any parameters, and where there are none a move asks for no GPU.
    """
    test = deciding_test(scope)
    target = targets_by_value(scope).get(node)
    if test is None or (target is not None and is_named_like_a_loss(target)):
        return
    text = dotted_path(test) or frame.machine.text_of(test)
    yield Given(text, f"`{text}` decides it here", test, "flag")


def _of_kept_model(frame: Frame, state: State, moved: ast.Call) -> Iterator[Given]:
    """A model that the object was given and keeps, and that its class does not move.

    It says nothing of what goes into other attributes of the object alone.
    """
    owner, init = frame.owner, frame.owner.methods.get("__init__") if frame.owner is not None else None
    if owner is None or init is None or owner.is_module or not _is_visible(frame, state, "self"):
        return
    if isinstance(frame.function, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_of_class(frame.function):
        return
    parameters = parameter_names(init)
    for node in assignments_in(init):
        path = dotted_path(node.targets[0]) or ""
        if not path.startswith("self.") or not isinstance(node.value, ast.Name) or node.value.id not in parameters:
            continue
        names = (path, node.value.id)
        uses = {each.attr for each in nodes_in(owner.node, ast.Attribute) if dotted_path(each.value) in names}
        functions = (each.func for each in nodes_in(owner.node, ast.Call) if isinstance(each.func, ast.Attribute))
        called = {each.attr for each in functions if dotted_path(each.value) in names}
        if goes_to_others(frame.function, moved, path):
            continue
        if called & _OF_MODULES and not uses & {"to", "cuda", "device", "module"}:
            yield Given(f"next({path}.parameters()).device", f"the object is given `{path}`", node.node)
