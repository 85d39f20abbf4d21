"""Whether the callers of a function say where its arguments are, or bring them from elsewhere. No torch."""

from __future__ import annotations

import ast

from torchdevlint.runtime.execute.reading import BUILTINS, imports_of
from torchdevlint.runtime.execute.target import FunctionNode, Place, Target, dotted, functions_of

_FACTORIES = frozenset(
    "arange empty eye from_numpy full linspace logspace ones rand randint randn randperm tensor zeros".split()
)


def bring_from_elsewhere(target: Target, place: Place, imported: bool) -> bool:
    """Whether every caller in the file hands a function what an unknown function, or one that makes tensors, gave it.

    Where the file is not `imported`, what is of a library that is not known is unknown as well.

    Such a function may have brought a tensor to the CPU (``predictions = self.detach_tensors(predictions)``) or made it
    there (``positions = build_positions(shape)``), so that a call with values of our own says nothing of the program.
    """
    name = place.function.name
    if name == "forward" or name.endswith("__"):
        return False
    owner = place.owner.name if place.owner is not None else ""
    paths = {name, f"self.{name}", f"cls.{name}", f"{owner}.{name}"}
    every = [
        _is_brought(target, function, call, imported)
        for _, function in functions_of(target.tree)
        if function is not place.function
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and dotted(call.func) in paths
    ]
    return bool(every) and all(every)


def _is_brought(target: Target, caller: FunctionNode, call: ast.Call, imported: bool) -> bool:
    given = {name.id for each in call.args for name in ast.walk(each) if isinstance(name, ast.Name)}
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and given & {name.id for each in node.targets for name in ast.walk(each) if isinstance(name, ast.Name)}
        and _is_from_elsewhere(target, node.value, imported)
        for node in ast.walk(caller)
    )


def _is_from_elsewhere(target: Target, call: ast.Call, imported: bool) -> bool:
    """Whether a function is neither torch's or Python's, nor of this file, nor an attribute that this file assigns."""
    path = dotted(call.func)
    if path is None:
        return False
    root, _, rest = path.partition(".")
    defined = {node.name for node in ast.walk(target.tree) if isinstance(node, (FunctionNode, ast.ClassDef))}
    if root in ("self", "cls"):
        name = rest.partition(".")[0]
        assigned = {
            node.attr
            for node in ast.walk(target.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
        return name not in defined | assigned
    _, known = imports_of(target.tree)
    if rest and not imported:
        return root in _imported(target.tree) - known
    return not rest and (root in makers(target.tree) or root not in known | BUILTINS | defined)


def _imported(tree: ast.Module) -> frozenset[str]:
    aliases = (each for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for each in node.names)
    return frozenset(each.asname or each.name.partition(".")[0] for each in aliases)


def makers(tree: ast.Module) -> frozenset[str]:
    """The functions of a file that make tensors where nobody says where, or call one that does."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FunctionNode)]
    found: set[str] = set()
    while True:
        more = {each.name for each in functions if each.name not in found and _makes(each, found)}
        if not more:
            return frozenset(found)
        found |= more


def _makes(function: FunctionNode, makers: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            path = dotted(node.func) or ""
            if path in makers:
                return True
            placed = any(keyword.arg == "device" for keyword in node.keywords)
            if path.startswith("torch.") and path.removeprefix("torch.") in _FACTORIES and not placed:
                return True
    return False
