"""An attribute of the model is read from `DataParallel` or `DistributedDataParallel`, which does not have it.

## What it does
Finds `wrapped.names` and `wrapped.generate(...)` where `wrapped` is `nn.DataParallel(model)`,
`DistributedDataParallel(model)` or `AveragedModel(model)`, and the name is none of the wrapper's own; likewise a
wrapper that is given to a function of peft which reads `model.peft_config`, such as
`get_peft_model_state_dict(wrapped)`. What the `prepare` of accelerate gives is `DistributedDataParallel(model)` where
several processes run.

## Why is this bad?
The wrapper is a Module of its own, which holds the model as its attribute `module` and hands nothing else through:

    AttributeError: 'DataParallel' object has no attribute 'names'

The wrap often stands under `if torch.cuda.device_count() > 1`, or runs only where `torchrun` starts the script. Then
the line works on a laptop and on one GPU, and fails on the first machine with two.

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.names = ["cat", "dog"]

    def forward(self, x):
        return self.layer(x)


def train(model=Net()):
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    return model.names
```

## Use instead
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.names = ["cat", "dog"]

    def forward(self, x):
        return self.layer(x)


def train(model=Net()):
    names = model.names
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    return names
```
After the wrap it is `model.module.names`, or `getattr(model, "module", model).names` where the wrap depends on the
machine; for accelerate it is `accelerator.unwrap_model(model).names`. A method that runs the network does so on one GPU
when it is called through `.module`; to use all of them, let `forward` call it.

## Fix safety
The fix asks the model inside: by `.module`, by `getattr` where it is wrapped on some paths only, or by the function
that the library has for it. It is unsafe: calling a method through `.module` goes around the wrapper, which with
`DistributedDataParallel` leaves gradients unsynchronised.

## What it cannot see
Wrappers that were made in another file, wrappers of other libraries, an `Accelerator` that is an argument, and models
that are wrapped by one method of a class and read by another one when it is not sure which of them runs first. Names
that begin with an underscore are reported only where the class of the model is known to have them; `wrapped.device` is
left to TDL107. Several attributes that a file reads of one wrapped model are one finding. It is silent where the
function asks with `hasattr`, or by a function that does, or catches the `AttributeError`, and where the file puts such
an attribute on a wrapper.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html)
- [torch.nn.parallel.DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `DataParallel`: naver/deep-image-retrieval#5, epfml/attention-cnn#11, nashory/pggan-pytorch#60, Jungjee/ASVspoof_PA#7
- `DistributedDataParallel`: huggingface/transformers#18974, huggingface/diffusers#8477
- [accelerate: `unwrap_model`](https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.unwrap_model)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.loads.wrap_order import (
    attributes_before,
    calls_before,
    is_put_on_model,
    wrapped_on_some_paths,
)
from torchdevlint.flow.events import AttributeRead
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.kinds import wrappers
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.parts_of_run import is_within
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func, Library, Obj, Ref, Value
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.rules.edits import attribute_renamed, fix, replaced
from torchdevlint.rules.wording import code, edit, operand
from torchdevlint.source.nodes import arguments_of, inside, keyword_of, nodes_in, parts_of_tuple

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""`DataParallel` has no attribute of the model that it wraps; the model inside has."""
import torch

NEEDS = "cpu"
RAISES = {"AttributeError": ["'DataParallel' object has no attribute 'names'"]}


class Net(torch.nn.Linear):
    names = ["cat", "dog"]


def flagged(device):
    return {"names": len(torch.nn.DataParallel(Net(2, 2)).names)}


def repaired(device):
    return {"names": len(torch.nn.DataParallel(Net(2, 2)).module.names)}
