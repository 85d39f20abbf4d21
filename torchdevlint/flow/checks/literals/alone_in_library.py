"""The only literal CUDA device of a file that asks for none, in a project that follows devices elsewhere (TDL012).

``feat.to("cuda")`` in a method of a library whose other files speak of ``x.device``: who calls it on another machine,
or on another GPU, gets an error. A file that is for CUDA names it more than once, asks for it, or says so by its name.
Where a model goes, and what is sent to other processes, is chosen by such a literal; what it works with is not.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.literals.unasked_cuda import is_asked_for, named_in
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, parameter_names, public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import is_below, nodes_in, once_a_node

_OF_PROCESSES = frozenset({"distributed", "nccl", "local_rank", "torchrun"})
_SAID = (".device",)
"""What files of a project say that follow devices."""
_OPTIONS = frozenset({"self", "cls", "args", "opt", "opts", "options", "config", "cfg", "kwargs"})
_MODELS = regex(r"model|pipe(?:line)?$|net(?:work)?$|encoder|decoder|module|layer")


def is_alone(frame: Frame, state: State, node: ast.Call) -> bool:
    """Whether a call that names CUDA is the only one of its file, in a function that works on what it is given."""
    machine, function = frame.machine, frame.function
    if function is None or last_name(node.func) == "cuda" or named_in(machine.tree) != 1 or frame.entry.kind == "init":
        return False
    lost = machine.discarded is node and last_name(node.func) == "to"
    if lost or machine.words & _OF_PROCESSES or is_asked_for(frame, node):
        return False
    works = bool(parameter_names(function) - _OPTIONS) or (frame.owner is not None and "self" in state.env)
    return works and not _moves_model(frame, state, node) and _follows_devices(frame, function)


def _moves_model(frame: Frame, state: State, node: ast.Call) -> bool:
    """``model.to("cuda")``, which says where the model is from there on, and so does ``Encoder(.., device="cuda")``."""
    if last_name(node.func) != "to":
        return last_name(node.func)[:1].isupper()
    receiver = node.func.value  # type: ignore[attr-defined]
    name = last_name(receiver.func if isinstance(receiver, ast.Call) else receiver)
    if is_named_like_a_model(receiver) or _MODELS.search(name.lower()):
        return True
    value = frame.evaluate(receiver, state)
    return isinstance(value, Obj) or (isinstance(value, Library) and value.module)


def _follows_devices(frame: Frame, function: AnyFunction) -> bool:
    """Whether the file asks where something is that the function has not made, or other files of the project do."""
    given = parameter_names(function)
    asked = _asked_where(frame.machine.tree)
    if any(not is_below(each, function) or first_name(dotted_path(each) or "") in given for each in asked):
        return True
    others = frame.machine.others
    return others is not None and bool(others.project.saying(_SAID))


@once_a_node
def _asked_where(tree: ast.Module) -> list[ast.Attribute]:
    """The devices of a file that something is asked for."""
    asked = (each for each in nodes_in(tree, ast.Attribute) if each.attr == "device")
    return [each for each in asked if public_path(each) != "torch.device"]
