"""Calls of what is not known: moves, state dicts, and results that are where the arguments are."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache

from torchdevlint.flow.events import LayerCalled, Placed
from torchdevlint.flow.kinds.annotated import is_annotated_module
from torchdevlint.flow.kinds.given_models import runs_a_model
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.batch_beside import compare_with_batch, compare_with_target
from torchdevlint.flow.run.given_operands import given_operands, spread_operands
from torchdevlint.flow.run.hooks import HOOKS, note_hook
from torchdevlint.flow.run.kernel_launches import is_launch, launch
from torchdevlint.flow.run.model_places import GIVE_PARAMETERS, parameters_of_kept
from torchdevlint.flow.run.moves import after_tested, bind_moved, method_device, number_of_device, to_device
from torchdevlint.flow.run.numpy_reads import note_unknown
from torchdevlint.flow.run.objects import write_attribute
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.run.outputs import follows_input, follows_moved
from torchdevlint.flow.run.rebound import of_rebound
from torchdevlint.flow.scope.assigned import targets_by_value, values_by_path
from torchdevlint.flow.scope.chains import chained, unchained
from torchdevlint.flow.scope.dimensions import takes_along
from torchdevlint.flow.scope.host_names import may_leave_device
from torchdevlint.flow.scope.model_names import is_named_like_a_loss, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, positional_names
from torchdevlint.flow.scope.uses import Uses, asked_in, uses_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import MODEL, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NUMBER,
    NUMBERS,
    UNKNOWN,
    Func,
    Library,
    Obj,
    Ref,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in


def note_layer(
    frame: Frame, state: State, node: ast.Call, layer: ast.expr, arguments: Arguments, known: bool = False
) -> list[tuple[ast.expr, Value]]:
    """``layer(..)`` or ``layer.forward(..)``; the operands, which are given back, may show what is in another place.

    Of a layer that is `known` more than they do, what made it decides.
    """
    operands = given_operands(arguments)
    frame.machine.emit(LayerCalled(frame, state, node, layer, operands))
    if not known:
        compare_with_batch(frame, state, node, operands, layer)
    return operands


def call_unknown(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if isinstance(node.func, ast.Subscript) and is_launch(frame, state, node.func):
        return launch(frame, state, node, node.func.value, arguments)
    operands = note_layer(frame, state, node, node.func, arguments)
    by_use = is_module_by_use(frame, node.func) and not is_named_like_a_loss(node.func)
    made = UNKNOWN if by_use else of_unknown_callee(frame, state, node, arguments)
    return made if made != UNKNOWN else of_model(frame, node.func, [*operands, *spread_operands(arguments)]) or made


def of_model(frame: Frame, callee: ast.expr, operands: Operands) -> Value | None:
    """What a Module by its use gives, or what is named like a model and is given what was moved for it, else None."""
    if is_module_by_use(frame, callee):
        return follows_input(operands)
    moved = follows_moved(operands) if is_named_like_a_model(callee) else UNKNOWN
    return None if moved == UNKNOWN else moved


def of_method(frame: Frame, node: ast.Call, callee: ast.Attribute, arguments: Arguments) -> Value:
    """What a method of something unknown gives; one that runs a model does what its call does."""
    made = of_inputs(frame, node, arguments)
    if made != UNKNOWN or callee.attr != "forward":
        return made
    return of_model(frame, callee.value, [*given_operands(arguments), *spread_operands(arguments)]) or made


def of_unknown_callee(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """What a call of something unknown gives: `of_inputs`; what is by its name a loss compares two things."""
    made = of_inputs(frame, node, arguments)
    if not is_named_like_a_loss(node.func):
        return made
    compare_with_target(frame, state, node, arguments)
    return made if made.given is None else Tensor(made.given, None, opaque=True)


def _is_own_method(node: ast.expr) -> bool:
    """``self.f``, which the class inherits from elsewhere: it may as well bring its arguments to the CPU."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def as_tensor(value: Unknown, node: ast.Call) -> Value:
    """What a function gives that is declared to give a tensor."""
    return value if value.given is None else given_tensor(value.given, node)


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Whether a library function is torch's or Python's: what it gives is known, or unknown on purpose."""
    root = name.partition(".")[0]
    return root in ("torch", "builtins", "numpy") or root in sys.stdlib_module_names


def of_inputs(frame: Frame, node: ast.Call, arguments: Arguments, declared: bool = False) -> Unknown:
    """What an unknown function makes of tensors that are all in one place, unless its name speaks of the CPU.

    `declared` says that it is annotated to give a tensor.
    """
    if may_leave_device(dotted_path(node.func) or "cpu") or _is_given_function(frame, node.func):
        return UNKNOWN
    given = (*given_operands(arguments), *spread_operands(arguments))
    places = [each.device for _, each in given if type(each) is Tensor]
    places = places or of_rebound(frame, node, arguments)
    device = places[0] if places else TOP
    if device.origin is Origin.MODEL:
        follows = frame.context == "forward" and all(each == device for each in places)
    elif device.origin is Origin.EXPRESSION:
        follows = all(each == device for each in places)
    else:
        told = declared or not (_is_own_method(node.func) or runs_a_model(arguments))
        follows = told and all(each.origin is Origin.ARGUMENT for each in places)
    return Unknown(given=device) if places and follows else UNKNOWN


def _is_given_function(frame: Frame, callee: ast.expr) -> bool:
    """Whether it is an argument of the function, and nothing says that it is a model or a loss: it brings anything."""
    function = frame.function
    if not isinstance(callee, ast.Name) or function is None or callee.id not in parameter_names(function):
        return False
    named = is_named_like_a_model(callee) or is_named_like_a_loss(callee)
    return not (named or is_module_by_use(frame, callee))


RUNS_IT = frozenset({"forward", "generate"})
"""Methods by which a model is run as it is by a call."""
LEAVES_TENSORS = frozenset("cpu numpy tolist item keys split join format index count get pop".split())
"""Methods that give no tensor of the same place."""


def _moved_unknown(frame: Frame, state: State, node: ast.Call, receiver: ast.expr, device: Device) -> Value:
    """What ``x.to(d)`` gives for something unknown: what is called is a module, and moves in place; else tensors."""
    receiver, is_module = unchained(receiver)
    path = dotted_path(receiver)
    if device == TOP or "pipe" in (path or "").lower():
        return UNKNOWN
    held = state.env.get(path or "")
    step = Step(f"moved to {device.describe()}", node, left=held.given if type(held) is Unknown else None)
    along = isinstance(receiver, ast.Subscript) and takes_along(receiver.slice)
    if (along or on_cpu(device)) if path is None else not (is_module or _is_called(frame, receiver, path)):
        return Tensor(device, AT_LEAST_1 if along else None, (), (step,), moved=True, opaque=True)
    if path is None:
        made = _constructs(frame, state, receiver) or _is_called_by_name(frame, node, receiver)
        return Library("", True, device, placed=step) if made else Unknown(given=device)
    moved = Library("", True, device, placed=step)
    bind_moved(state, path, moved)
    if isinstance(receiver, ast.Attribute):
        holder = frame.evaluate(receiver.value, state)
        if isinstance(holder, Obj) and isinstance(holder.info.attributes.get(receiver.attr), Unknown):
            del holder.info.attributes[receiver.attr]
        write_attribute(holder, receiver.attr, moved)
    return moved


def is_module_by_use(frame: Frame, callee: ast.expr) -> bool:
    """Whether what is called is a name or attribute of `self` that is asked for parameters, trained or evaluated.

    An annotation says so as well: of the name, or of what ``__init__`` is given for the attribute.
    """
    path = dotted_path(callee)
    if _is_said_to_be_module(frame, callee):
        return True
    scope = frame.owner.node if frame.owner is not None and (path or "").startswith("self.") else frame.function
    asked = asked_in(scope).get(path, set()) if path is not None and scope is not None else set()
    return not asked.isdisjoint(torch_api.MODULE_ONLY_ATTRIBUTES)


def _is_said_to_be_module(frame: Frame, callee: ast.expr) -> bool:
    """``model: nn.Module``; ``self.model``, which is such an argument of ``__init__`` and nothing else."""
    if isinstance(callee, ast.Name):
        return frame.function is not None and is_annotated_module(frame, frame.function, callee.id)
    path, init = dotted_path(callee) or "", frame.owner.methods.get("__init__") if frame.owner is not None else None
    if init is None or not path.startswith("self."):
        return False
    kept = values_by_path(frame.owner.node).get(path, [])  # type: ignore[union-attr]
    return bool(kept) and all(isinstance(each, ast.Name) and is_annotated_module(frame, init, each.id) for each in kept)


def _constructs(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether it makes an object of a class of another file, as ``Encoder(..)`` and ``Model.from_pretrained(..)`` do.

    A pipeline is no module: what it gives is for the host.
    """
    callee = frame.evaluate(node.func, state) if isinstance(node, ast.Call) else UNKNOWN
    if not isinstance(callee, Ref):
        return False
    name = callee.name.removesuffix(".from_pretrained").rpartition(".")[2].lstrip("_")
    return name[:1].isupper() and not name.isupper() and "Pipeline" not in name


