"""Options of the command line that are read, and that the parser of the program does not have: ``args.dropout``.

Whoever starts the program ends in an AttributeError, on every machine.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial

from torchdevlint.flow.checks.loads.saved_names import bound_from_within, values_in
from torchdevlint.flow.programs.reached.repeated_options import GROUPS, PARSER
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path, parameter_names, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, names_bound_in, nodes_in, once_a_node, own_nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_PLAIN = frozenset({"parse_args", "print_help", "print_usage", "format_help", "error", "exit"})
"""What a parser is asked without getting more options by it."""
_DYNAMIC = ("setattr(", "__dict__", "vars(")
"""What may give an object attributes by texts, if it is written to."""
_NAMES_OF = r"(?:\bvars\([\w.]*\)|[\w.]+\.__dict__)"
_WRITES_BY_TEXT = regex(
    rf"\bsetattr\(|{_NAMES_OF}\s*(?:\.(?:update|setdefault|pop|__setitem__)\b|\[[^\]\n]*\]\s*\|?=(?!=)|\|?=(?!=))"
    rf"|=\s*{_NAMES_OF}\s*(?:#.*)?$|\b\w*(?:update|merge|fill|load|add|set|override)\w*\((?:[^()\n]*,\s*)?{_NAMES_OF}",
    re.MULTILINE,
)
_MOST_HOPS = 2
_MOST_FILES = 60
_Callee = Callable[[Scope, ast.Call], Scope | None]
_Surely = Callable[[Scope, Callable[[Scope, ast.Call], bool], Callable[[Scope, ast.Name], bool]], bool]
"""Whether one of two things surely happens in a function: a call, or the read of a name."""


class MissingOptions:
    """What the programs of one project read of options that their parsers do not have.

    `callee` tells which function a call runs, and `surely` what surely happens there.
    """

    def __init__(self, callee: _Callee, surely: _Surely) -> None:
        self._callee = callee
        self._surely = surely

    def are_read_in(self, scope: Scope, name: ast.Name) -> bool:
        """Whether a name holds the options of the program, and one is read that there is not."""
        read = read_of(scope.tree, name)
        return read is not None and self._is_missing(scope, name, read.attr)

    def are_read_by(self, scope: Scope, call: ast.Call) -> bool:
        """Whether a function that is called with the options surely reads one that there is not."""
        given = arguments_of(call)
        names = [each for each in given if isinstance(each, ast.Name) and _options_in(scope, each.id) is not None]
        return any(self._reads(scope, call, each.id, partial(self._is_missing, scope, each)) for each in names)

    def _reads(
        self, scope: Scope, call: ast.Call, name: str, is_missing: Callable[[str], bool], hops: int = _MOST_HOPS
    ) -> bool:
        callee = self._callee(scope, call)
        function = None if callee is None else callee.function
        if callee is None or not isinstance(function, FunctionNode) or function.decorator_list:
            return False
        is_bound = callee.owner is not None
        given = (
            each
            for each in parameter_names(function)
            if dotted_path(argument_of(call, function, each, is_bound=is_bound) or call) == name
        )
        parameter = next(given, None)
        if parameter is None or parameter in values_in(function):
            return False
        written = _written_in(function)

        def reads(at: Scope, read: ast.Name) -> bool:
            option = read_of(at.tree, read) if at.function is function and read.id == parameter else None
            return option is not None and option.attr not in written and is_missing(option.attr)

        def hands(at: Scope, other: ast.Call) -> bool:
            is_own = at.function is function and hops > 0
            return is_own and self._reads(at, other, parameter, is_missing, hops - 1)

        return self._surely(callee, hands, reads)

    def _is_missing(self, scope: Scope, name: ast.Name, option: str) -> bool:
        options = _options_in(scope, name.id)
        if options is None or option in options or option.startswith("_"):
            return False
        return option not in _written_in(scope.tree) and not _may_be_given(scope, name, option)


def _may_be_given(scope: Scope, name: ast.Name, option: str) -> bool:
    """Whether what got the options before may have added one: code that writes it, or attributes by a text."""
    around = _binding(scope, name.id) or scope.tree
    asked = {id(each.value) for each in nodes_in(around, ast.Attribute) if each.attr != "__dict__"}
    asked |= {
        id(each) for call in nodes_in(around, ast.Call) if public_path(call.func) == "print" for each in call.args
    }
    handed = [each for each in nodes_in(around, ast.Name) if each.id == name.id and isinstance(each.ctx, ast.Load)]
    is_later = around is scope.function or scope.function is None
    if all(id(each) in asked or (is_later and each.lineno >= name.lineno) for each in handed):
        return False
    return is_written_by_project(scope, option)


def is_written_by_project(scope: Scope, option: str) -> bool:
    project: Project = scope.project
    texts = [scope.file.source.text]
    for word in (*_DYNAMIC, f".{option}"):
        paths = project.saying((word,))
        if paths is None or len(paths) > _MOST_FILES:
            return True
        texts += [text.text for each in paths if (text := project.text_of(each)) is not None]
    writes = re.compile(rf"(?<!\bself)\.{re.escape(option)}\s*(?::[^=\n]+)?=(?!=)")
    return any(map(_WRITES_BY_TEXT.search, texts)) or any(map(writes.search, texts))


@once_a_node
def _written_in(tree: ast.AST) -> frozenset[str]:
    """The attributes that are written to whatever but `self`, to which options are often copied."""
    written = (each for each in nodes_in(tree, ast.Attribute) if not isinstance(each.ctx, ast.Load))
    return frozenset(each.attr for each in written if dotted_path(each.value) != "self")


@once_a_node
def _reads_by_owner(tree: ast.Module) -> dict[int, ast.Attribute]:
    return {id(each.value): each for each in nodes_in(tree, ast.Attribute) if isinstance(each.value, ast.Name)}


def read_of(tree: ast.Module, name: ast.Name) -> ast.Attribute | None:
    """The attribute of a name that is read there."""
    read = _reads_by_owner(tree).get(id(name))
    return read if read is not None and isinstance(read.ctx, ast.Load) else None


def _options_in(scope: Scope, name: str) -> frozenset[str] | None:
    """The options that a name alone holds in a function, or on the top level; None for anything else."""
    around = _binding(scope, name)
    if scope.file.path.endswith(NOTEBOOK) or around is None or name in bound_from_within(scope.tree):
        return None
    bound = values_in(around).get(name, [])
    value = bound[0].value if len(bound) == 1 and bound[0].place is None else None
    return _options_of(scope.tree, around, value) if isinstance(value, ast.Call) else None


def _binding(scope: Scope, name: str) -> ast.AST | None:
    """The function around a place if it binds a name, or else the top level; None in the body of a class."""
    around = scope.function
    if isinstance(around, ast.ClassDef):
        return None
    return around if around is not None and name in names_bound_in(around) else scope.tree


def _options_of(tree: ast.Module, around: ast.AST, call: ast.Call) -> frozenset[str] | None:
    """The options that ``parser.parse_args()`` gives, or a function of the file that does so."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "parse_args":
        has_own = any(each.arg != "args" for each in call.keywords) or len(call.args) > 1
        parser = call.func.value.id if isinstance(call.func.value, ast.Name) else None
        return None if parser is None or has_own else _defined_options(around, parser)
    functions = [
        each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == dotted_path(call.func)
    ]
    returned = own_nodes_in(functions[0], ast.Return) if len(functions) == 1 else []
    value = returned[0].value if len(returned) == 1 and not functions[0].decorator_list else None
    if isinstance(value, ast.Name):
        reads = [each for each in nodes_in(functions[0], ast.Name) if each.id == value.id]
        owners = {id(each.value) for each in nodes_in(functions[0], ast.Attribute)}
        if any(isinstance(each.ctx, ast.Load) and id(each) not in owners and each is not value for each in reads):
            return None
        bound = values_in(functions[0]).get(value.id, [])
        value = bound[0].value if len(bound) == 1 and bound[0].place is None else None
    is_parsed = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    return _options_of(tree, functions[0], value) if is_parsed else None  # type: ignore[arg-type]