'''


class HiddenAttribute(Fact, frozen=True):
    """An attribute that is read from a wrapper, which does not hand it through to the model inside.

    `model` is the text of the wrapper at `model_at`, `wrapper` its class and `wrapped_at` where it is made;
    `class_name` is the class of the model inside if that defines the attribute, else empty; `called` whether it is a
    method that is called; `conditional` whether the wrap happens on some paths only. `unwrap` is the function that
    gives the model inside, if the library that wrapped it has one, and `unwrap_here` whether it has that name at the
    place too; `reader` the function of a library that is given the wrapper and reads the attribute, if it is one.
    """

    attribute: str
    called: bool
    model: str
    wrapper: str
    wrapped_at: Span
    class_name: str
    conditional: bool
    model_at: Span
    unwrap: str = ""
    unwrap_here: bool = True
    reader: str = ""

    @property
    def is_of_processes(self) -> bool:
        """Whether the wrapper is one for several processes."""
        return self.wrapper.endswith("DistributedDataParallel")


_ASKS = frozenset({"hasattr", "getattr"})
_CATCH = frozenset({"AttributeError", "Exception", "BaseException"})
_READERS = {
    f"peft.{module}{name}": "peft_config"
    for module in ("", "utils.", "utils.save_and_load.")
    for name in ("get_peft_model_state_dict", "set_peft_model_state_dict")
}
"""Functions of libraries that read an attribute of the model that they are given first."""


def _note_read(event: AttributeRead) -> None:
    """``receiver.name`` is read; a wrapper that is a plain Module has its own attributes and no others."""
    frame, state, node, receiver = event.frame, event.state, event.node, event.receiver
    if not isinstance(receiver, Library) or receiver.prefix != "module." or receiver.made_at is None:
        return
    if not isinstance(node.ctx, ast.Load):
        return
    defined_by = _class_that_defines(receiver.inner, node.attr)
    if not _is_missing(receiver, node.attr, defined_by is not None or is_put_on_model(frame, node, receiver.made_at)):
        return
    if _is_asked_for(frame, state, node, receiver.made_at) or _is_put_on_wrapper(frame, node, receiver.made_at):
        return
    conditional = wrapped_on_some_paths(frame, state, node.value, receiver.made_at)
    if conditional is None:
        return
    machine, made_at = frame.machine, receiver.made_at
    machine.record(
        ("hidden attribute", node),
        lambda: HiddenAttribute(
            machine.span_of(node),
            node.attr,
            _is_called(frame, node),
            machine.text_of(node.value),
            receiver.name,
            machine.span_of(made_at),
            "" if defined_by is None else defined_by.name,
            conditional,
            machine.span_of(node.value),
            *_unwrap(frame, made_at),
            shared=f"{machine.text_of(node.value)} wrapped at {machine.span_of(made_at)}",
        ),
        state,
    )


def _note_given(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``get_peft_model_state_dict(wrapped)``: a function that reads an attribute of the model."""
    model = next(iter(node.args), None) or keyword_of(node, "model")
    if model is None:
        return
    machine, read = frame.machine, ast.copy_location(ast.Attribute(model, _READERS[name], ast.Load()), node)
    for _, each in alternatives(frame.evaluate(model, state), state.conditions):
        if not isinstance(each, Library) or each.prefix != "module." or each.made_at is None:
            continue
        conditional = wrapped_on_some_paths(frame, state, model, each.made_at)
        if conditional is None or _is_asked_for(frame, state, read, each.made_at):
            continue
        fact = partial(
            HiddenAttribute,
            machine.span_of(model),
            _READERS[name],
            False,
            machine.text_of(model),
            each.name,
            machine.span_of(each.made_at),
            "",
            conditional,
            machine.span_of(model),
            *_unwrap(frame, each.made_at),
            reader=name.rpartition(".")[2],
            shared=f"{machine.text_of(model)} wrapped at {machine.span_of(each.made_at)}",
        )
        machine.record(("hidden attribute", node), fact, state)


def _unwrap(frame: Frame, made_at: ast.AST) -> tuple[str, bool]:
    """``accelerator.unwrap_model``, for a model that ``accelerator.prepare(..)`` has wrapped; whether that is bound."""
    callee = made_at.func if isinstance(made_at, ast.Call) else None
    path = dotted_path(callee.value) if isinstance(callee, ast.Attribute) and callee.attr == "prepare" else None
    if path is None:
        return "", True
    if frame.owner is not None and path.startswith("self."):
        return f"{path}.unwrap_model", True
    return f"{path}.unwrap_model", made_at in nodes_in(frame.function or frame.machine.tree, ast.Call)


def _class_that_defines(inner: Value | None, name: str) -> ClassInfo | None:
    """The class of the wrapped model, if it is known and it or a base in reach has that attribute."""
    for _, each in alternatives(inner) if inner is not None else ():
        if isinstance(each, Obj) and (name in each.info.all_methods or _writes(each.info, name)):
            return each.info
    return None


def _writes(info: ClassInfo, name: str) -> bool:
    return any(name in each.writers or name in each.attributes for each in info.mro)


def _is_missing(receiver: Library, name: str, defined: bool) -> bool:
    """Whether the wrapper surely lacks the attribute: releases differ in private names, and libraries in all.

    A `device` is the subject of TDL107, since plain Modules lack it as well.
    """
    tail = receiver.name.rpartition(".")[2]
    if name == "device" or name in torch_api.MODULE_ATTRIBUTES or name in torch_api.WRAPPER_ATTRIBUTES.get(tail, ()):
        return False
    if name.startswith("_") or not receiver.name.startswith("torch."):
        return defined and not name.startswith("__")
    return True


def _is_asked_for(frame: Frame, state: State, node: ast.Attribute, made_at: ast.AST) -> bool:
    """Whether the function asks for the attribute, or for a class that may have it, or handles its absence.

    Of what class the model is before it is wrapped says nothing of the wrapper.
    """
    scope = frame.function or frame.machine.tree
    before = calls_before(scope, made_at)
    if any(_names_class(each, node.value) for each in nodes_in(scope, ast.Attribute)):
        return True
    for call in nodes_in(scope, ast.Call):
        if _asks_for(frame, state, call, node):
            return True
        asks = call.func.id if isinstance(call.func, ast.Name) and len(call.args) > 1 else ""
        if asks in _ASKS and isinstance(call.args[1], ast.Constant) and call.args[1].value == node.attr:
            return True
        of_it = asks == "isinstance" and dotted_path(call.args[0]) == dotted_path(node.value)
        if of_it and call not in before and not wrappers.are_wrappers(frame.evaluate(call.args[1], state)):
            return True
    return any(is_within(node, each.body) and _catches(each) for each in nodes_in(scope, ast.Try))


def _names_class(node: ast.Attribute, model: ast.expr) -> bool:
    """``model.__class__.__name__`` and ``type(model).__name__``: that of a wrapper is none that a layer has."""
    kind = node.value
    if node.attr != "__name__":
        return False
    if isinstance(kind, ast.Call) and dotted_path(kind.func) == "type" and len(kind.args) == 1:
        return dotted_path(kind.args[0]) == dotted_path(model)
    of_class = isinstance(kind, ast.Attribute) and kind.attr == "__class__"
    return of_class and dotted_path(kind.value) == dotted_path(model)  # type: ignore[attr-defined]


def _asks_for(frame: Frame, state: State, call: ast.Call, node: ast.Attribute) -> bool:
    """Whether a function that gets the model and the name of the attribute looks whether the one has the other.

    One of another library that is asked in a test does.
    """
    given = arguments_of(call)
    named = any(isinstance(each, ast.Constant) and each.value == node.attr for each in given)
    if not named or not any(dotted_path(each) == dotted_path(node.value) for each in given):
        return False
    callee = frame.evaluate(call.func, state)
    if not isinstance(callee, Func):
        tests = (each.test for each in nodes_in(frame.function or frame.machine.tree, ast.If))
        return not isinstance(callee, Ref) and any(call in inside(test) for test in tests)
    asked = {each.func.id for each in nodes_in(callee.node, ast.Call) if isinstance(each.func, ast.Name)}
    return bool(asked & {*_ASKS, "dir", "vars"})


def _catches(node: ast.Try) -> bool:
    """Whether a handler takes an `AttributeError`."""
    for handler in node.handlers:
        if handler.type is None or any(dotted_path(kind) in _CATCH for kind in parts_of_tuple(handler.type)):
            return True
    return False


def _is_put_on_wrapper(frame: Frame, node: ast.Attribute, made_at: ast.AST) -> bool:
    """Whether the file assigns such an attribute to something that may be the wrapper.

    What the same function assigns before it wraps is the model's; so is what is assigned through ``.module``, and what
    a class assigns to itself.
    """
    machine = frame.machine
    before = attributes_before(frame, made_at)
    for target in nodes_in(machine.tree, ast.Attribute):
        if target.attr == node.attr and not isinstance(target.ctx, ast.Load) and target not in before:
            path = dotted_path(target.value) or ""
            if path not in ("self", "cls") and not path.endswith(".module"):
                return True
    return any(_sets(call, node) for call in nodes_in(machine.tree, ast.Call))


def _sets(call: ast.Call, node: ast.Attribute) -> bool:
    """``setattr(model, name, ..)`` and ``model.register_buffer(name, ..)``, on something other than ``self``."""
    if isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3:
        target, name = call.args[0], call.args[1]
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTER and call.args:
        target, name = call.func.value, call.args[0]
    else:
        return False
    if isinstance(name, ast.Constant):
        return name.value == node.attr and dotted_path(target) != "self"
    return dotted_path(target) == dotted_path(node.value)


_REGISTER = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})


def _is_called(frame: Frame, node: ast.Attribute) -> bool:
    scope = frame.function or frame.machine.tree
    return scope is not None and any(call.func is node for call in nodes_in(scope, ast.Call))


EVENTS = {AttributeRead: _note_read}
FUNCTIONS = dict.fromkeys(sorted(_READERS), _note_given)


def check(fact: HiddenAttribute) -> Iterator[Report]:
    wrapper = fact.wrapper.rpartition(".")[2]
    some = ", on some paths only," if fact.conditional else ""
    some = ", with several processes," if fact.unwrap else some
    yield Report(
        span=fact.at,
        message=f"`{wrapper}` does not hand `{fact.attribute}` through{_owner(fact)}{_reader(fact)}",
        symptom=f"AttributeError: '{wrapper}' object has no attribute '{fact.attribute}'{_when(fact)}",
        help=_help(fact),
        notes=(Note(f"{code(fact.model)} is wrapped{some} here", fact.wrapped_at),),
        fix=_fix(fact),
    )


def _owner(fact: HiddenAttribute) -> str:
    what = "a method" if fact.called else "an attribute"
    return f": it is {what} of `{fact.class_name}`, the model inside" if fact.class_name else " to the model inside"


def _reader(fact: HiddenAttribute) -> str:
    return f", which `{fact.reader}` reads" if fact.reader else ""


def _when(fact: HiddenAttribute) -> str:
    return ", where the model is wrapped" if fact.conditional else ""


def _help(fact: HiddenAttribute) -> str:
    model, call = operand(fact.model), "(...)" if fact.called else ""
    inside = _inside(fact) or f"{model}.module"
    if fact.reader:
        return f"give it the model inside: {edit(f'{fact.reader}({inside})')}"
    return f"ask the model inside: {edit(f'{inside}.{fact.attribute}{call}')}"


def _fix(fact: HiddenAttribute) -> Fix | None:
    inside = _inside(fact)
    if not fact.unwrap_here:
        return None
    if inside or fact.reader:
        change = replaced(fact.model_at, inside or f"{operand(fact.model)}.module")
    else:
        change = attribute_renamed(fact.at, fact.attribute, f"module.{fact.attribute}")
    return fix(Applicability.UNSAFE, "ask the model inside", change)


def _inside(fact: HiddenAttribute) -> str:
    """The model inside, where ``.module`` does not always give it; else empty."""
    if fact.unwrap:
        return f"{fact.unwrap}({fact.model})"
    return f'getattr({fact.model}, "module", {fact.model})' if fact.conditional else ""
