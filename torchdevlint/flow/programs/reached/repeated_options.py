"""Options that a parser of the command line is given twice: ``add_argument("--seed")`` again.

Whoever starts the program ends in an ArgumentError, on every machine, unless the parser has a ``conflict_handler``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.checks.loads.saved_names import bound_from_within, values_in
from torchdevlint.flow.programs.reached.ways import top_level
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import public_path
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import is_below, keyword_of
from torchdevlint.source.notebook import NOTEBOOK

PARSER = "argparse.ArgumentParser"
GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
"""What gives a part of a parser, all of whose options are the parser's."""
_HELP = ("-h", "--help")
_CHANGES_FLAGS = (None, "conflict_handler", "prefix_chars")
_MOST_HOPS = 3
_Callee = Callable[[Scope, ast.Call], Scope | None]


class RepeatedOptions:
    """The calls of the programs of one project that give a parser an option which it has.

    `callee` tells which function a call runs. What only some runs come to (below a test, in a loop) is not counted.
    """

    def __init__(self, callee: _Callee) -> None:
        self._callee = callee

    def are_given_by(self, scope: Scope, call: ast.Call) -> bool:
        """Whether a call adds an option again, or makes a parser of others that share one."""
        if scope.file.path.endswith(NOTEBOOK):
            return False
        added = _flags_of(call)
        if added and isinstance(call.func, ast.Attribute):
            return not self._held(scope, call.func.value, call).isdisjoint(added)
        given = list(self._from_parents(scope, call)) if _is_plain_parser(call) else []
        return len(set(given)) < len(given)

    def _held(self, scope: Scope, parser: ast.expr, place: ast.AST, hops: int = _MOST_HOPS) -> frozenset[str]:
        """The flags that a parser surely has at a place of the scope that makes it."""
        around = scope.function or scope.tree
        if isinstance(around, ast.ClassDef):
            return frozenset()
        made, names = _made_as(scope.tree, around, parser)
        if made is None:
            return frozenset()
        held = set(self._from_parents(scope, made, hops))
        block = scope.body if scope.function is not None else top_level(scope.tree)
        for each in block:
            if each is place or is_below(place, each):
                return frozenset(held)
            call = each.value if isinstance(each, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                held.update(_flags_of(call) if getattr(call.func.value, "id", None) in names else ())
        return frozenset()

    def _from_parents(self, scope: Scope, made: ast.Call, hops: int = _MOST_HOPS) -> Iterator[str]:
        """The flags that a parser has when it is made: that for help, and those of its parents."""
        yield from _HELP if keyword_of(made, "add_help") is None else ()
        parents = keyword_of(made, "parents")
        for each in parents.elts if isinstance(parents, (ast.List, ast.Tuple)) and hops > 0 else ():
            if isinstance(each, ast.Name):
                yield from self._held(scope, each, made, hops - 1)
            callee = self._callee(scope, each) if isinstance(each, ast.Call) else None
            function = None if callee is None else callee.function
            last = function.body[-1] if isinstance(function, FunctionNode) and not function.decorator_list else None
            if callee is not None and isinstance(last, ast.Return) and isinstance(last.value, ast.Name):
                yield from self._held(callee, last.value, last, hops - 1)


def _made_as(tree: ast.Module, around: ast.AST, parser: ast.expr) -> tuple[ast.Call | None, set[str]]:
    """The call that makes a parser, which a function alone knows by name, and the names of it and of its groups."""
    names = values_in(around)

    def made_by(name: str) -> ast.Call | None:
        bound = names.get(name, [])
        value = bound[0].value if len(bound) == 1 and bound[0].place is None else None
        return value if isinstance(value, ast.Call) and name not in bound_from_within(tree) else None

    def whole(name: str) -> str:
        """The name of the parser that a name is a group of."""
        made = made_by(name)
        is_group = made is not None and isinstance(made.func, ast.Attribute) and made.func.attr in GROUPS
        owner = made.func.value if is_group else None  # type: ignore[union-attr]
        return owner.id if isinstance(owner, ast.Name) else name

    name = whole(parser.id) if isinstance(parser, ast.Name) else ""
    made = made_by(name)
    is_parser = made is not None and _is_plain_parser(made)
    return made if is_parser else None, {each for each in names if whole(each) == name}


def _is_plain_parser(call: ast.Call) -> bool:
    """Whether a call makes a parser that refuses an option which it has, and for which a dash makes an option."""
    return public_path(call.func) == PARSER and not any(each.arg in _CHANGES_FLAGS for each in call.keywords)


def _flags_of(call: ast.Call) -> frozenset[str]:
    """The flags of what a call of ``add_argument`` adds: a name without dashes is no option, and may stand twice."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return frozenset()
    texts = (each.value for each in call.args if isinstance(each, ast.Constant))
    return frozenset(each for each in texts if isinstance(each, str) and each.startswith("-"))
