"""What a module that is made here has to be moved for: its layers, or buffers and parameters of its own (TDL004)."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run.objects import attribute_of_object
from torchdevlint.flow.scope.names import dotted_path, positional_names
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import MODEL
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Library, Obj, Tensor
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_SOMETIMES = (ast.If, ast.IfExp, ast.Try, ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.BoolOp)


def has_parameters(module: Library | Obj) -> bool:
    """Whether its class surely makes parameters, and brings nothing anywhere itself."""
    if isinstance(module, Library):
        if libraries.holds_tensors(module.name):
            return True
        name = module.name.rpartition(".")[2]
        layers = (each.name.rpartition(".")[2] for each in module.children if isinstance(each, Library))
        return name in torch_api.PARAMETER_MODULES or any(each in torch_api.PARAMETER_MODULES for each in layers)
    return module.info.resolved and any(each.makes_layers for each in module.info.mro) and not _places(module.info)


def meets_own(frame: Frame, module: Obj) -> bool:
    """Whether its forward surely combines an input with a buffer or parameter of its own that has dimensions."""
    info, found = module.info, module.info.all_methods.get("forward")
    if not info.resolved or found is None or _places(info):
        return False
    for name in _combined_in(info, found[1]):
        attribute_of_object(frame, module, name)
        held = [each.attributes[name] for each in info.mro if name in each.attributes]
        own = (each for each in held if isinstance(each, Tensor) and each.device == MODEL)
        if held and [each for each in own if each.ndim not in (None, 0)] == held:
            return True
    return False


def _combined_in(info: ClassInfo, forward: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The attributes of `self` that an operator or a function of torch combines with a parameter of `forward`."""
    found: list[str] = []
    for function, operands in _always_combined(forward):
        if function is None or (info.public_name(function) or "").startswith("torch."):
            paths = (dotted_path(each) or "" for each in operands)
            found += [path.removeprefix("self.") for path in paths if path.startswith("self.") and path.count(".") == 1]
    return found


@once_a_node
def _always_combined(
    forward: ast.FunctionDef | ast.AsyncFunctionDef,
) -> tuple[tuple[ast.expr | None, tuple[ast.expr, ...]], ...]:
    """The operands of each operator and call, with what is called, that has a parameter of `forward` among them.

    Only those that every call comes to.
    """
    given = frozenset(positional_names(forward)[1:])
    branches = (each for each in inside(forward) if isinstance(each, _SOMETIMES) and each is not forward)
    sometimes = {inner for each in branches for inner in inside(each)}
    found: list[tuple[ast.expr | None, tuple[ast.expr, ...]]] = []
    for node in inside(forward):
        if isinstance(node, ast.BinOp):
            found.append((None, (node.left, node.right)))
        elif isinstance(node, ast.Call):
            found.append((node.func, (*node.args, *(each.value for each in node.keywords))))
        else:
            continue
        if node in sometimes or not any(isinstance(each, ast.Name) and each.id in given for each in found[-1][1]):
            found.pop()
    return tuple(found)


def _places(info: ClassInfo) -> bool:
    return any(speaks_of_places(each.node) for each in info.mro)


@once_a_node
def speaks_of_places(node: ast.ClassDef) -> bool:
    """Whether a class moves something, or asks for a device."""
    words = {each.attr for each in nodes_in(node, ast.Attribute)} | {each.arg for each in nodes_in(node, ast.keyword)}
    words |= {each.arg for each in nodes_in(node, ast.arg)}
    return not words.isdisjoint({"to", "device", "cpu", *torch_api.DEVICE_METHODS})
