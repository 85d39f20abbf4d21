"""Modules of libraries: what constructing one gives, and what calling one does."""

from __future__ import annotations

import ast
from functools import partial

from msgspec.structs import replace

from torchdevlint.flow.events import Escaped, Met, ModuleCalled, ModuleCompared
from torchdevlint.flow.kinds import loaders, own_moves
from torchdevlint.flow.kinds.layer_results import ends_in_layers
from torchdevlint.flow.kinds.plain_parts import plain_parts
from torchdevlint.flow.kinds.sizes import what_is_filled
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run import batch_beside, metrics
from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.run.gathered import gathered
from torchdevlint.flow.run.imports import resolve
from torchdevlint.flow.run.operations import Operands, combine
from torchdevlint.flow.run.outputs import follows_input, is_told_by_word, place_in_call, taken_by_loss
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.run.wrapping import scatters
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.bookkeeping import is_quantity
from torchdevlint.flow.scope.model_names import is_named_like_a_loss
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin, Relation, on_cpu
from torchdevlint.flow.state.joins import alternatives, choose, element_of, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import as_output, child_of, device_if_tensor
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Library,
    Map,
    Obj,
    Seq,
    Step,
    Tensor,
    Value,
)
from torchdevlint.flow.vouch.devices import remember
from torchdevlint.patterns import regex


def construct(frame: Frame, state: State, node: ast.Call, name: str, tail: str, arguments: Arguments) -> Value:
    """A module; one of torch.nn without parameters and buffers has no device of its own, one of another may have."""
    weight = metrics.weight_of(tail, arguments)
    if weight is not None:
        remember(frame, state, node)
        return Library(name, True, weight[1].device, made_at=node, held=weight)
    if not name.startswith("torch."):
        return Library(name, True, DEFAULT if libraries.holds_tensors(name) else TOP, made_at=node)
    if _is_parameter_free(tail, arguments):
        return Library(name, True, None, made_at=node)
    given = arguments.keywords.get("device")
    device = (state.default_device or DEFAULT) if given is None else as_device(frame, *given)
    if tail not in torch_api.CONTAINER_MODULES:
        return Library(name, True, device, made_at=node)
    children: list[Value] = []
    for _, value in arguments.positional:
        children += list(value.items) if isinstance(value, Seq) and value.items is not None else []
        if isinstance(value, Seq) and value.items is None:
            children.append(element_of(value))
        elif isinstance(value, Map):
            children += [each for _, each in value.items]
        elif not isinstance(value, Seq):
            children.append(value)
    frame.machine.emit(Escaped(frame, children))
    if tail == "ModuleDict":  # ``[("bn", nn.BatchNorm2d(n)), ..]``
        children = [one.items[1] if isinstance(one, Seq) and one.items and one.items[1:] else one for one in children]
    free = bool(children) and all(isinstance(one, Library) and one.module and one.device is None for one in children)
    return Library(name, True, None if free else device, children=tuple(children), made_at=node)


def _is_parameter_free(tail: str, arguments: Arguments) -> bool:
    if tail in torch_api.PARAMETER_FREE_MODULES:
        return True
    if tail in torch_api.AFFINE_ON_REQUEST:
        asked = {"affine", "track_running_stats"}.intersection(arguments.keywords)
        return not (asked or arguments.starred or arguments.double_starred or len(arguments.positional) > 3)
    if tail.startswith("BatchNorm"):
        return arguments.value(3, "affine") == Const(False) == arguments.value(4, "track_running_stats")
    flag = torch_api.AFFINE_FLAGS.get(tail)
    return flag is not None and arguments.value(*flag) == Const(False)


def call_module(frame: Frame, state: State, node: ast.Call, module: Library, arguments: Arguments) -> Value:
    """Calling a library module: its parameters and every tensor argument must be on one device."""
    frame.machine.emit(ModuleCalled(frame, state, node, module, arguments))
    is_loss = not module.name and is_named_like_a_loss(node.func)
    is_foreign = is_loss and not batch_beside.compare_with_target(frame, state, node, arguments)
    if is_foreign or _is_not_meant(module, arguments):
        return UNKNOWN
    return gathered(frame, node, module, _call_module(frame, state, node, module, arguments))


