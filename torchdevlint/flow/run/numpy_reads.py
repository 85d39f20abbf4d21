"""``x.numpy()`` of something unknown, in a function that brings tensors to the CPU where it reads others by NumPy."""

from __future__ import annotations

import ast

from torchdevlint.flow.events import ReadByHost
from torchdevlint.flow.kinds.annotated import is_annotated_module
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.knowledge.libraries import DETACHING, OTHER_FRAMEWORKS
from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.brought_attributes import brought_by_methods
from torchdevlint.flow.scope.brought_detached import brought_beside_detached
from torchdevlint.flow.scope.brought_reads import brings_any, is_of_data, stem_text
from torchdevlint.flow.scope.brought_twins import brought_besides
from torchdevlint.flow.scope.followed_devices import (
    followed_in,
    is_detached,
    is_detached_in,
    is_followed_beside,
    root_of,
)
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, parameter_names, whole_of
from torchdevlint.flow.scope.tested_places import on_tested_accelerator
from torchdevlint.flow.scope.uses import Scope, bindings_in, uses_in
from torchdevlint.flow.state.devices import TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import Ref, Step, Tensor, Unknown
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in

_ANSWERS = regex(r"predict|infer|detect|recogni[sz]e|transcribe")
"""Methods of models that bring to the host what they give, as often as not."""
_DATA_SETS = regex(r"data_?sets?(?:_|$)")
"""Names of data sets."""
_GIVE_NO_TENSORS = frozenset(
    {"parameters", "named_parameters", "state_dict", "buffers", "modules", "children", "config"}
)


def note_read(frame: Frame, state: State, node: ast.Call, read: ast.expr) -> bool:
    """Emit the read of `node` if it is brought to the CPU elsewhere, or came from a Module that is an argument.

    Also if it is a part of something that was moved, or that a model gave for what was: what a function gives for that
    may be anywhere.
    """
    function = frame.function
    if function is None:
        return False
    value = frame.evaluate(read, state)
    place = value.given if isinstance(value, Unknown) else None
    if place is not None and _is_chosen(place) and not _is_of_function(frame, function, read):
        frame.machine.emit(ReadByHost(frame, state, node, (read, given_tensor(place, read))))
        return True
    brought = brought_besides(function, node) or brought_by_class(frame, function, node)
    if brought is not None:
        device, step = Device(Origin.ARGUMENT, stem_text(node)), Step("read after a copy to the CPU here", brought)
    elif (beside := brought_as_detached(frame, state, node)) is not None:
        text = frame.machine.text_of(read)
        device, step = Device(Origin.ARGUMENT, text), Step("another one is copied to the CPU here", beside)
    elif brings_any(function) and (made := _made_by_module(frame, function, read)) is not None:
        device, step = TOP, Step("comes from a Module here", made, of_module=True)
    else:
        return False
    given = Tensor(device, None, (), (step,))
    frame.machine.emit(ReadByHost(frame, state, node, (read, given)))
    return True


def _is_chosen(place: Device) -> bool:
    """Whether code says by name where something is, and not that it is on the CPU."""
    return place.origin in (Origin.EXPRESSION, Origin.LITERAL) and not on_cpu(place)


def _is_of_function(frame: Frame, function: Scope, read: ast.expr) -> bool:
    """Whether it is what something gives that is called, and is neither a local name nor used as a module is.

    Or what a method gives that is meant for whoever asks, as ``model.predict(x)`` is.
    """
    call = _making_call(function, read)
    if call is not None and isinstance(call.func, ast.Attribute) and _ANSWERS.search(call.func.attr):
        return True
    root = first_name(dotted_path(call.func) or "") if call is not None else ""
    if not root or root in parameter_names(function) or _binds(function, root):  # type: ignore[arg-type]
        return False
    uses = uses_in(frame.machine.tree).get(root)
    return root != "self" and (uses is None or not uses.is_module)


def _binds(function: Scope, name: str) -> bool:
    return any(is_bound for _, is_bound, _ in bindings_in(function).get(name, ()))


def _making_call(function: Scope, read: ast.expr) -> ast.Call | None:
    """``model.logits(x)`` in ``model.logits(x)[0].float()``, also by a name that is bound to it, or to a part of it."""
    call: ast.expr | None = _first_call(read)
    if isinstance(call, ast.Name):
        values = values_by_path(function).get(call.id) or [value for _, value in unpacked_to(function, call.id)]
        call = _first_call(values[0]) if len(values) == 1 else None
    return call if isinstance(call, ast.Call) else None


