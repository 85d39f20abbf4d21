"""Arms for what is no tensor, which nothing in a project comes to: ``if not torch.is_tensor(x):``.

All calls of the function give what torch has made, or what has a method that only tensors have.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.saved_names import bound_before, values_in
from torchdevlint.flow.programs.texts.asked_tests import asked_before
from torchdevlint.flow.programs.texts.project_calls import CalledPlace, around, called_by, object_calls
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.names import dotted_path, has_stars, last_name, parameter_names, public_path, whole_of
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in

_MOST_HOPS = 12
_OF_TENSORS = frozenset(
    "to cuda cpu float double half long clone detach unsqueeze requires_grad_ contiguous permute new_tensor".split()
)
"""Methods of a tensor that neither an array, a list nor a number has."""
_Sites = list[tuple[ModuleFile, ast.Call]]


class TensorsAlone:
    """The functions of the first of some files that are given tensors and nothing else; the others import it."""

    def __init__(self, files: list[ModuleFile]) -> None:
        self._own = files[0]
        self._files = files
        self._known: dict[tuple[FunctionNode, str], bool] = {}

    def are_given(self, line: int) -> bool:
        """Whether a line is run for an argument alone that is no tensor, while all calls give one."""
        for place in around(self._own, line):
            for test, outcome in asked_before(place[1].body, line):
                name = _no_tensor(test, outcome)
                if name in parameter_names(place[1]) and self._is_given(place, name, _MOST_HOPS):
                    return True
        return False

    def _is_given(self, place: CalledPlace, name: str, hops: int) -> bool:
        """Whether all calls give a tensor for a parameter, or nothing."""
        _, function, owner = place
        if (function, name) not in self._known:
            self._known[function, name] = False
            is_bound = owner is not None and not any(
                last_name(each) == "staticmethod" for each in function.decorator_list
            )
            sites = self._sites(place) if hops else []
            given = [(site, argument_of(call, function, name, is_bound=is_bound)) for site, call in sites]
            told = [(site, each) for site, each in given if each is not None]
            is_seen = bool(told) and not any(has_stars(call) for _, call in sites)
            self._known[function, name] = is_seen and all(self._is_tensor(*each, hops - 1) for each in told)
        return self._known[function, name]

    def _sites(self, place: CalledPlace) -> _Sites:
        _, function, owner = place
        called = called_by(function, owner)
        if called is not None and function.name != "forward":
            return [
                (file, each)
                for file in self._files
                for each in nodes_in(file.tree, ast.Call)
                if last_name(each.func) == called
            ]
        if owner is None or function.name != "forward":
            return []
        made = [(file, each) for file in self._files for each in _called_by_name(file, owner.name)]
        objects = [(file, each) for file in self._files for each in object_calls(file) if not _is_of_torch(file, each)]
        return made + objects

    def _is_tensor(self, file: ModuleFile, node: ast.expr, hops: int) -> bool:
        """Whether an expression surely gives a tensor."""
        if isinstance(node, ast.Subscript):
            return self._is_tensor(file, node.value, hops)
        if isinstance(node, ast.BinOp):
            return any(self._is_tensor(file, each, hops) for each in (node.left, node.right))
        if isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _OF_TENSORS
            return is_method or public_path(node.func).startswith("torch.")
        return isinstance(node, ast.Name) and hops > 0 and self._is_named_so(file, node, hops - 1)

    def _is_named_so(self, file: ModuleFile, node: ast.Name, hops: int) -> bool:
        places = around(file, node.lineno)
        for place in places:
            if node.id in values_in(place[1]):
                return self._is_bound_so(file, place[1], node, hops)
            if node.id in parameter_names(place[1]):
                return self._is_given(place, node.id, hops)
        return self._is_left_so(file, node, hops) if places else self._is_bound_so(file, file.tree, node, hops)

    def _is_left_so(self, file: ModuleFile, node: ast.Name, hops: int) -> bool:
        """Whether the top level binds a name last to a tensor: a function reads what it is in the end."""
        values = [None if each.place is not None else each.value for each in values_in(file.tree).get(node.id, ())]
        known = sorted((each for each in values if each is not None), key=lambda each: each.lineno)
        return bool(known) and len(known) == len(values) and self._is_tensor(file, known[-1], hops)

    def _is_bound_so(self, file: ModuleFile, scope: ast.AST, node: ast.Name, hops: int) -> bool:
        before = bound_before(scope, node)
        if before is not None:
            return self._is_tensor(file, before, hops)
        values = [None if each.place is not None else each.value for each in values_in(scope).get(node.id, ())]
        return bool(values) and all(each is not None and self._is_tensor(file, each, hops) for each in values)


def _no_tensor(test: ast.expr, outcome: bool) -> str:
    """The name of what is no tensor if a test has this outcome."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _no_tensor(test.operand, not outcome)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        denied = isinstance(test.ops[0], (ast.NotEq, ast.IsNot))
        return _no_tensor(test.left, outcome is (bool(test.comparators[0].value) is not denied))
    if not isinstance(test, ast.Call) or not test.args or not isinstance(test.args[0], ast.Name):
        return ""
    asked = public_path(test.func)
    kind = public_path(test.args[1]) if asked == "isinstance" and len(test.args) == 2 else ""
    is_asked = (asked == "torch.is_tensor" or kind == "torch.Tensor") and not outcome
    return test.args[0].id if is_asked or (kind == "numpy.ndarray" and outcome) else ""


def _called_by_name(file: ModuleFile, owner: str) -> list[ast.Call]:
    """The calls of names of the top level that hold an object of a class."""
    made = {
        name
        for name, values in values_by_path(file.tree).items()
        if any(isinstance(each, ast.Call) and last_name(each.func) == owner for each in values)
    }
    return [each for each in nodes_in(file.tree, ast.Call) if dotted_path(each.func) in made]


def _is_of_torch(file: ModuleFile, call: ast.Call) -> bool:
    """Whether what is called is made of a class of torch: ``self.layers[0](x)``, ``self.loss(x, y)``."""
    path = dotted_path(whole_of(call.func))
    values = [] if path is None else values_by_path(file.tree).get(path, [])
    return bool(values) and all(
        isinstance(each, ast.Call) and public_path(each.func).startswith("torch.") for each in values
    )
