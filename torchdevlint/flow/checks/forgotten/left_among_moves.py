"""Names that a function leaves where they are, beside others that it moves in the same way (TDL310).

``if cuda: x = x.cuda() else: x = x.cpu(); y = y.cpu()``: what one arm brings to the CPU, the other one has to move. And
``p, t = p.to(device), t``: who binds a name to itself beside a move has forgotten that of the second.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchdevlint.flow.checks.forgotten.left_behind import moves_any, record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_cuda, mentions_device
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import Assignment, arguments_of, assignment_of, inside, nodes_in, own_blocks_in


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not moves_any(machine):
        return
    for function in functions_that_place(machine.tree):
        for block in own_blocks_in(function):
            for at, left, move in (*_bound_in_parallel(block), *_in_one_arm(block)):
                if _is_for_the_host(function, left):
                    continue
                record(machine, function, "beside", left, move, at=at, name=machine.text_of(left))


def _is_for_the_host(function: FunctionNode, left: ast.expr) -> bool:
    """Whether who gets it gets others from the CPU: ``plot(x.cpu())`` beside ``plot(y)``."""
    path = dotted_path(left)
    calls = [each for each in nodes_in(function, ast.Call) if dotted_path(each.func) is not None]
    taking = {dotted_path(each.func) for each in calls if any(dotted_path(one) == path for one in each.args)}
    others = (one for each in calls if dotted_path(each.func) in taking for one in each.args)
    return any(isinstance(one, ast.Call) and last_name(one.func) in ("cpu", "numpy") for one in others)


def _bound_in_parallel(block: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """`t` in ``p, t = p.to(device), t``."""
    for each in block:
        assigned = assignment_of(each)
        pairs = list(_in_parallel(assigned)) if assigned is not None else []
        moves = [value for target, value in pairs if _moved(target, value)]
        left = [value for target, value in pairs if _same(target, value) and not _is_output(value)]
        if moves and left:
            yield each, left[0], moves[0]


def _is_output(node: ast.expr) -> bool:
    """Whether it is called like what a model gave, which is there already."""
    return _OUTPUT.search((dotted_path(node) or "").lower()) is not None


_OUTPUT = regex(r"pred|out|logit|score|prob|recon|_hat\b")


def _in_parallel(assigned: Assignment) -> Iterator[tuple[ast.expr, ast.expr]]:
    target, value = assigned.targets[0], assigned.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)


def _in_one_arm(block: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """What one arm of a test brings to the CPU, as it does with others, and the other arm moves nowhere."""
    for asked in block:
        if not isinstance(asked, ast.If) or not asked.orelse or not _is_of_places(asked.test):
            continue
        for arm, other in ((asked.body, asked.orelse), (asked.orelse, asked.body)):
            moved, brought = _moves_of(arm), _brought_of(other)
            both = [each for each in brought if each in moved]
            left = [each for each in brought if each not in moved and not _is_used(arm, each)]
            if both and len(left) == 1:
                yield arm[0], brought[left[0]], moved[both[0]]


def _is_of_places(test: ast.expr) -> bool:
    """``cuda``, ``self.use_gpu``, ``device != "cpu"``."""
    words = [each.id for each in inside(test) if isinstance(each, ast.Name)]
    words += [each.attr for each in inside(test) if isinstance(each, ast.Attribute)]
    return any(mentions_cuda(each) or mentions_device(each) for each in words)


def _moves_of(arm: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """``x = x.cuda()`` of an arm, by the name that is moved."""
    return {dotted_path(to) or "": value for to, value in _assigned(arm) if _moved(to, value)}


def _brought_of(arm: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """`x` of ``x = x.cpu()``, by its path."""
    return {
        dotted_path(to) or "": value.func.value  # type: ignore[attr-defined]
        for to, value in _assigned(arm)
        if _is_method(to, value, "cpu") or (_is_method(to, value, "to") and _names_cpu(value))
    }


def _assigned(arm: Sequence[ast.stmt]) -> Iterator[tuple[ast.expr, ast.expr]]:
    for each in arm:
        assigned = assignment_of(each)
        if assigned is not None and len(assigned.targets) == 1:
            yield assigned.targets[0], assigned.value


def _moved(target: ast.expr, value: ast.expr) -> bool:
    """``x = x.cuda()``, ``x = x.to(device)``."""
    return _is_method(target, value, "cuda") or (
        _is_method(target, value, "to") and _names_device(value) and not _names_cpu(value)
    )


def _is_method(target: ast.expr, value: ast.expr, name: str) -> bool:
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr == name and _same(target, func.value)


def _names_device(call: ast.expr) -> bool:
    paths = (dotted_path(each) or "" for each in _given(call))
    texts = (str(each.value) for each in _given(call) if isinstance(each, ast.Constant))
    return any(mentions_device(path.rpartition(".")[2]) for path in paths) or any(map(mentions_cuda, texts))


def _names_cpu(call: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Constant) and each.value == "cpu" for given in _given(call) for each in inside(given)
    )


def _given(call: ast.expr) -> list[ast.expr]:
    return arguments_of(call) if isinstance(call, ast.Call) else []


def _is_used(arm: Sequence[ast.stmt], path: str) -> bool:
    """Whether an arm does anything with a name but to bind it to itself."""
    for each in arm:
        assigned = assignment_of(each)
        if assigned is not None and _same(assigned.targets[0], assigned.value):
            continue
        if any(dotted_path(node) == path for node in inside(each) if isinstance(node, (ast.Name, ast.Attribute))):
            return True
    return False


def _same(one: ast.expr, other: ast.expr) -> bool:
    """Whether both are one name, attribute or item: ``x.data``, ``parts[i]``."""
    if not isinstance(one, _PLACES) or type(one) is not type(other):
        return False
    return ast.unparse(one) == ast.unparse(other)


_PLACES = (ast.Name, ast.Attribute, ast.Subscript)


SAYING = (".to(", ".cuda(")
EVENTS = {FileEnded: _note_end}
