"""Names that surely hold the number of a GPU, as a file shows: `gpu` beside ``DistributedDataParallel(net, [gpu])``.

What is moved to such a number is on CUDA, and whoever comes there needs it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import defaults, dotted_path, last_name, mentions_device, public_path
from torchdevlint.source.nodes import nodes_in, once_a_node, parts_of_sequence

_OF_NUMBERS = frozenset({"device_ids", "output_device"})
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_TELLING_OPTIONS = frozenset("args opt opts options cfg config conf params hparams flags FLAGS".split())
"""What holds what somebody may choose, elsewhere as well."""


@once_a_node
def gpu_numbers(tree: ast.Module) -> frozenset[str]:
    """The names and attributes that are numbers of GPUs; none that may be none, or is asked whether it is one."""
    said = {path for path in _said_to_be_numbers(tree) if not mentions_device(path.rpartition(".")[2])}
    if not said:
        return frozenset()
    chosen = {path for path in said if _is_option(path) and path not in _counted_options(tree)}
    return frozenset(said.difference(chosen, _doubted(tree)))


def _said_to_be_numbers(tree: ast.Module) -> Iterator[str]:
    for call in nodes_in(tree, ast.Call):
        given = [each.value for each in call.keywords if each.arg in _OF_NUMBERS]
        if public_path(call.func) == "torch.cuda.set_device":
            given += call.args[:1]
        for each in given:
            parts = parts_of_sequence(each)
            yield from filter(None, map(dotted_path, parts))


def _is_option(path: str) -> bool:
    return not _TELLING_OPTIONS.isdisjoint(path.split(".")[:-1])


def _counted_options(tree: ast.Module) -> set[str]:
    """The paths that a file binds itself, and the options that are numbers by default, or have to be given."""
    found = {path for each in nodes_in(tree, ast.Assign) for path in map(dotted_path, each.targets) if path}
    options: set[str] = set()
    for call in nodes_in(tree, ast.Call):
        if last_name(call.func) == "add_argument" and call.args:
            said = {each.arg: each.value for each in call.keywords}
            if _is_number(said.get("default", said.get("required"))):
                options.update(str(getattr(each, "value", "")).lstrip("-").replace("-", "_") for each in call.args)
    held = {path for each in nodes_in(tree, ast.Attribute) if (path := dotted_path(each))}
    return found | {path for path in held if path.rpartition(".")[2] in options}


def _doubted(tree: ast.Module) -> Iterator[str]:
    """What a file compares with anything but a number that a GPU may have, orders, takes as a test, or so binds."""
    for each in nodes_in(tree, ast.Compare):
        sides = [each.left, *each.comparators]
        if any(isinstance(op, _ORDERED) for op in each.ops) or any(map(_is_no_number, sides)):
            yield from filter(None, map(dotted_path, sides))
    tests = [each.test for each in nodes_in(tree, ast.If)] + [each.test for each in nodes_in(tree, ast.IfExp)]
    tests += [each.operand for each in nodes_in(tree, ast.UnaryOp) if isinstance(each.op, ast.Not)]
    tests += [value for each in nodes_in(tree, ast.BoolOp) for value in each.values]
    yield from filter(None, map(dotted_path, tests))
    for assignment in nodes_in(tree, ast.Assign):
        if _is_no_number(assignment.value):
            yield from filter(None, map(dotted_path, assignment.targets))
    for function in nodes_in(tree, ast.FunctionDef):
        left = [name for name, value in defaults(function) if value is not None and _is_no_number(value)]
        yield from (path for name in left for path in (name, f"self.{name}"))


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_no_number(node: ast.expr) -> bool:
    """Whether an expression may be seen to be something else than a number that a GPU may have: None, a text, -1."""
    if isinstance(node, ast.IfExp):
        return _is_no_number(node.body) or _is_no_number(node.orelse)
    if isinstance(node, ast.Call):
        return last_name(node.func) == "device"
    return isinstance(node, (ast.UnaryOp, ast.BoolOp)) or (isinstance(node, ast.Constant) and not _is_number(node))
