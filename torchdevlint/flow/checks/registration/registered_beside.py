"""Whether a Module registers what a plain container of its holds in another way as well.

By a container of torch or a Module of the project that registers what it is given, or by calls such as `add_module`.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.registration import contents
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names
from torchdevlint.flow.scope.place_tests import exclude
from torchdevlint.flow.state.classes import MODULE_NAMESPACES, ClassInfo, is_module_class
from torchdevlint.flow.state.others import OtherFiles, named
from torchdevlint.flow.state.values import Cls
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import Assignment, arguments_of, assignments_in, inside, is_inside, nodes_in, once_a_node

_MOVES_ITSELF = frozenset({"_apply", "to", "cuda", "parameters"})
_REGISTERS = frozenset({"add_module", "register_module", "setattr", "__setattr__", "register_parameter"})
_FILLS = frozenset({"append", "extend", "insert", "update"})
"""What fills a container of torch, called on one."""
_PLAIN = frozenset({"list", "tuple", "dict", "sorted", "reversed", "zip", "map", "filter", "enumerate", "range"})
"""What gives no Module, whatever it is given."""


def is_registered(info: ClassInfo, attribute: str, place: ast.AST, others: OtherFiles | None) -> bool:
    """Whether what the attribute holds is given to a registering container or call as well, or hidden on purpose."""
    if _moves_itself(info, attribute) or _wraps_what_is_none(info, attribute) or _wraps_parts(info, attribute):
        return True
    for each in info.mro:
        for node in nodes_in(each.node, ast.Call):
            callee = last_name(node.func)
            is_run = callee in _REGISTERS and (each is info or _is_run_for(info, each, node))
            if is_run and not _registers_another(each, node, attribute, others):
                return True
            given = [part for part in arguments_of(node) if _mentions(part, attribute, each, node, place)]
            if not given or any(exclude(method, place, node) for method in _holding(each, node, place)):
                continue
            if callee in torch_api.CONTAINER_MODULES or _registers_what_is_given(each, node, given, others):
                return True
    return False


def _moves_itself(info: ClassInfo, attribute: str) -> bool:
    """Whether a method by which a Module is moved is the class's own, and may come to the attribute.

    It does so by its name, in what it runs of the class as well, or by names that are worked out.
    """
    left, seen = [name for name in _MOVES_ITSELF if name in info.all_methods], set[str]()
    while left:
        name = left.pop()
        seen.add(name)
        method = info.all_methods[name][1]
        if _names_anything(method):
            return True
        own = {each.attr for each in nodes_in(method, ast.Attribute) if _is_own(each)}
        if attribute in own or any(each.value == attribute for each in nodes_in(method, ast.Constant)):
            return True
        left += [each for each in own & set(info.all_methods) if each not in seen]
    return False


def _is_own(node: ast.Attribute) -> bool:
    return dotted_path(node.value) == "self"


def _names_anything(method: ast.AST) -> bool:
    """Whether it reads or writes attributes whose names it works out: ``vars(self)``, ``getattr(self, name)``."""
    if any(each.attr == "__dict__" for each in nodes_in(method, ast.Attribute)):
        return True
    for call in nodes_in(method, ast.Call):
        callee = dotted_path(call.func)
        spelled_out = len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
        if callee == "vars" or (callee in ("getattr", "setattr") and not spelled_out):
            return True
    return False


def assignments(info: ClassInfo, attribute: str) -> list[Assignment]:
    """All assignments to an attribute in the class and its bases."""
    return [each for one in info.mro for each in assignments_by_path(one.node).get(f"self.{attribute}", ())]


def _wraps_what_is_none(info: ClassInfo, attribute: str) -> bool:
    """Whether a class takes a list or a Module: one assignment wraps an argument, and the other takes it as it came."""
    values = [each.value for each in assignments(info, attribute)]
    wrapped = {dotted_path(each) for value in values if contents.registers(value) for each in value.args}
    return any(isinstance(each, ast.Name) and each.id in wrapped for each in values)


def _wraps_parts(info: ClassInfo, attribute: str) -> bool:
    """``[nn.Sequential(each) for each in self.features]``: the layers are moved in place, with what they are of."""
    values = [each.value for each in assignments(info, attribute)]
    return bool(values) and all(isinstance(each, ast.ListComp) and _is_of_parts(info, each) for each in values)


def _is_of_parts(info: ClassInfo, value: ast.ListComp) -> bool:
    walked, layer = value.generators[0].iter, dotted_path(value.generators[0].target)
    if isinstance(walked, ast.Call) and isinstance(walked.func, ast.Attribute) and walked.func.attr == "children":
        walked = walked.func.value
    if not isinstance(walked, ast.Attribute) or not _is_own(walked) or len(value.generators) > 1:
        return False
    made = [each.value for each in assignments(info, walked.attr)]
    wrapped = value.elt.args if contents.registers(value.elt) and not value.elt.keywords else [value.elt]
    is_wrapped = layer is not None and all(dotted_path(each) == layer for each in wrapped)
    return is_wrapped and bool(made) and all(map(_makes_module, made))


def _makes_module(value: ast.expr | None) -> bool:
    """Whether it is what a call gives, or a part of that, which is no plain list."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Call) and last_name(value.func) not in _PLAIN


