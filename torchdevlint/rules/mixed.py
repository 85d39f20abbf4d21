"""What the rules on mixed devices share: which of them a fact belongs to, and how they speak of it. Not a rule."""

from __future__ import annotations

from enum import Enum

from torchdevlint.flow.facts.common import Creation
from torchdevlint.flow.facts.tensors import (
    ANOTHER_ARM,
    ANOTHER_RETURN,
    ASSERTED,
    FIRST_STATE,
    GRADIENT,
    KEPT,
    MARKER,
    RESULT,
    RETURN,
    SAME_RETURN,
    SIZED_ALIKE,
    TYPE_OF_KEPT,
    TYPED_ALIKE,
    MixedDevices,
)
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.model import Applicability, Edit, Fix, Note, Report
from torchdevlint.rules.edits import argument_added, argument_replaced, call_added, keywords
from torchdevlint.rules.wording import code, is_on, with_argument

_BACKWARD = ("`.backward()`", "`torch.autograd.backward()`", "`torch.autograd.grad()`")
_REFUSALS = {
    **dict.fromkeys(_BACKWARD, "RuntimeError: invalid gradient at index 0 - expected device cuda:0 but got cpu"),
    GRADIENT: "RuntimeError: attempting to assign a gradient with device type 'cpu' to a tensor with device type "
    "'cuda'. Please ensure that the gradient and the tensor are on the same device",
    ASSERTED: "AssertionError: The values for attribute 'device' do not match: cuda:0 != cpu.",
}
"""What operations raise that have words of their own for it."""
_RECURRENT = ("GRU`", "LSTM`", "RNN`", "GRUCell`", "LSTMCell`", "RNNCell`")
_OF_THE_CPU = frozenset({"generator", "pin_memory", "**"})
"""Arguments of factories that may not go with another device."""
TOO = "is on the default device too"
"""What a note says of a factory that the finding names beside its first one."""


class Cause(Enum):
    """What must be edited to bring the two operands together; each cause is one rule's, and each fact has one."""

    FORWARD = "a factory in forward, or where the model is used"
    ATTRIBUTE = "a tensor that a Module keeps and does not register"
    ARGUMENT = "a factory in code that gets its device from outside"
    LEGACY = "a type of the CPU, by which a tensor was converted"
    SCALAR = "a sum that starts as a tensor of the CPU, a constant that is joined to tensors, a list of scalars"
    TABLE = "an index: what it is for was made on the CPU before, elsewhere, or beside an index that was placed"
    OPERATION = "the operation: this code placed both sides itself"
    NONE = "nothing: the model is still where it is built, with its arguments, or nobody knows what keeps the tensor"


_ALWAYS_CPU = frozenset({"torch.from_numpy", "torch.frombuffer", "torch.from_file"})


def cause_of(fact: MixedDevices) -> Cause:
    """The cause of a fact, by where its first creation is and by what says where the other operand is."""
    building = fact.entry == "init"
    if building and fact.other_origin in ("model", "argument"):
        return Cause.NONE
    if fact.led_by:
        return Cause.OPERATION
    where = fact.creations[0].where if fact.creations else ""
    if fact.creations and fact.creations[0].function == "torch.Tensor.type":
        return Cause.NONE if is_one_of_two(fact) else Cause.LEGACY
    if fact.scalar and fact.creations and (where != "init" or building):
        return Cause.SCALAR
    on_the_way = fact.entry == "forward" or (fact.entry == "method" and fact.model_side)
    if where in ("forward", "method") and on_the_way:
        return Cause.FORWARD
    if where == "init" and not building:
        return Cause.ATTRIBUTE if fact.creations[0].attribute else Cause.NONE
    by_name = fact.other_origin == "literal" and not _meets_later(fact)
    cause = Cause.OPERATION if by_name or where in ("", "init") else Cause.ARGUMENT
    if fact.operation == "indexing" and (cause is Cause.OPERATION or fact.placed_here or not _is_made_here(fact)):
        return Cause.TABLE
    return cause


def _is_made_here(fact: MixedDevices) -> bool:
    """Whether what stayed on the CPU was made for this operation, not by the module or another method."""
    if not fact.creations or fact.creations[0].where == "module":
        return False
    made_in, used_in = (scope.rpartition(".") for scope in (fact.creations[0].scope, fact.scope))
    return made_in == used_in or not made_in[0] or made_in[0] != used_in[0]