def _made_by_module(frame: Frame, function: Scope, read: ast.expr) -> ast.Call | None:
    """The call of a Module that is an argument, or of one of its methods, which made what is read."""
    call = _making_call(function, read)
    if call is None:
        return None
    path = dotted_path(call.func) or ""
    root, _, rest = path.partition(".")
    last = rest.rpartition(".")[2]
    if root not in parameter_names(function) or last in _GIVE_NO_TENSORS:  # type: ignore[arg-type]
        return None
    uses = uses_in(function).get(root)
    is_module = (uses is not None and uses.is_module) or is_annotated_module(frame, function, root)
    return call if is_module and not (rest and torch_api.is_of_tensors(last)) else None


def _is_of_module(frame: Frame, function: Scope, read: ast.expr) -> bool:
    """Whether a Module that is an argument made what is read; labels it may give back as they came."""
    is_label = isinstance(read, ast.Name) and is_of_data(read.id)
    return not is_label and _made_by_module(frame, function, read) is not None


def _first_call(node: ast.expr) -> ast.expr:
    """`f(x)` in ``f(x)[0].float()``, or the name that a chain of methods of tensors begins with."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_step(node.func):
            node = node.func.value
        else:
            return node


def _is_step(function: ast.Attribute) -> bool:
    """Whether it is called on what a call gave, or is a method of tensors: ``logits.float()``."""
    holder = whole_of(function.value)
    return isinstance(holder, ast.Call) or (isinstance(holder, ast.Name) and torch_api.is_of_tensors(function.attr))


def note_unknown(frame: Frame, state: State, node: ast.Call, read: ast.expr) -> None:
    """``x.numpy()`` of something unknown: by what made it, by what it is detached from, or as an argument that came.

    Below ``if x.is_cuda:`` that is known of `x`.
    """
    if frame.function is None:
        return
    tested = on_tested_accelerator(frame.function, read)
    if tested is not None:
        step = Step("tells whether it is on an accelerator", tested[1])
        given = Tensor(Device(Origin.EXPRESSION, tested[0]), None, (), (step,))
        frame.machine.emit(ReadByHost(frame, state, node, (read, given)))
        return
    if note_read(frame, state, node, read):
        return
    is_calculated = is_detached_in(frame.function, node) or _is_of_module(frame, frame.function, read)
    made = _made_of_chosen(frame, state, frame.function, read) if is_calculated else None
    if made is not None:
        frame.machine.emit(ReadByHost(frame, state, node, (read, made)))
        return
    if isinstance(read, ast.Call) and _note_detached(frame, state, node, read):
        return
    root = _argument_in(read)
    if root is not None and _is_as_given(frame, frame.function, root):
        given = Tensor(Device(Origin.ARGUMENT, root.id), None, (), (Step("read as a tensor", read),))
        frame.machine.emit(ReadByHost(frame, state, node, (read, given), given=True))
    elif isinstance(read, ast.Name):
        followed = is_followed_beside(frame.function, read)
        given = Tensor(Device(Origin.ARGUMENT, read.id), None, (), (Step("read as a tensor", read),))
        if followed or _is_as_given(frame, frame.function, read):
            frame.machine.emit(ReadByHost(frame, state, node, (read, given), given=not followed))
    elif is_detached_in(frame.function, node) and not _is_copied(read):
        step = Step(f"`{frame.machine.text_of(read)}` is read as a tensor of a model", read, of_module=True)
        frame.machine.emit(ReadByHost(frame, state, node, (read, Tensor(TOP, None, (), (step,))), given=True))


def _made_of_chosen(frame: Frame, state: State, function: Scope, detached: ast.expr) -> Tensor | None:
    """What a call gives that is given a tensor of a chosen device, and none of the CPU, where the result is detached.

    A method of an unknown object may give anything, but what has to be detached is calculated of what it was given, as
    is what a Module gives.
    """
    call = _making_call(function, detached)
    method = call.func.attr if call is not None and isinstance(call.func, ast.Attribute) else ""
    if call is None or _ANSWERS.search(method) or _is_copied(call) or _is_given_of_cpu(frame, state, call):
        return None
    frame.machine.unseen += 1
    values = [(each, frame.evaluate(each, state)) for each in call.args]
    frame.machine.unseen -= 1
    for node, value in values:
        if isinstance(value, Tensor) and _is_chosen(value.device) and value.moved:
            step = Step(f"is given `{frame.machine.text_of(node)}` here", call)
            return Tensor(value.device, None, (), (step,))
    return None


def _argument_in(read: ast.expr) -> ast.Name | None:
    """`x` in ``x.transpose(0, 1)``, ``x.data`` and ``x["key"].float()``: what a chain of a tensor's own begins with."""
    node = read
    while not isinstance(node, ast.Name):
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute) and torch_api.is_of_tensors(method.attr):
            node = method.value
        elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ("data", "T")):
            node = node.value
        else:
            return None
    return None if node is read else node