def _is_called_by_name(frame: Frame, node: ast.Call, receiver: ast.expr) -> bool:
    """``net = create_model(..).to(device)``, where `net` is called or asked for parameters: it is a Module.

    So is a part of a model: ``vgg = vgg19().features[:21].to(device)``.
    """
    scope = frame.function or frame.machine.tree
    if not isinstance(receiver, (ast.Call, ast.Attribute, ast.Subscript)) or scope is None:
        return False
    value, trained = chained(scope).get(node, (node, False))
    target = targets_by_value(scope).get(value)
    return trained or (target is not None and _is_called(frame, target, dotted_path(target) or ""))


def _is_called(frame: Frame, receiver: ast.expr, path: str) -> bool:
    """Whether a name, or an attribute of `self` anywhere in its class, is called, run or asked for parameters."""
    scope = frame.function or frame.machine.tree
    if isinstance(receiver, ast.Name):
        uses = uses_in(scope).get(receiver.id) if scope is not None else None
        run = uses is not None and (uses.is_module or uses.called or not RUNS_IT.isdisjoint(uses.attributes))
        return run or (uses is not None and _is_called_elsewhere(frame, uses))
    if frame.owner is None or not path.startswith("self."):
        return False
    return any(
        dotted_path(node.func) == path
        or (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in torch_api.MODULE_ONLY_ATTRIBUTES | RUNS_IT
            and dotted_path(node.func.value) == path
        )
        for node in nodes_in(frame.owner.node, ast.Call)
    )


