"""What is known of a number or a flag that a program is configured with: by its value, or by its default."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.call_sites import call_sites
from torchdevlint.flow.scope.command_line import is_assigned, options
from torchdevlint.flow.scope.names import defaults, dotted_path
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NUMBER, NUMBERS, Const, Guard, Unknown, Value
from torchdevlint.source.nodes import assignments_in, keyword_of

_COUNTS = ("cpu_count", "device_count")


def surely_some(frame: Frame, state: State, node: ast.expr, value: Value) -> bool:
    """A number above 0; what a call counts; or a parameter or option whose default is one."""
    known = [each.value for _, each in alternatives(value) if isinstance(each, Const)]
    if known:
        return all(_is_some(each) for each in known) and len(known) == len(alternatives(value))
    if isinstance(node, ast.Call):
        name = (dotted_path(node.func) or "").rpartition(".")[2]
        inner = [surely_some(frame, state, each, frame.evaluate(each, state)) for each in node.args]
        return name in _COUNTS or (name in ("min", "max", "int") and bool(inner) and all(inner))
    default = default_of(frame, node)
    return isinstance(default, ast.Constant) and _is_some(default.value)


def surely_true(frame: Frame, node: ast.expr, value: Value) -> bool:
    """True, or a test that holds where an accelerator is there; or a parameter or option that is True by default."""
    if isinstance(value, Guard):
        return value.holds
    default = None if isinstance(value, Const) else default_of(frame, node)
    return value == Const(True) or (isinstance(default, ast.Constant) and default.value is True)


def as_parsed(frame: Frame, node: ast.expr | None, value: Value) -> Value:
    """`value`, or where `node` is an option that a parser of this file makes a number or a list of, one of those.

    Not if the option is assigned somewhere, as in ``args.gpu = str(args.gpu)``: the assignment may have come first.
    """
    tree = frame.machine.tree
    if not isinstance(node, ast.Attribute) or not isinstance(value, Unknown) or tree is None:
        return value
    if dotted_path(node.value) not in _parsed_in(tree) or is_assigned(tree, node.attr):
        return value
    kinds = [_kind_of(frame, call) for call in options(tree, node.attr)]
    return kinds[0] if kinds and kinds[0] is not None and all(each == kinds[0] for each in kinds) else value


def _parsed_in(tree: ast.Module) -> set[str | None]:
    """What is given the name of the outcome of a parser: ``args = parser.parse_args()``."""
    found: set[str | None] = set()
    for each in assignments_in(tree):
        function = each.value.func if isinstance(each.value, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in ("parse_args", "parse_known_args"):
            for target in each.targets:
                found.add(dotted_path(target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target))
    return found - {None}


def _kind_of(frame: Frame, option: ast.Call) -> Value | None:
    """A number or a list, where an option is surely one of them (or None, which no use of them allows either)."""
    said = {each.arg: each.value for each in option.keywords}
    if None in said or "action" in said:
        return None
    kind, default = said.get("type"), said.get("default")
    is_number = isinstance(kind, ast.Name) and kind.id in ("int", "float") and kind.id not in frame.machine.globals
    several = said.get("nargs", ast.Constant("?"))
    if not isinstance(several, ast.Constant):
        return None
    if several.value in ("?", None):
        return NUMBER if is_number else None
    if several.value not in ("+", "*") and not isinstance(several.value, int):
        return None
    listed = default is None or isinstance(default, (ast.List, ast.Tuple))
    return NUMBERS if listed or (isinstance(default, ast.Constant) and default.value is None) else None


def _is_some(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def default_of(frame: Frame, node: ast.expr) -> ast.expr | None:
    """The default of a parameter of the function around, or of the option of a command line that an attribute is.

    None for a parameter for which all calls of an application give something else.
    """
    if isinstance(node, ast.Name) and frame.function is not None:
        default = dict(defaults(frame.function)).get(node.id)
        return None if default is None or _is_always_given(frame, node.id, default) else default
    if isinstance(node, ast.Attribute) and frame.machine.tree is not None:
        for call in options(frame.machine.tree, node.attr):
            return keyword_of(call, "default")
    return None


def _is_always_given(frame: Frame, name: str, default: ast.expr) -> bool:
    """Whether each call of the function around gives a parameter something else, as far as all of them are known."""
    function, others = frame.function, frame.machine.others
    if others is None or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    given = [each.argument(function, name) for each in call_sites(frame.machine.tree, function, others.project)]
    return bool(given) and all(each is not None and ast.dump(each) != ast.dump(default) for each in given)
