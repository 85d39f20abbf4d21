"""Calls whose results are only read by the host: by NumPy, as numbers, in texts. They are wanted on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.programs.texts.places import parents_in
from torchdevlint.flow.scope.call_sites import CallSite
from torchdevlint.flow.scope.names import public_path
from torchdevlint.source.nodes import assignments_in, inside, is_below, nodes_in, parts_of_sequence

_TO_HOST = frozenset({"numpy", "cpu", "item", "tolist"})
_OF_HOST = frozenset({"print", "float", "int", "str", "len", "round"})
_SAYS_NOTHING = frozenset({"shape", "ndim", "dtype"})
_STAYS = frozenset("detach clone float double mean sum max min squeeze unsqueeze view reshape flatten t".split())
"""Methods whose results are where the tensor is, or numbers."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def are_read_by_host(sites: Iterable[CallSite]) -> bool:
    """Whether each call gives its result to the host, at once or by the name that it is bound to.

    What `print` shows is where it is; it counts beside others only.
    """
    reads = [list(_reads_of(each)) for each in sites]
    return bool(reads) and all(any(each) and None not in each for each in reads)


def _reads_of(site: CallSite) -> Iterator[bool | None]:
    """For each read of a result whether it brings that to the host; False for what need not, None for another use."""
    assigned = next((each for each in assignments_in(site.tree) if each.value is site.call), None)
    if assigned is None:
        yield _read(site.tree, site.call)
        return
    parts = parts_of_sequence(assigned.targets[0])
    if len(assigned.targets) != 1 or not all(isinstance(each, ast.Name) for each in parts):
        yield None
        return
    names = {each.id for each in inside(assigned.targets[0]) if isinstance(each, ast.Name)}
    functions = [each for kind in _FUNCTIONS for each in nodes_in(site.tree, kind) if is_below(site.call, each)]
    scope = max(functions, key=lambda each: each.lineno, default=site.tree)
    later = [each for each in nodes_in(scope, ast.Name) if each.lineno > (site.call.end_lineno or 0)]
    again = {each.id: each.lineno for each in reversed(later) if isinstance(each.ctx, ast.Store)}
    for each in nodes_in(scope, ast.Name):
        is_of_it = each.id in names and each.lineno <= again.get(each.id, each.lineno)
        if is_of_it and isinstance(each.ctx, ast.Load):
            yield _read(site.tree, each)


def _read(tree: ast.Module, node: ast.expr) -> bool | None:
    above = parents_in(tree)
    parent = above.get(node)
    while isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node:
        if isinstance(parent, ast.Subscript):
            node, parent = parent, above.get(parent)
            continue
        if parent.attr in _SAYS_NOTHING:
            return False
        call = above.get(parent)
        if not isinstance(call, ast.Call) or call.func is not parent:
            return None
        if parent.attr in _TO_HOST:
            return True
        if parent.attr not in _STAYS:
            return None
        node, parent = call, above.get(call)
    if isinstance(parent, ast.FormattedValue):
        return False
    if isinstance(parent, ast.Call) and node in parent.args:
        path = public_path(parent.func)
        if path.startswith("numpy."):
            return True
        return False if path in _OF_HOST else None
    return None