def _is_not_meant(module: Library, arguments: Arguments) -> bool:
    """Whether a loss of torch.nn does not take these arguments: of several that may be called here, it is another."""
    most = torch_api.LOSS_ARGUMENTS.get(module.name.rpartition(".")[2], 2)
    takes = len(arguments.positional) <= most and _PARAMETERS_OF_LOSSES.issuperset(arguments.keyword_values)
    return _is_loss(module) and not takes


def _is_loss(module: Library) -> bool:
    return module.name.startswith("torch.") and module.name.endswith("Loss")


def _call_module(frame: Frame, state: State, node: ast.Call, module: Library, arguments: Arguments) -> Value:
    tail = module.name.rpartition(".")[2]
    known = libraries.known(module.name)
    moves_others = tail == "CTCLoss" or (known is not None and known.brings_along)
    compared = arguments.positional[:1] if moves_others else arguments.pairs
    operands = [each for given in compared for each in tensor_operands(*given)]
    if arguments.rest is not None and arguments.rest[1] != UNKNOWN:
        operands.append(arguments.rest)
    device = place_in_call(module, operands)
    if _is_loss(module):
        operands = taken_by_loss(frame, state, operands, module.held is not None)
    unknown = not module.name or libraries.makes_model(module.name)
    if not operands or (not unknown and not _may_be_tensor(module, tail, operands)):
        follows = tail == "Sequential" or known is not None
        return _of_inputs(node, module, operands, device) if follows else UNKNOWN
    if unknown or (tail in torch_api.CONTAINER_MODULES and tail != "Sequential"):
        made = [(at, value) for at, given in arguments.pairs if (value := _made_here(given)) is not None]
        return _call_unknown_class(frame, state, node, module, device or TOP, operands, made)
    operation = f"`{frame.machine.text_of(node.func)}()`, a `{module.name}`"
    if metrics.compares(module.name) or metrics.is_metric(module.name):
        metrics.compare(frame, state, node, module.name, arguments)
        frame.machine.emit(ModuleCompared(frame, state, node, module, operands))
        return UNKNOWN
    if module.held is not None:
        frame.machine.emit(ModuleCompared(frame, state, node, module, operands))
    if device is None and scatters(module):
        return UNKNOWN
    if device is None or module.held is not None:
        return _call_without_parameters(frame, state, node, operation, operands, tail)
    parameters = Tensor(device, AT_LEAST_1, (), where_made(module))
    scattered = module.prefix == "module."
    compared = [] if scatters(module) else operands
    compared = [each for each in compared if not (scattered and loaders.is_from_loader(each[1]))]
    if module.inner is not None:
        compared = [each for each in compared if not loaders.may_be_no_tensor(frame, operands, *each)]
        compared = [each for each in compared if not _is_permutation(each[1])]
    compared = [(at, left) for at, value in compared if (left := what_is_filled(value)) is not None]
    result = combine(frame, state, node, operation, [(node.func, parameters), *compared], True)
    if not any(isinstance(each, Tensor) for _, each in alternatives(result)):
        return UNKNOWN
    if module.inner is not None:
        return opaque_result(operands, device, given_by(module, device, node))
    output = Tensor(device, AT_LEAST_1, (), given_by(module, device, node))
    if tail == "LSTM":
        return sequence([output, sequence([output, output])])
    if tail in torch_api.PAIR_MODULES:
        return sequence([output, output])
    is_one = tail in torch_api.PARAMETER_MODULES or (tail == "Sequential" and _plain_children(module))
    return output if is_one else opaque_result(operands, device, output.steps)


_PARAMETERS_OF_LOSSES = frozenset(
    """
    input target input1 input2 anchor positive negative var log_input log_probs targets input_lengths target_lengths
    """.split()
)
"""What the losses of torch.nn call their arguments (torch/nn/modules/loss.py, `forward` of each)."""


def item_of(module: Library, sliced: bool, index: Value) -> Value:
    """``layers[i]`` and ``layers[:2]`` of a container of modules; what is in others is unknown."""
    if sliced:
        return replace(module, children=())
    if not module.children:
        return element_of(module) if module.name in _INDEXED else UNKNOWN
    place = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
    if place is not None and abs(place) < len(module.children):
        return child_of(module, module.children[place])
    free = {isinstance(each, Library) and each.device is None for each in module.children}
    keyed = module.name.endswith("ModuleDict") and len(free) > 1  # under which key which layer is, is not kept
    return element_of(replace(module, children=()) if keyed else module)


