"""The part of a call that names CUDA, by its text: ``x.cuda()``, ``device="cuda:0"``, ``torch.cuda.FloatTensor``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import defaults, mentions_device, public_path
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import nodes_in, once_a_node

_CHOOSING = ("torch.cuda.device", "torch.cuda.device_of")


def names_cuda(node: ast.AST) -> str | None:
    """The part of a call that names CUDA: ``.cuda()``, ``"cuda"``, ``torch.cuda.FloatTensor``; None if none does."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "device")]
        return ".cuda()" if not given else ".cuda(0)" if _is_first(given[0]) else None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "type" and node.args:
        path = _path_or_text(node.args[0])
        return path if path.startswith("torch.cuda.") and path.endswith("Tensor") else None
    for each in naming_arguments(node):
        value = each.args[0] if isinstance(each, ast.Call) else each
        if _is_first(value):
            return ".to(0)" if each in node.args else "device=0"
        return f'"{value.value}"'  # type: ignore[attr-defined]
    path = public_path(node.func)
    if any(keyword.arg == "device" for keyword in node.keywords):
        return None
    return path if ".cuda." in path and path.endswith("Tensor") else None


def asks_for_cuda(test: ast.expr) -> bool:
    """Whether a test is ``torch.cuda.is_available()``."""
    return isinstance(test, ast.Call) and public_path(test.func) == "torch.cuda.is_available"


def chooses_gpu(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a block makes a GPU the current one: ``with torch.cuda.device(x.device):``."""
    entered = (item.context_expr for item in node.items)
    return any(isinstance(each, ast.Call) and public_path(each.func) in _CHOOSING for each in entered)


def cuda_in_words(node: ast.AST) -> str:
    """The part of a call that names CUDA, or else what it says of the device: ``.cuda(0)``, ``current_device()``."""
    named = names_cuda(node)
    if named is not None or not isinstance(node, ast.Call):
        return named or ast.unparse(node)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        return f".cuda({', '.join(map(ast.unparse, (*node.args, *node.keywords)))})"
    return next((ast.unparse(each.value) for each in node.keywords if each.arg == "device"), ast.unparse(node))


def naming_arguments(node: ast.Call) -> Iterator[ast.expr]:
    """The arguments that are ``"cuda"``, ``"cuda:0"``, or a device that is made of one of these; also a 0 for a device.

    The first argument of anything else than ``to`` may be a size.
    """
    moves = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
    if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
        return
    for each in device_arguments(node):
        is_made = isinstance(each, ast.Call) and bool(each.args) and public_path(each.func) == "torch.device"
        value = each.args[0] if is_made else each  # type: ignore[attr-defined]
        named = isinstance(value, ast.Constant) and value.value in ("cuda", "cuda:0")
        if named or (_is_first(value) and (moves or each not in node.args)):
            yield each


def _is_first(node: ast.expr) -> bool:
    """Whether it is the number of the first GPU."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == 0


def is_numbered(text: str) -> bool:
    """Whether what names CUDA is the number of the first GPU alone."""
    return text.endswith(("(0)", "=0"))


@once_a_node
def names_another_gpu(tree: ast.AST) -> bool:
    """Whether a file puts something on a GPU by another number than 0, so that it means each of them."""
    moves = (each for each in nodes_in(tree, ast.Call) if isinstance(each.func, ast.Attribute))
    by_place = (each.args[0] for each in moves if each.args and each.func.attr in ("cuda", "to"))  # type: ignore[attr-defined]
    by_name = (each.value for each in nodes_in(tree, ast.keyword) if each.arg == "device")
    return any(_is_another(each) for each in (*by_place, *by_name))


def _is_another(node: ast.expr) -> bool:
    held = node.value if isinstance(node, ast.Constant) else None
    return (type(held) is int and held > 0) or (isinstance(held, str) and held[:5] == "cuda:" and held != "cuda:0")


def device_arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "device")]


def _path_or_text(node: ast.expr) -> str:
    text = node.value if isinstance(node, ast.Constant) else public_path(node)
    return text if isinstance(text, str) else ""


@once_a_node
def cuda_defaults(function: AnyFunction) -> tuple[tuple[str, ast.expr], ...]:
    """The parameters for devices that are ``"cuda"`` unless something is given, with that literal."""
    return tuple(
        (name, default)
        for name, default in defaults(function)
        if isinstance(default, ast.Constant) and default.value in ("cuda", "cuda:0") and mentions_device(name)
    )
