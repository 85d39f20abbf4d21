"""Where a model that came as an argument is: where the function puts another part of the batch that it is given.

``for x, y in loader: y = y.to(device); loss(model(x), y)`` moves the labels to the place of the model, and not the
images. A `DataParallel` takes its inputs as they come and wants the labels moved, so nothing is said of a file that
speaks of one, nor of ``y.cuda()``, by which its time is known.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.kinds.encoded import is_token_tensor
from torchdevlint.flow.kinds.model_inputs import parts_beside
from torchdevlint.flow.run.foreign_losses import may_bring_targets
from torchdevlint.flow.run.operations import Operands, combine
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, names_of_item, parameter_names
from torchdevlint.flow.scope.plain_moves import moved_by as plain_move_in
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import LOADER, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import as_output, given_tensor
from torchdevlint.flow.state.values import AT_LEAST_1, Choice, Tensor, Unknown, Value
from torchdevlint.patterns import regex

_MODEL = regex(r"(?:\w+_)?(?:model|net|network|encoder|generator|discriminator|classifier)")
_NUMBERS = regex(
    r"[xX]\d?|[xX]b|(?:batch_)?inputs?|inputs?_batch|(?:\w+_)?(?:imgs?|images?|features?|feats?)|(?:img|image)_\w+|pixel_values|frames?"
    r"|data|batch_[xX]|[xX]_batch|samples|waveforms?|spectrograms?|points"
)
"""Names of what a model calculates with, and which is no text; a second witness only."""
_BESIDE = regex(r"(?:\w+_)?(?:masks?|targets?|tgts?|trgs?|labels?)(?:_(?:in|inputs?|ids|tokens?|[a-z]|\d))?")
"""Names of what a model takes beside its input, and calculates with."""
_SCATTERS = frozenset({"DataParallel", "DistributedDataParallel", "data_parallel", "DDP", "FSDP", "deepspeed"})


def compare_with_batch(
    frame: Frame, state: State, node: ast.Call, operands: Operands, model: ast.expr | None = None
) -> None:
    """``model(x)`` of an argument, where `x` is as the loader gave it and what came with it was moved.

    Or something else that the model takes was: ``model(x, mask.to(device))``, ``model(x.to(device), mask)``. Also
    ``self.model(x)``, where the object was given its model; and ``model(ids, attention_mask=mask)`` of any model, which
    a method of it may run: ``model.generate(ids, attention_mask=mask)``.
    """
    model = node.func if model is None else model
    function = frame.function
    if not isinstance(function, ast.FunctionDef) or frame.depth or scatters(frame):
        return
    _compare_keywords(frame, state, node, operands)
    _compare_tokens(frame, state, node, operands, model)
    if not _is_given_model(frame, function, model):
        return
    stayed = [each for each in operands[:1] if loaders.is_input(frame, *each) and _is_tensor(frame, each[0])]
    moved = [other for each in stayed if (other := _moved_beside(frame, state, each[0])) is not None]
    moved = moved or [value for _, value in operands if isinstance(value, Tensor) and is_put_somewhere(value)]
    if moved and not stayed and operands[0][1] == moved[0]:
        stayed = [each for each in operands[1:] if loaders.is_input(frame, *each) and is_taken_along(each[0])]
    if stayed and moved:
        there = Tensor(moved[0].device, AT_LEAST_1, (), moved[0].steps[-1:])
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", [(model, there), *stayed], True)


def compare_with_target(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> bool:
    """``criterion(output, y)`` of a loss of unknown class, where one of both is as the loader gave it.

    These are an output and its target, both tensors; a whole batch may be moved part by part, and so may what follows.
    Of a loss that may bring its targets along it is false.
    """
    if may_bring_targets(frame, state, node.func):
        return False
    operands = [each for given in arguments.pairs[:2] for each in tensor_operands(*given)]
    compared = [(at, _as_output(at, value)) for at, value in operands if not _is_container(frame, at)]
    if any(loaders.is_from_loader(value) for _, value in compared):
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", compared, True)
    return True


def _as_output(node: ast.expr, value: Value) -> Value:
    """What a model gave, also where the model was wrapped in one case, for all that is known."""
    if not isinstance(value, Choice):
        return as_output(node, value)
    return replace(value, alternatives=tuple((at, as_output(node, each)) for at, each in value.alternatives))


def _is_container(frame: Frame, node: ast.expr) -> bool:
    """Whether a name is of something of which parts are taken."""
    scope = frame.function or frame.machine.tree
    uses = uses_in(scope).get(node.id) if isinstance(node, ast.Name) and scope is not None else None
    return uses is not None and uses.is_container


def scatters(frame: Frame) -> bool:
    """Whether the file speaks of what brings inputs to where the model is."""
    return not frame.machine.words.isdisjoint(_SCATTERS)


def _is_given_model(frame: Frame, function: ast.FunctionDef, callee: ast.expr) -> bool:
    """Whether it is called like a model, and is an argument, or an attribute of an object that is none itself.

    A Module that trains itself is its own model, ``self(x)``, where another class brings `forward`.
    """
    if isinstance(callee, ast.Name) and callee.id == "self":
        return frame.owner is not None and frame.owner.is_module
    if isinstance(callee, ast.Name):
        return callee.id in parameter_names(function) and _MODEL.fullmatch(callee.id) is not None
    own = dotted_path(callee) or ""
    around = frame.owner is not None and not frame.owner.is_module and frame.owner.resolved
    if isinstance(callee, ast.Subscript):
        root, name = callee.value, next(names_of_item(callee))
        while isinstance(root, (ast.Subscript, ast.Attribute)):
            root = root.value
        known = isinstance(root, ast.Name) and (root.id in parameter_names(function) or (around and root.id == "self"))
        return known and _MODEL.fullmatch(name) is not None
    return around and own.startswith("self.") and _MODEL.fullmatch(own.removeprefix("self.")) is not None


def _compare_keywords(frame: Frame, state: State, node: ast.Call, operands: Operands) -> None:
    """``model(ids, attention_mask=mask)``, where `ids` were moved and the mask is as the loader gave it."""
    named = taken_by_name(node)
    stayed = [(at, value) for at, value in operands if at in named and loaders.is_from_loader(value)]
    moved = [(at, value) for at, value in operands if isinstance(value, Tensor) and is_put_somewhere(value)]
    if stayed and moved:
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", [moved[0], *stayed], True)


def _compare_tokens(frame: Frame, state: State, node: ast.Call, operands: Operands, model: ast.expr) -> None:
    """``model.generate(ids, images=images.to(device))``, where a tokenizer gave `ids`: nobody else has moved them."""
    stayed = [(at, value) for at, value in operands[:1] if isinstance(value, Tensor) and is_token_tensor(value)]
    if not stayed or not is_named_like_a_model(model):
        return
    for at, value in operands[1:]:
        device = value.given if isinstance(value, Unknown) else value.device if isinstance(value, Tensor) else None
        if device is not None and device != LOADER and not on_cpu(device) and plain_move_in(at) is not None:
            there = given_tensor(device, at, AT_LEAST_1, frame.machine.text_of(at))
            combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", [(at, there), *stayed], True)
            return


def taken_by_name(node: ast.Call) -> list[ast.expr]:
    """What a call gives the parameters of models of transformers, by keyword: tensors, and no texts."""
    return [each.value for each in node.keywords if each.arg in TAKEN_BY_NAME]


def is_put_somewhere(value: Tensor) -> bool:
    """Whether code has put it on a device that it keeps: ``y.to(self.device)``, also where that is known to be CUDA."""
    if value.device.origin is Origin.LITERAL and not on_cpu(value.device):
        move = value.steps[-1].node if value.steps else None
        return value.moved and isinstance(move, ast.Call) and last_name(move.func) == "to"
    return value.moved and value.device.origin is Origin.EXPRESSION


def _is_tensor(frame: Frame, node: ast.expr) -> bool:
    """Whether a part of a batch is a tensor by what is done with it, or by its name."""
    uses = uses_in(frame.function).get(node.id) if isinstance(node, ast.Name) and frame.function is not None else None
    if uses is None or not isinstance(node, ast.Name) or uses.is_container:
        return False
    return uses.is_tensor or uses.has_dimensions or _NUMBERS.fullmatch(node.id) is not None


def is_taken_along(node: ast.expr) -> bool:
    """Whether what a model takes beside its input is calculated with: masks and targets are, lengths and texts not."""
    return _BESIDE.fullmatch(last_name(node.value if isinstance(node, ast.Subscript) else node)) is not None


def _moved_beside(frame: Frame, state: State, node: ast.expr) -> Tensor | None:
    """A part of the same batch that was put on a device which the code names: ``labels = labels.to(device)``."""
    if not isinstance(node, ast.Name) or frame.function is None:
        return None
    for name in sorted(parts_beside(frame.function, node.id) - {node.id}):
        value = state.env.get(name)
        if isinstance(value, Tensor) and is_put_somewhere(value) and value.steps:
            return value
    return None