_RUN_MODELS = frozenset(name.rpartition(".")[2] for name in torch_api.RUN_MODELS)
_MODELS = frozenset({0, *(model for model, _ in torch_api.RUN_MODELS.values())})


def _is_called_elsewhere(frame: Frame, uses: Uses) -> bool:
    """Whether it is given to ``torch.jit.trace``, or a function of this file that calls it or asks for parameters."""
    for given, place in uses.arguments:
        if place in _MODELS and last_name(given.func) in _RUN_MODELS:
            callee = frame.evaluate(given.func, State({}))
            if isinstance(callee, Ref) and callee.name in torch_api.RUN_MODELS:
                return True
        callee = frame.evaluate(given.func, State({})) if isinstance(given.func, ast.Name) else UNKNOWN
        before = given.args[:place] if isinstance(place, int) else []
        if isinstance(callee, Func) and not any(isinstance(each, ast.Starred) for each in before):
            names = positional_names(callee.node)
            name = place if isinstance(place, str) else names[place] if place < len(names) else ""
            there = uses_in(callee.node).get(name)
            if there is not None and (there.is_module or there.called):
                return True
    return False


def _has_shape(frame: Frame, node: ast.expr) -> bool:
    """Whether a name is indexed, or asked for its shape: what has a `get_device` besides is a tensor then."""
    scope = frame.function or frame.machine.tree
    uses = uses_in(scope).get(node.id) if scope is not None and isinstance(node, ast.Name) else None
    return uses is not None and not uses.is_container and ("shape" in uses.attributes or uses.has_dimensions)