def is_returned(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: one was written into the other, slice by slice, which is returned."""
    return fact.operation == RETURN


def is_one_of_two(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: a function returns the one or the other, or works with it."""
    return fact.operation in (ANOTHER_RETURN, ANOTHER_ARM)


def is_together(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: both are returned, in one tuple or dict."""
    return fact.operation == SAME_RETURN


def is_sized_alike(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: what is returned was made after an argument."""
    return fact.operation in (RESULT, SIZED_ALIKE, TYPED_ALIKE)


def is_first_state(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: a Module makes a tensor for its callers, away from its parameters."""
    return fact.operation == FIRST_STATE


def is_kept(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: an object keeps both, or the one or the other."""
    return fact.operation == KEPT


def is_marker(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: a tensor is asked for its device, to say where a Module is."""
    return fact.operation == MARKER


def is_type_of_kept(fact: MixedDevices) -> bool:
    """Whether the operands meet in no operation: the one is converted to the type of the other, and moved by that."""
    return fact.operation == TYPE_OF_KEPT


def _meets_later(fact: MixedDevices) -> bool:
    """Whether nothing raises here, since the operands only leave the function."""
    together = is_together(fact) or is_sized_alike(fact) or is_first_state(fact) or is_kept(fact)
    alone = is_marker(fact) or is_type_of_kept(fact)
    return is_returned(fact) or is_one_of_two(fact) or together or alone


def creation_report(fact: MixedDevices, message: str, repair: str, fix: Fix | None = None) -> Report:
    """A report that starts where the tensor is made, which is what has to change.

    What a function of another file makes is reported where this file brings it to the other operand, be it by a call of
    a third file.
    """
    if fact.creations[0].span.file:
        return _brought_report(fact, message)
    return Report(
        span=fact.creations[0].span,
        message=message,
        symptom=symptom(fact),
        help=repair,
        notes=notes(fact),
        fix=fix,
    )


def _brought_report(fact: MixedDevices, message: str) -> Report:
    edits = moved_there(fact)
    move = f"move {code(fact.stayed.text)} to {code(fact.here) if fact.here is not None else 'the same device'} first"
    place = fact.at if fact.stayed.span.file else fact.stayed.span
    if place.file and fact.brought is not None and not fact.placed_elsewhere:
        place = fact.brought.span
    return Report(
        span=place,
        message=message,
        symptom=symptom(fact),
        help=move,
        notes=notes(fact, Note(f"{code(fact.creations[0].text)} is on the default device", fact.creations[0].span)),
        fix=Fix(Applicability.UNSAFE, move, edits) if edits else None,
    )


def made_there(fact: MixedDevices) -> Fix | None:
    """The tensor is made where the other operand is, if something there says where that is.

    Other random numbers come out on another device; with several tensors, which of them is right is a guess, and what
    meets others of the CPU elsewhere would part from them. What was brought to the CPU by name comes back there,
    wherever it is made.
    """
    first = fact.creations[0]
    if fact.there is None or first.span.file or fact.stayed.device == "cpu" or first.of_tensor:
        return None
    given = keywords(first.text)
    if given is None:
        return None
    argument = f"device={fact.there}"
    edits: tuple[Edit | None, ...] = ()
    if "device" in given:
        message = f"write `{argument}`"
        edits = (argument_replaced(first.text, first.span, "device", "None", fact.there),)
    elif takes_no_device(first.function) or given & _OF_THE_CPU:
        message = f"append `.to({fact.there})`"
        edits = call_added(first.text, first.span, f".to({fact.there})")
    else:
        message = f"add `{argument}`"
        edits = (argument_added(first.text, first.span, argument),)
    found = tuple(each for each in edits if each is not None)
    safe = fact.one_input and not fact.parts and not first.random and not _meets_later(fact)
    return Fix(Applicability.SAFE if safe else Applicability.UNSAFE, message, found) if found else None


def moved_there(fact: MixedDevices) -> tuple[Edit, ...]:
    """What stayed is moved where the operation reads it; nothing where that is in another file, or written to."""
    if fact.here is None or not fact.movable or fact.stayed.span.file:
        return ()
    return call_added(fact.stayed.text, fact.stayed.span, f".to({fact.here})")


def claim(fact: MixedDevices, first: Creation) -> str:
    """What is wrong with the tensor that `first` makes."""
    place = f" in `{first.scope}`" if first.scope else ""
    device = "the CPU" if _is_always_on_cpu(first.function) else "the default device"
    made = f"`{first.function}`{place} makes a tensor on {device}"
    if is_returned(fact):
        return f"{made}, which is returned, filled by what is on {fact.other.device}"
    if is_one_of_two(fact):
        used = "returned" if fact.operation == ANOTHER_RETURN else "used"
        return f"{made}, which is {used} in one case, and {code(fact.other.text)} on {fact.other.device} in another"
    if is_together(fact):
        return f"{made}, which is returned beside {code(fact.other.text)} on {fact.other.device}"
    if fact.operation == RESULT:
        return f"{made}, which stands for the result of an operator on {fact.other.device}"
    if fact.operation == SIZED_ALIKE:
        return f"{made}, which is returned with the shape of {code(fact.other.text)}, but not its device"
    if fact.operation == TYPED_ALIKE:
        return f"{made}, which is returned with the dtype of {code(fact.other.text)}, but not its device"
    if is_first_state(fact):
        meant = f"the model is on {code(fact.other.text)}" if fact.other.text.endswith(".device") else ""
        return f"{made}, which callers get, and {meant or is_on(fact.other.text, fact.other.device)}"
    if is_kept(fact):
        return f"{made}, and the same object keeps {code(fact.other.text)} on {fact.other.device}"
    return f"{made}, and {is_on(fact.other.text, fact.other.device)}"


_COMPRESSED = {
    f"`torch.{name}()`": parts[0] for name, parts in torch_api.SPARSE_FACTORIES.items() if name != "sparse_coo_tensor"
}
"""Makers of sparse tensors with a check of their own, and the indices that it names: ``SparseCsrTensorImpl.cpp``."""


def symptom(fact: MixedDevices) -> str:
    """The exception that the operation raises."""
    if is_returned(fact):
        return "nothing raises here: what is returned is silently on the CPU, filled copy by copy"
    if is_one_of_two(fact):
        return "nothing raises here: where the result is depends on the input, and what it meets later may not be there"
    if is_together(fact):
        return "nothing raises here: what is returned is in two places, and whoever takes it expects one"
    if fact.operation == RESULT:
        return "nothing raises here: what is compiled takes the result of the operator to be on the CPU"
    if fact.operation in (SIZED_ALIKE, TYPED_ALIKE):
        return "nothing raises here: what is returned is silently on the CPU, away from what it was made for"
    if is_first_state(fact):
        return "nothing raises here: what callers get is on the CPU, and the next step of the model raises"
    if is_marker(fact) or is_type_of_kept(fact):
        return "nothing raises here: what is put there is on the CPU, and meets the model's parameters later"
    if is_kept(fact):
        return "nothing raises here: what the object keeps is in two places, and meets there or at its users"
    if fact.operation == "indexing":
        return "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"
    if fact.operation in _COMPRESSED:
        return f"RuntimeError: Values and {_COMPRESSED[fact.operation]} need to be on the same device."
    if fact.operation in _REFUSALS:
        return _REFUSALS[fact.operation]
    if fact.operation.endswith(_RECURRENT):
        return (
            "RuntimeError: Input and hidden tensors are not at the same device, "
            "found input tensor at cuda:0 and hidden tensor at cpu"
        )
    return (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )


def notes(fact: MixedDevices, made: Note | None = None) -> tuple[Note, ...]:
    """Where the operands meet, further factories, and where each side got its device; of the first creation, `made`."""
    first, *further = fact.creations
    if is_marker(fact):
        meeting = f"{code(fact.other.text)} is read here"
    elif is_type_of_kept(fact):
        meeting = f"{code(fact.other.text)} is brought to {code(fact.stayed.text)} here"
    elif fact.operation == ANOTHER_ARM:
        meeting = f"{code(fact.stayed.text)} is made here"
    elif _meets_later(fact):
        meeting = f"{code(fact.stayed.text)} is returned here"
    else:
        meeting = f"{code(fact.stayed.text)} meets {code(fact.other.text)} here, in {fact.operation}"
    found = {fact.at: Note(meeting, fact.at)}
    if is_one_of_two(fact):
        done = "returned" if fact.operation == ANOTHER_RETURN else "made"
        found[fact.other.span] = Note(f"{code(fact.other.text)} is {done} here", fact.other.span)
    if fact.through is not None:
        found.setdefault(fact.through, Note("this call leads there", fact.through))
    for creation in further:
        found.setdefault(creation.span, Note(f"{code(creation.text)} {TOO}", creation.span))
    for message, span in (*fact.other.evidence, *fact.stayed.evidence):
        found.setdefault(span, Note(message, span))
    found.pop(first.span, None)
    return (*found.values(), made) if made is not None else tuple(found.values())


def placed(first: Creation, device: str) -> str:
    """How to make what `first` makes on `device` instead, as the end of a sentence."""
    if first.of_tensor:
        dtype = f"torch.{torch_api.LEGACY_DTYPES[first.function.removeprefix('torch.')]}"
        made = code(f"torch.as_tensor(.., dtype={dtype}, device={device})")
        return f"{made}, since {code(first.function)} refuses a tensor of an accelerator, should it be given one"
    if takes_no_device(first.function):
        return f"append {code(f'.to({device})')}"
    if "device" in (keywords(first.text) or ()):
        return f"with `device={device}`"
    edited = with_argument(first.text, f"device={device}")
    return f"`{edited}`" if edited else f"add `device={device}`"


def _is_always_on_cpu(function: str) -> bool:
    """Whether it makes tensors of the CPU, whatever the default device, as what reads images and sounds does."""
    return function in _ALWAYS_CPU or not function.startswith("torch.")


def takes_no_device(function: str) -> bool:
    """``torch.Tensor`` and its kin refuse other devices; others have no such argument, or not in each release."""
    if not function.startswith("torch.") or function.startswith("torch.distributions."):
        return True
    return function.endswith(("Tensor", ".from_numpy", ".frombuffer", ".from_file", ".generate_square_subsequent_mask"))
