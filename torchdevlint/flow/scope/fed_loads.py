"""What only feeds `load_state_dict`, which copies into parameters wherever they are: it may be loaded to the CPU.

It is the argument itself, or a name of a function that does nothing else with it, or with what it takes out of it.
"""

from __future__ import annotations

import ast
from collections import Counter

from torchdevlint.flow.scope.names import dotted_path, whole_of
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import assignments_in, nodes_in, once_a_node

_TAKES_PARTS = frozenset({"get", "pop"})


@once_a_node
def only_fed(tree: ast.Module) -> frozenset[ast.AST]:
    """The expressions whose value only feeds `load_state_dict`; none in a file that has one of its own."""
    if any(each.name == "load_state_dict" for each in nodes_in(tree, ast.FunctionDef)):
        return frozenset()
    fed: set[ast.AST] = {call.args[0] for call in nodes_in(tree, ast.Call) if call.args and _copies(call)}
    functions = functions_in(tree) if fed else []
    found = {value for function in functions for value in _assigned_and_fed(function, fed)}
    return frozenset(fed | found)


def feeds_one_module(tree: ast.Module, load: ast.Call) -> bool:
    """Whether what is loaded, or one part of it, goes into one `load_state_dict` and nowhere else."""
    fed = _fed(tree)
    if any(whole is load for whole in fed.values()):
        return True
    function, name = _bound(tree).get(load, (None, ""))
    if function is None:
        return False
    uses = _uses(function).get(name, [])
    return 0 < len(uses) <= _times_bound(function)[name] and all(each in fed for each in uses)


@once_a_node
def _times_bound(function: ast.AST) -> Counter[str | None]:
    """How often a function assigns to each name."""
    return Counter(dotted_path(each.targets[0]) for each in assignments_in(function))


@once_a_node
def _fed(tree: ast.Module) -> dict[ast.AST, ast.expr]:
    """What a file gives to `load_state_dict`, and what each is a part of."""
    copies = (call for call in nodes_in(tree, ast.Call) if call.args and _copies(call))
    return {call.args[0]: whole_of(call.args[0]) for call in copies}


@once_a_node
def _bound(tree: ast.Module) -> dict[ast.expr, tuple[ast.AST, str]]:
    """The calls whose outcome, or a part of it, is given a name in a function: the outermost, and the name."""
    found: dict[ast.expr, tuple[ast.AST, str]] = {}
    for function in functions_in(tree):
        for each in assignments_in(function):
            whole = whole_of(each.value)
            if isinstance(whole, ast.Call) and isinstance(each.targets[0], ast.Name):
                found.setdefault(whole, (function, each.targets[0].id))
    return found


def _copies(call: ast.Call) -> bool:
    """Whether it is ``load_state_dict`` and leaves the parameters where they are: its third argument is `assign`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "load_state_dict":
        return False
    return len(call.args) < 3 and not any(each.arg in (None, "assign") for each in call.keywords)


def _assigned_and_fed(function: ast.AST, fed: set[ast.AST]) -> list[ast.expr]:
    """The values of names of a function each of whose uses feeds `load_state_dict`, at least by way of another name."""
    given = [(each.targets[0], each.value) for each in assignments_in(function) if len(each.targets) == 1]
    assigned = [(target.id, value) for target, value in given if isinstance(target, ast.Name)]
    uses = _uses(function)
    names = {name for name, _ in assigned if uses.get(name)} - _of_others(function)
    while True:
        places = fed | {value for name, value in assigned if name in names}
        left = {name for name in names if all(each in places for each in uses[name])}
        if left == names:
            return [value for name, value in assigned if name in names]
        names = left


def _of_others(function: ast.AST) -> set[str]:
    outer = [each.names for each in nodes_in(function, ast.Global)]
    outer += [each.names for each in nodes_in(function, ast.Nonlocal)]
    return {name for names in outer for name in names}


@once_a_node
def _uses(function: ast.AST) -> dict[str, list[ast.AST]]:
    """Where each name is read in a function: the name itself, or the part of it that is taken out there.

    Questions such as ``"epoch" in checkpoint`` are none.
    """
    inner: dict[ast.AST, ast.AST] = {}
    asked: set[ast.AST] = set()
    for part in nodes_in(function, ast.Subscript):
        if isinstance(part.ctx, ast.Load):
            inner[part.value] = part
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _TAKES_PARTS and len(call.args) == 1:
            inner[call.func.value] = call
    for test in nodes_in(function, ast.Compare):
        if isinstance(test.left, ast.Constant) and all(isinstance(each, (ast.In, ast.NotIn)) for each in test.ops):
            asked.update(test.comparators)
    found: dict[str, list[ast.AST]] = {}
    for name in nodes_in(function, ast.Name):
        if not isinstance(name.ctx, ast.Load) or name in asked:
            continue
        used: ast.AST = name
        while used in inner:
            used = inner[used]
        found.setdefault(name.id, []).append(used)
    return found
