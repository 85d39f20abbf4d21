"""Functions that know of devices: what they say shows that their arguments may be elsewhere than on the CPU.

Research code that has been run was run on a GPU, so a helper that makes its tensors on the default device, and does not
speak of devices itself, gets tensors of the CPU, or it would have been mended.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import is_dtype, last_name
from torchdevlint.patterns import regex
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node

_KNOWS = regex(r"device|cuda|gpu|^new_|^type_as$|accelerat")
_TEXT = regex(r"(?:cuda|mps|xpu|npu)(?::\d+)?")


def is_in_what_knows_devices(tree: ast.Module, line: int) -> bool:
    """Whether a line is in a function or method that speaks of devices; outside of all, whether the file does."""
    functions = functions_in(tree)
    around = [each for each in functions if each.lineno <= line <= (each.end_lineno or line)]
    return any(map(knows_devices, around)) if around else knows_devices(tree)


@once_a_node
def knows_devices(scope: ast.AST) -> bool:
    """Whether some code names a device, asks for one, moves something, or makes one tensor where another one is."""
    words = [each.attr for each in nodes_in(scope, ast.Attribute)] + [each.id for each in nodes_in(scope, ast.Name)]
    words += [each.arg for each in nodes_in(scope, ast.arg)]
    words += [each.arg for each in nodes_in(scope, ast.keyword) if each.arg]
    if any(map(_KNOWS.search, words)):
        return True
    texts = (each.value for each in nodes_in(scope, ast.Constant))
    return any(isinstance(each, str) and _TEXT.fullmatch(each) for each in texts) or any(
        map(_is_moved, nodes_in(scope, ast.Call))
    )


def _is_moved(call: ast.Call) -> bool:
    """``x.to(place)``, not ``x.to(torch.float32)``, nor ``x.to("cpu")``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
        return False
    given = [*call.args, *(each.value for each in call.keywords if each.arg != "dtype")]
    return not all(_is_type(each) or (isinstance(each, ast.Constant) and each.value in ("cpu", None)) for each in given)


def _is_type(node: ast.expr) -> bool:
    return is_dtype(node) or last_name(node).endswith("dtype")
