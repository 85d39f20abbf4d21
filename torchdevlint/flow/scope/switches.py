"""Switches of programs: tests such as ``if args.cuda:``, one arm of which runs only where no accelerator is used.

A name decides here, which it may since all that follows is silence: what the arm of the CPU does says nothing of
devices. A name that only speaks of GPUs (``gpu_ids``) needs a second witness, a move to CUDA in the other arm.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.scope.names import dotted_path, mentions_cuda
from torchdevlint.model import Frozen
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ACCELERATORS = frozenset({"cuda", "gpu", "gpus"})
_SAYS_NO = frozenset("no not disable disabled without".split())
_SAYS_NOTHING = frozenset("use using used with on is has have enable enabled available run flag force only".split())
_DEVICE_OF_CUDA = regex(r"cuda(?::\d+)?")
_KIND_OF_CUDA = regex(r"(?:cuda|gpu)(?::\d*)?")
_ASKED = frozenset({"is_available", "device_count", "is_initialized"})


class Asked(Frozen, frozen=True):
    """The name that a test asks, and the outcome of the test where the name says yes (or is not None, or not 0)."""

    name: str
    outcome: bool


def outcome_without(tree: ast.Module, test: ast.expr) -> bool | None:
    """The outcome of a test with which a program goes on without an accelerator; None if the test is no switch.

    A part of it decides, as it does for a test of ``torch.cuda.is_available()`` and something else.
    """
    known = _outcomes_without(tree)
    if test not in known:
        known[test] = _outcome_without(tree, test)
    return known[test]


def stands_under_switch(tree: ast.Module, scope: ast.AST, node: ast.expr) -> bool:
    """Whether a test for CUDA encloses a place: ``if use_cuda:``, ``if device == "cuda":``."""
    tests: list[ast.If | ast.IfExp] = [*nodes_in(scope, ast.If), *nodes_in(scope, ast.IfExp)]
    around = [each.test for each in tests if each.lineno <= node.lineno <= (each.end_lineno or 0)]
    return any(
        outcome_without(tree, each) is not None
        if isinstance(each, ast.Compare)
        else mentions_cuda(dotted_path(each) or "")
        for each in around
    )


@once_a_node
def _outcomes_without(tree: ast.Module) -> dict[ast.expr, bool | None]:
    """The outcomes of the tests that were asked for, since loops and calls come by the same tests again."""
    return {}


def _outcome_without(tree: ast.Module, test: ast.expr) -> bool | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = outcome_without(tree, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = (outcome_without(tree, each) for each in test.values)
        return next((each for each in parts if each is not None), None)
    compared = _compared_with_kind(test) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    if compared is not None:
        return compared
    asked = _asked(test)
    off = _is_off(tree, asked.name) if asked is not None else None
    return None if asked is None or off is None else off is asked.outcome


def _compared_with_kind(test: ast.Compare) -> bool | None:
    """``args.device == "cpu"`` and ``"cuda" in name``: the outcome on the CPU."""
    sides = (test.left, test.comparators[0])
    texts = [each.value for each in sides if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if len(texts) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        return None
    if texts[0] != "cpu" and not _KIND_OF_CUDA.fullmatch(texts[0]):
        return None
    return (texts[0] == "cpu") is isinstance(test.ops[0], (ast.Eq, ast.In))


def _is_off(tree: ast.Module, name: str) -> bool | None:
    """Whether a switch with this name says yes where no accelerator is used, or no; None for what is no switch."""
    words = {each.lower() for each in _WORD.findall(name)}
    if not (mentions_cuda(name) or "cpu" in words):
        return None
    says_off, moving = bool(words & _SAYS_NO) is not ("cpu" in words), _moving_arms(tree)
    if (name, says_off) in moving:
        return None
    plain = words <= _ACCELERATORS | _SAYS_NO | _SAYS_NOTHING or words <= {"cpu"} | _SAYS_NO | _SAYS_NOTHING
    return says_off if plain or (name, True) in moving else None


@once_a_node
def _moving_arms(tree: ast.Module) -> frozenset[tuple[str, bool]]:
    """The names that tests ask, and whether they say yes or no where an arm is run that puts something on CUDA."""
    found = set()
    tests: list[ast.If | ast.IfExp] = [*nodes_in(tree, ast.If), *nodes_in(tree, ast.IfExp)]
    for node in tests:
        test, holds = node.test, True
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        asked = _asked(test)
        for arm, outcome in ((node.body, holds), (node.orelse, not holds)):
            if asked is not None and _puts_on_cuda(arm if isinstance(arm, list) else [arm]):
                found.add((asked.name, asked.outcome is outcome))
    return frozenset(found)


def _puts_on_cuda(arm: Iterable[ast.AST]) -> bool:
    for statement in arm:
        for node in inside(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _DEVICE_OF_CUDA.fullmatch(node.value):
                return True
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in _ASKED:
                path = dotted_path(node.func) or f".{node.func.attr}"
                if path.endswith(".cuda") or ".cuda." in path:
                    return True
    return False


def _asked(test: ast.expr) -> Asked | None:
    """``name``, ``name is None``, ``name > 0``, ``len(name) == 0`` and the like."""
    outcome = True
    if isinstance(test, ast.Compare):
        says = _says_yes(test) if len(test.ops) == 1 else None
        if says is None:
            return None
        test, outcome = test.left, says
    if isinstance(test, ast.Call) and dotted_path(test.func) in ("len", "bool", "int") and len(test.args) == 1:
        test = test.args[0]
    name = _name_of(test)
    return None if name is None else Asked(name, outcome)


def _says_yes(test: ast.Compare) -> bool | None:
    """Whether a comparison with True, or with what stands for no, holds where the left side says yes."""
    operator, right = test.ops[0], test.comparators[0]
    value = repr(right.value) if isinstance(right, ast.Constant) else ""
    if value not in ("True", "None", "False", "0"):
        return None
    if isinstance(operator, (ast.Is, ast.Eq)):
        return value == "True"
    if isinstance(operator, (ast.IsNot, ast.NotEq)):
        return value != "True"
    return isinstance(operator, ast.Gt) if isinstance(operator, (ast.Gt, ast.LtE)) and value == "0" else None


def _name_of(node: ast.expr) -> str | None:
    """``cuda`` for ``args.cuda``, ``args["cuda"]``, ``args.get("cuda")`` and ``getattr(args, "cuda")``.

    ``self.is_on_cuda()`` asks as the attribute would.
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and not node.args and not node.keywords and isinstance(node.func, ast.Attribute):
        return node.func.attr if isinstance(node.func.value, ast.Name) else None
    key: ast.expr | None = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        key = node.args[0]
    if isinstance(node, ast.Call) and dotted_path(node.func) == "getattr" and len(node.args) > 1:
        key = node.args[1]
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