def _defined_options(around: ast.AST, parser: str) -> frozenset[str] | None:
    """All options of a parser that a function makes, and hands to nobody; None where one of them is not known."""
    bound = values_in(around).get(parser, [])
    made = bound[0].value if len(bound) == 1 else None
    if not isinstance(made, ast.Call) or public_path(made.func) != PARSER:
        return None
    if any(each.arg in ("parents", None) for each in made.keywords):
        return None
    groups = {parser}
    for name, held in values_in(around).items():
        value = held[0].value if len(held) == 1 else None
        if isinstance(value, ast.Call) and _is_asked(value, {parser}, GROUPS):
            groups.add(name)
    calls = {id(each.func.value): each for each in nodes_in(around, ast.Call) if isinstance(each.func, ast.Attribute)}
    found: set[str] = set()
    for read in nodes_in(around, ast.Name):
        if read.id not in groups or not isinstance(read.ctx, ast.Load):
            continue
        call = calls.get(id(read))
        more = None if call is None else _added_by(call, calls)
        if more is None:
            return None
        found.update(more)
    return frozenset(found)


def _is_asked(call: ast.Call, names: set[str], methods: frozenset[str]) -> bool:
    owner, _, method = (dotted_path(call.func) or "").rpartition(".")
    return owner in names and method in methods


def _added_by(call: ast.Call, calls: dict[int, ast.Call]) -> list[str] | None:
    """The options that a call of a parser, or of a group in it, adds; None where that is not known."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in GROUPS:
        inner = calls.get(id(call))
        return [] if inner is None else _added_by(inner, calls)
    if method in _PLAIN:
        return []
    if any(each.arg is None for each in call.keywords):
        return None
    if method == "set_defaults":
        return [each.arg for each in call.keywords if each.arg]
    named = None if method != "add_argument" else _named_by(call)
    return None if named is None else [named]


def _named_by(call: ast.Call) -> str | None:
    """The attribute for an option: its `dest`, its first long flag, or its first one."""
    told = [each.value for each in call.keywords if each.arg == "dest"] or call.args
    names = [each.value if isinstance(each, ast.Constant) else None for each in told]
    texts = [each for each in names if isinstance(each, str)]
    if not texts or len(texts) < len(names):
        return None
    named = next((each for each in texts if each.startswith("--")), texts[0])
    return named if told is not call.args else named.lstrip("-").replace("-", "_")