_INDEXED = ("torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential")


def where_made(module: Library | Obj) -> tuple[Step, ...]:
    """What says where the parameters of a module are: its move, or else where it was made."""
    if module.placed is not None:
        return (replace(module.placed, of_module=True),)
    if isinstance(module, Obj) and module.device == DEFAULT and module.made_at is not None:
        return (Step(f"a `{module.info.name}`, made here", module.made_at, of_module=True),)
    if isinstance(module, Obj):
        text = f"`{module.info.name}` is a Module, which moves with its owner"
        return (Step(text, module.info.node, of_module=True),)
    if module.made_at is None:
        return ()
    how = "which moves with the model" if module.device == MODEL else "made here"
    return (Step(f"a `{module.name}`, {how}".replace("``", "model"), module.made_at, of_module=True),)


def run_as_module(moved: Tensor) -> Library:
    """What was moved, and of which only that it is called tells that it is no tensor."""
    return Library("", True, moved.device, placed=moved.steps[-1] if moved.steps else None)


def given_by(module: Library | Obj, device: Device, node: ast.AST) -> tuple[Step, ...]:
    """The first step in the life of what a module gives."""
    name = module.info.name if isinstance(module, Obj) else module.name
    kind = f"`{name}`" if name else "module"
    given = Step(f"given by a {kind} on {device.describe()}", node, of_module=True)
    return (given,) if module.placed is None else (given, replace(module.placed, of_module=True))


def _call_without_parameters(
    frame: Frame, state: State, node: ast.Call, operation: str, operands: Operands, tail: str
) -> Value:
    """Activations follow their input; losses compare theirs and give a 0-dim tensor."""
    loss = tail.endswith("Loss")
    if loss:
        operands = [(at, as_output(at, value)) for at, value in operands]
    result = combine(frame, state, node, operation, operands, loss or tail == "Sequential")
    if isinstance(result, Tensor) and loss:
        return Tensor(result.device, 0, result.creations, result.steps)
    return result if isinstance(result, (Tensor, Choice)) else UNKNOWN


def _call_unknown_class(
    frame: Frame, state: State, node: ast.Call, module: Library, device: Device, operands: Operands, made: Operands
) -> Value:
    """A module of unknown class, on `device`; what a loader gave is not, nor what factories `made`, but for lengths."""
    stayed = [each for each in operands if loaders.is_input(frame, *each) and not may_move(frame, node, each[0])]
    if not _takes_tensors_only(module):
        named = [*batch_beside.taken_by_name(node), *filter(batch_beside.is_taken_along, node.args)]
        stayed = [each for each in stayed if each[0] in named or not loaders.may_be_no_tensor(frame, operands, *each)]
    if device.origin in (Origin.LITERAL, Origin.EXPRESSION) and frame.context != "forward":
        stayed += [each for each in made if not is_quantity(dotted_path(each[0]))]
    method = isinstance(node.func, ast.Attribute) and _METHODS.match(node.func.attr) is not None
    callee = node.func.value if method else node.func  # type: ignore[attr-defined]
    parameters = (callee, Tensor(device, AT_LEAST_1, (), where_made(module)))
    for at, value in operands if device.origin is Origin.LITERAL else ():
        if isinstance(value, Tensor) and value.device.origin is Origin.EXPRESSION:
            frame.machine.emit(Met(frame, state, node, parameters, (at, value), Relation.UNKNOWN))
    if stayed and not module.prefix:
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", [parameters, *stayed], True)
    if not module.name and device == TOP:
        batch_beside.compare_with_batch(frame, state, node, operands)
        return follows_input(operands)
    if is_told_by_word(operands) or (method and _gives_back(frame, node)):
        return UNKNOWN
    if module.name or device == MODEL or on_cpu(device):
        return opaque_result(operands, device, given_by(module, device, node))
    return Tensor(device, None, (), given_by(module, device, node), opaque=True)


_METHODS = regex(r"(?:forward|generate)$|forward_")
"""What a model is run by besides its call."""


def _gives_back(frame: Frame, node: ast.Call) -> bool:
    """Whether a method gives back a dict that it was given, ``held = net.forward_frames(held)``, and no output."""
    scope = frame.function or frame.machine.tree
    target = targets_by_value(scope).get(node)
    uses = uses_in(scope).get(target.id) if isinstance(target, ast.Name) else None
    return uses is not None and uses.text_keys and any(dotted_path(each) == target.id for each in node.args)  # type: ignore[union-attr]