def _note_detached(frame: Frame, state: State, node: ast.Call, detached: ast.Call) -> bool:
    """``a.x.detach().numpy()`` of an argument `a`, and of what is made of something whose device is asked for.

    What a data set keeps is on the CPU.
    """
    root, function = root_of(detached), frame.function
    if root is not None and _DATA_SETS.search(root):
        return True
    if function is None or root in (None, "self") or _is_copied(detached) or _is_given_of_cpu(frame, state, detached):
        return False
    if root not in parameter_names(function):
        made = values_by_path(function).get(root or "", []) if is_detached(node) else []
        names = {each.id for value in made for each in inside(value) if isinstance(each, ast.Name)}
        root = min(names & followed_in(function), default=None)
    elif not is_detached(node):
        root = None
    if root is not None or is_detached(node):
        text = f"`{frame.machine.text_of(detached)}` is read as a tensor of a model"
        step = Step(text, detached, of_module=root is None)
        given = Tensor(TOP if root is None else Device(Origin.ARGUMENT, root), None, (), (step,))
        frame.machine.emit(ReadByHost(frame, state, node, (detached, given), given=root is None))
    return root is not None


def brought_by_class(frame: Frame, function: Scope, node: ast.Call) -> ast.Call | None:
    """What another method of the class brings to the CPU, where it reads the same attribute."""
    if frame.owner is None:
        return None
    methods = [each for info in frame.owner.mro for each in info.methods.values()]
    return brought_by_methods(methods, function, node)


def brought_as_detached(frame: Frame, state: State, node: ast.Call) -> ast.Call | None:
    """What the function brings to the CPU that reads ``x.detach().numpy()``, if nothing made on the CPU led to `x`."""
    brought = brought_beside_detached(frame.function, node) if frame.function is not None else None
    if brought is None or _imports_one_of(frame, DETACHING) or _is_given_of_cpu(frame, state, node):
        return None
    return brought


def is_of_another_framework(frame: Frame) -> bool:
    """Whether the file imports another library that has tensors."""
    return _imports_one_of(frame, OTHER_FRAMEWORKS)


def _imports_one_of(frame: Frame, libraries: frozenset[str]) -> bool:
    bound = frame.machine.globals.values()
    return any(isinstance(each, Ref) and each.name.partition(".")[0] in libraries for each in bound)


def is_made_by_call(frame: Frame, state: State, detached: ast.expr) -> bool:
    """Whether what is detached is what calls in this function give, for nothing that was made on the CPU.

    Of a Module that is read there, other code tells where it is; and what a loop goes through may be data.
    """
    function = frame.function
    assert function is not None
    read = [each for each in inside(detached) if isinstance(each, ast.Name)]
    if _is_given_of_cpu(frame, state, detached) or any(is_module(frame.evaluate(each, state)) for each in read):
        return False
    names = dict.fromkeys(each.id for each in read)
    if any(each.id in names for loop in nodes_in(function, ast.For) for each in nodes_in(loop.target, ast.Name)):
        return False
    made = [value for name in names for value in values_by_path(function).get(name, ())]
    made += [value for name in names for _, value in unpacked_to(function, name)]
    calls = [each for each in made if isinstance(each, ast.Call) and not _is_given_of_cpu(frame, state, each)]
    first = _first_call(detached)
    is_of_call = isinstance(first, ast.Call) and last_name(first.func) != "detach"
    return len(calls) == len(made) and (bool(calls) or is_of_call)


def _is_as_given(frame: Frame, function: AnyFunction, name: ast.Name) -> bool:
    """Whether a name is an argument of what was entered that nothing before has bound anew."""
    if frame.depth or name.id not in parameter_names(function):
        return False
    return all(line >= name.lineno for line, is_bound, _ in bindings_in(function).get(name.id, ()) if is_bound)


def _is_copied(node: ast.expr) -> bool:
    """Whether a chain of methods brings a tensor to the CPU: ``x.cpu().detach()``."""
    return any(isinstance(each, ast.Attribute) and each.attr == "cpu" for each in inside(node))


def _is_given_of_cpu(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether a call in it is given what is made there on the CPU: a model elsewhere would have refused that.

    What ``torch.tensor`` makes of something unknown is there too, unless that is a tensor itself. Nobody is told of
    what is looked at here: it stands elsewhere, and ``x = f(x.detach().numpy())`` would ask this of itself for ever.
    """
    given = [each for call in inside(node) if isinstance(call, ast.Call) for each in call.args]
    frame.machine.unseen += 1
    values = [frame.evaluate(each, state) for each in given]
    frame.machine.unseen -= 1
    tensors = [each for each in values if isinstance(each, Tensor) and each.ndim != 0]
    made = (each.device == TOP and any(step.made_by for step in each.steps) for each in tensors)
    return any(on_cpu(each.device) for each in tensors) or any(made)