def unknown_method(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, arguments: Arguments, given: Device | None = None
) -> Value:
    """A method of something unknown, which came from `given`: a move tells what the result is."""
    name = callee.attr
    if name in ("item", "numel", "dim", "nelement"):
        return NUMBER
    if name == "size":
        return NUMBER if arguments.positional else NUMBERS
    if name in HOOKS:
        note_hook(frame, state, node, UNKNOWN, arguments)
        return UNKNOWN
    if name == "to" or name in torch_api.DEVICE_METHODS:
        device = to_device(frame, arguments) if name == "to" else method_device(frame, name, arguments)
        if device is None:
            return UNKNOWN if given is None else Unknown(given=given)
        frame.machine.emit(Placed(frame, state, node, device))
        if given is not None:
            frame.machine.arrivals.note_move(frame.function, node, given_tensor(given, node), device)
        return _moved_unknown(frame, state, node, callee.value, after_tested(frame, state, device))
    if name in GIVE_PARAMETERS:
        return parameters_of_kept(frame, node, callee)
    if name == "detach":
        return _held_by_layer(frame, state, callee.value)
    if name == "get_device" and _has_shape(frame, callee.value):
        return number_of_device(state, node, Tensor(TOP))
    if name == "numpy":
        note_unknown(frame, state, node, callee.value)
        return UNKNOWN
    if name.startswith("new_") and name in torch_api.NEW_METHODS:
        text = dotted_path(callee.value) or "it"
        here = dotted_path(callee.value) is not None and owner_of(frame.closure) is None
        here = here and frame.function not in frame.machine.pipeline and not _is_told_of_others(frame, state)
        device = Device(Origin.ARGUMENT, text) if here else TOP
        return Tensor(device, None, (), (Step(f"made where `{text}` is", node),))
    return UNKNOWN


def _is_told_of_others(frame: Frame, state: State) -> bool:
    """Whether the call that runs this function says where some of its arguments are.

    What it does not say of another one, the name of the parameter does not either: both came from one caller.
    """
    if not frame.depth or frame.function is None:
        return False
    given = (state.env.get(name, UNKNOWN) for name in parameter_names(frame.function))
    return any(isinstance(each, Tensor) for value in given for _, each in alternatives(value))


def _held_by_layer(frame: Frame, state: State, node: ast.expr) -> Value:
    """What ``self.layer.weights.detach()`` asks: a tensor that a layer of a class of another file holds.

    It is a layer if the Module makes it by the name of a class, and calls it.
    """
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute) or frame.owner is None:
        return UNKNOWN
    path, holder = dotted_path(node.value), frame.evaluate(node.value.value, state)
    if path is None or not isinstance(holder, Obj) or not holder.info.is_module or holder.device != MODEL:
        return UNKNOWN
    made = values_by_path(frame.owner.node).get(path, [])
    called = any(dotted_path(each.func) == path for each in nodes_in(frame.owner.node, ast.Call))
    if not called or not made or not all(isinstance(each, ast.Call) and _names_class(each) for each in made):
        return UNKNOWN
    return Tensor(MODEL, None, (), (Step(f"a tensor of `{path}`, which moves with the model", node, of_module=True),))


def _names_class(call: ast.Call) -> bool:
    return last_name(call.func).lstrip("_")[:1].isupper()