def _takes_tensors_only(module: Library) -> bool:
    """Whether it is a model of transformers, which takes token ids, masks and labels, and never texts."""
    return isinstance(module.made_at, ast.Call) and last_name(module.made_at.func) == "from_pretrained"


def may_move(frame: Frame, node: ast.Call, argument: ast.expr) -> bool:
    """Whether one of the Modules that the file names takes such an argument and moves it itself."""
    method = last_name(node.func)
    method = method if _METHODS.match(method) is not None else "forward"
    for each in (resolve(frame, value) for value in list(frame.machine.globals.values())):
        if isinstance(each, Cls) and each.info.is_module and method in each.info.all_methods:
            places = {place for place, value in own_moves.given(each.info, method, node) if value is argument}
            if places & own_moves.moved_inputs(each.info, partial(resolve, frame), method):
                return True
    return False


def _made_here(value: Value) -> Value | None:
    """What a factory made here, in all cases or in some: ``if isinstance(x, ndarray): x = torch.from_numpy(x)``."""
    made = [(at, each if _is_made_here(each) else UNKNOWN) for at, each in alternatives(value)]
    return choose(made) if any(each is not UNKNOWN for _, each in made) else None


def _is_made_here(value: Value) -> bool:
    """A tensor with dimensions that a factory made on the default device, and that is no permutation."""
    made = isinstance(value, Tensor) and value.device == DEFAULT and bool(value.creations) and value.ndim != 0
    return made and not _is_permutation(value)


def _is_permutation(value: Value) -> bool:
    """Whether it is an order of things. A model puts its own things into that by an index, which may be of the CPU."""
    return isinstance(value, Tensor) and {site.function.rpartition(".")[2] for site in value.creations} == {"randperm"}


def opaque_result(operands: Operands, device: Device, steps: tuple[Step, ...]) -> Value:
    """What a module of unknown class gives for tensors where it is: something on its device."""
    is_known = not on_cpu(device) and device != TOP and any(_is_there(value, device) for _, value in operands)
    return Tensor(device, None, (), steps, opaque=True) if is_known else UNKNOWN


def unseen_result(module: Obj, operands: Operands, node: ast.AST) -> Value:
    """What a Module of another file gives whose `forward` is not followed: what its last layer does, if it says so."""
    device, steps = module.device, given_by(module, module.device, node)
    if not (on_cpu(device) or device == TOP) and ends_in_layers(module.info):
        return Tensor(device, None, (), steps)
    made, parts = opaque_result(operands, device, steps), plain_parts(module.info)
    return sequence([UNKNOWN if is_plain else made for is_plain in parts]) if any(parts) else made


def _is_there(value: Value, device: Device) -> bool:
    """Whether a value is a tensor there, or came from an input that is, or has to be for layers of the model."""
    place = device_if_tensor(value)
    if place == device or (isinstance(value, Tensor) and value.opaque):
        return True
    return device == MODEL and place is not None and place.origin is Origin.ARGUMENT


def _of_inputs(node: ast.Call, module: Library, operands: Operands, device: Device | None) -> Value:
    """What a layer of another library, or a Sequential of layers of unknown classes, gives for what may be a tensor."""
    return UNKNOWN if device is None else opaque_result(operands, device, given_by(module, device, node))


def _may_be_tensor(module: Library, tail: str, operands: Operands) -> bool:
    """Whether one of the inputs is a tensor, or all that the module takes is."""
    layer = module.device is not None and (tail in torch_api.PARAMETER_MODULES or _begins_with_layer(module))
    return layer or any(isinstance(value, (Tensor, Choice)) for _, value in operands)


def _begins_with_layer(module: Library) -> bool:
    """Whether it is a Sequential whose first layer, which takes its input, is one of torch with parameters."""
    first = module.children[0] if module.children and module.name.endswith(".Sequential") else None
    return isinstance(first, Library) and first.name.rpartition(".")[2] in torch_api.PARAMETER_MODULES


def _plain_children(module: Library) -> bool:
    """Whether a Sequential ends in a layer whose output is one tensor."""
    last = module.children[-1] if module.children else None
    return isinstance(last, Library) and last.name.rpartition(".")[2] not in torch_api.PAIR_MODULES