def _registers_another(info: ClassInfo, node: ast.Call, attribute: str, others: OtherFiles | None) -> bool:
    """Whether a call registers nothing, or a module that is made in its arguments, of nothing that may hold others.

    ``self.register_parameter("bias", None)``, ``self.add_module("stem", nn.Conv2d(width, 8, 3))``.
    """
    made = next((each.value for each in node.keywords if each.arg in ("module", "param")), None)
    if made is None:
        made = node.args[-1] if len(node.args) > 1 else None
    if isinstance(made, ast.Constant):
        return made.value is None
    if not isinstance(made, ast.Call) or not _makes_module_of_class(info, made, others):
        return False
    parts = list(inside(made))
    if any(isinstance(each, ast.Starred) or dotted_path(each) == f"self.{attribute}" for each in parts):
        return False
    method = next((each for each in info.methods.values() if node in nodes_in(each, ast.Call)), None)
    given = {each.id for argument in arguments_of(made) for each in inside(argument) if isinstance(each, ast.Name)}
    return method is not None and given.isdisjoint(_may_hold_modules(method))


def _makes_module_of_class(info: ClassInfo, call: ast.Call, others: OtherFiles | None) -> bool:
    """Whether a call names a class of Modules, of torch or of the project, or makes a Parameter."""
    name = info.public_name(call.func) or ""
    if is_module_class(name) or name == "torch.nn.Parameter":
        return True
    found = named(info.found(call.func), call.func, others)
    return isinstance(found, Cls) and found.info.is_module


@once_a_node
def _may_hold_modules(method: FunctionNode) -> set[str]:
    """The names that a method binds to what something gives or holds, or by a loop: not those of numbers and texts."""
    found = {
        each.id
        for one in assignments_in(method)
        if any(isinstance(part, _HOLDERS) for part in inside(one.value))
        for target in one.targets
        for each in inside(target)
        if isinstance(each, ast.Name)
    }
    loops: list[ast.For | ast.comprehension] = [*nodes_in(method, ast.For), *nodes_in(method, ast.comprehension)]
    taken = (each for loop in loops if not _is_counted(loop.iter) for each in inside(loop.target))
    return found | {each.id for each in taken if isinstance(each, ast.Name)}


_HOLDERS = (ast.Call, ast.List, ast.Dict, ast.Tuple, ast.ListComp, ast.DictComp)


def _is_counted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted_path(node.func) == "range"


def _is_run_for(info: ClassInfo, base: ClassInfo, node: ast.Call) -> bool:
    """Whether a call in a base stands in what runs of itself, or in a method that the class itself calls."""
    called = {each.func.attr for each in nodes_in(info.node, ast.Call) if isinstance(each.func, ast.Attribute)}
    return any(
        (name.startswith("__") or name in called) and node in nodes_in(method, ast.Call)
        for name, method in base.methods.items()
    )


def _mentions(node: ast.expr, attribute: str, info: ClassInfo, call: ast.Call, place: ast.AST) -> bool:
    """Whether an argument of a call is the attribute, or in the method that assigns it the name of what it is."""
    placed = (each.value for each in assignments_in(info.node) if each.targets[0] is place)
    local = next(map(contents.source_of, placed), None)
    named_so = False
    for each in inside(node):
        if isinstance(each, ast.Attribute) and dotted_path(each) == f"self.{attribute}":
            return True
        named_so = named_so or (isinstance(each, ast.Name) and each.id == local)
    return named_so and bool(_holding(info, call, place))


def _holding(info: ClassInfo, call: ast.Call, place: ast.AST) -> list[FunctionNode]:
    """The method that holds a call as well as a place."""
    methods = (each for each in info.methods.values() if is_inside(call, each))
    return [each for each in methods if is_inside(place, each)]


def _registers_what_is_given(info: ClassInfo, call: ast.Call, given: list[ast.expr], others: OtherFiles | None) -> bool:
    """``Stack(self.layers)``, of a Module of the project that registers this argument."""
    found = named(info.found(call.func), call.func, others)
    if not isinstance(found, Cls) or not found.info.is_module:
        return False
    return any(_constructor_registers(found.info, 0, call, each) for each in given)


def _constructor_registers(info: ClassInfo, start: int, call: ast.Call, given: ast.expr) -> bool:
    """Whether the constructor of a class, or of its bases from `start` on, registers what a call gives it.

    One that no class of the project writes is that of ``nn.Sequential`` and its kin. Another one hands the argument on
    to that, to a container of its own, or to what fills it.
    """
    place = next((at for at in range(start, len(info.mro)) if "__init__" in info.mro[at].methods), None)
    if place is None:
        return any(_is_container(base) for base in info.library_bases)
    init = info.mro[place].methods["__init__"]
    name = _parameter(init, call, given)
    for each in nodes_in(init, ast.Call):
        callee = last_name(each.func)
        handed = [part for part in arguments_of(each) if any(dotted_path(one) == name for one in inside(part))]
        if callee in _REGISTERS or (handed and callee in torch_api.CONTAINER_MODULES):
            return True
        if handed and callee == "__init__" and _constructor_registers(info, place + 1, each, handed[0]):
            return True
        if handed and callee in _FILLS and dotted_path(each.func) == f"self.{callee}":
            return any(_is_container(base) for base in info.library_bases)
    return False


def _is_container(base: str) -> bool:
    return base.startswith(MODULE_NAMESPACES) and base.rpartition(".")[2] in torch_api.CONTAINER_MODULES


def _parameter(init: FunctionNode, call: ast.Call, given: ast.expr) -> str | None:
    """The parameter of a constructor that gets an argument of a call."""
    if given not in call.args:
        return next(each.arg for each in call.keywords if each.value is given)
    names = [*positional_names(init)[1:], *([init.args.vararg.arg] if init.args.vararg else [])]
    return names[min(call.args.index(given), len(names) - 1)] if names else None
