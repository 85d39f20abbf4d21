"""Whether a Module has the parameters of what its plain list holds otherwise, so that nothing is lost.

They are in a `ParameterList`, or the one module of a list is moved there and trained by an optimizer of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.registration.registering import only_assignment
from torchdevlint.flow.kinds.held_modules import classes_held, parts_of
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.names import dotted_path, last_name, names_one_of, public_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.others import OtherFiles
from torchdevlint.flow.state.values import Library, Map, Obj, Seq, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, inside, nodes_in

_MORE_THAN_PARAMETERS = regex(r"(?i)dropout|batch_?norm|instance_?norm|rrelu|buffer")
"""Layers that `train` and `eval` have to reach, and what else `to` has to move."""


def has_parameters_of(info: ClassInfo, attribute: str, value: Value, others: OtherFiles | None) -> bool:
    """``params.extend(block.parameters())`` of what the list holds, and ``nn.ParameterList(params)``.

    A move of the Module then changes these parameters in place.
    """
    calls = [each for one in info.mro for each in nodes_in(one.node, ast.Call)]
    given = (each.args for each in calls if last_name(each.func) == "ParameterList")
    lists = {path for args in given for each in args if (path := dotted_path(each)) is not None}
    if not lists:
        return False
    methods = [each for one in info.mro for each in one.methods.values()]
    held = [each for each in methods if any(_is_put(info, attribute, each, name) for name in _asked(each, lists))]
    return bool(held) and all(_has_parameters_alone(each, others) for each in _modules_in(value))


def is_kept_apart(info: ClassInfo, attribute: str) -> bool:
    """``self.critic = [Critic().cuda()]`` and ``optim.Adam(self.critic[0].parameters())``: hidden on purpose."""
    assigned = only_assignment(info, attribute)
    held = assigned.value.elts if assigned is not None and isinstance(assigned.value, ast.List) else []
    if len(held) != 1 or held[0] is module_in(held[0]):
        return False
    made = (each for one in info.mro for each in nodes_in(one.node, ast.Call))
    optimizers = (each for each in made if public_path(each.func).startswith("torch.optim."))
    given = (part for each in optimizers for argument in each.args[:1] for part in inside(argument))
    return any(isinstance(each, ast.Subscript) and dotted_path(each.value) == f"self.{attribute}" for each in given)


def _asked(method: ast.AST, lists: set[str]) -> Iterator[str]:
    """The names whose parameters a method adds to one of these lists."""
    adds = [
        each.args[0]
        for each in nodes_in(method, ast.Call)
        if isinstance(each.func, ast.Attribute)
        and each.func.attr == "extend"
        and dotted_path(each.func.value) in lists
        and each.args
    ]
    adds += [each.value for each in nodes_in(method, ast.AugAssign) if dotted_path(each.target) in lists]
    for added in adds:
        for each in inside(added):
            if isinstance(each, ast.Attribute) and each.attr == "parameters" and isinstance(each.value, ast.Name):
                yield each.value.id


def _is_put(info: ClassInfo, attribute: str, method: FunctionNode, name: str) -> bool:
    """Whether a method puts what it calls so into the attribute, or takes it from there, or into a list for it."""
    path = f"self.{attribute}"
    if any(_reads(each.iter, path) and dotted_path(each.target) == name for each in nodes_in(method, ast.For)):
        return True
    appends = [
        each.func.value
        for each in nodes_in(method, ast.Call)
        if isinstance(each.func, ast.Attribute) and each.func.attr == "append"
        if [dotted_path(given) for given in each.args] == [name]
    ]
    filled = {dotted_path(each) for each in appends} - {None}
    if path in filled:
        return True
    returned = {dotted_path(each.value) for each in nodes_in(method, ast.Return) if each.value is not None}
    return bool(filled & returned) and any(_calls(each, method.name) for each in _put_in(info, path))


def _put_in(info: ClassInfo, path: str) -> Iterator[ast.expr]:
    """What a class assigns to an attribute, and appends to it."""
    for one in info.mro:
        for assigned in assignments_in(one.node):
            if names_one_of(path, assigned.targets):
                yield assigned.value
        for call in nodes_in(one.node, ast.Call):
            if dotted_path(call.func) == f"{path}.append":
                yield from call.args


def _reads(node: ast.expr, path: str) -> bool:
    return any(dotted_path(each) == path for each in inside(node) if isinstance(each, ast.Attribute))


def _calls(node: ast.expr, method: str) -> bool:
    return any(dotted_path(each.func) == f"self.{method}" for each in inside(node) if isinstance(each, ast.Call))


def _modules_in(value: Value) -> Iterator[Obj | Library]:
    for _, each in alternatives(value):
        if isinstance(each, (Seq, Map)):
            for part in parts_of(each):
                yield from _modules_in(part)
        elif isinstance(each, (Obj, Library)):
            yield each


def _has_parameters_alone(module: Obj | Library, others: OtherFiles | None) -> bool:
    """Whether nothing is lost of a module whose parameters are registered: no buffers, and no mode that counts."""
    if isinstance(module, Library):
        return bool(module.name) and not _MORE_THAN_PARAMETERS.search(module.name)
    classes = {*module.info.mro, *classes_held(module.info, others)}
    called = {last_name(each.func) or "" for one in classes for each in nodes_in(one.node, ast.Call)}
    bases = {base for one in classes for base in one.library_bases}
    return not any(map(_MORE_THAN_PARAMETERS.search, called | bases))
