"""What ends a program on every machine: names that nothing binds, arguments that a function does not take, methods for
sizes, attributes that no object or module has, options that the command line has not, or is given twice.

What comes there was never run as it stands, so nobody meets what it says of devices.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from typing import Any

from torchdevlint.flow.checks.loads.saved_names import bound_before
from torchdevlint.flow.programs.reached.missing_attributes import asks_what_is_missing
from torchdevlint.flow.programs.reached.missing_members import asks_module_for_nothing
from torchdevlint.flow.programs.reached.missing_options import MissingOptions
from torchdevlint.flow.programs.reached.repeated_options import RepeatedOptions
from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.imported_names import Defined, defined, definitions
from torchdevlint.flow.scope.names import dotted_path, first_name, public_path
from torchdevlint.flow.scope.signatures import fits
from torchdevlint.patterns import LinePattern, regex
from torchdevlint.project.missing import WRITTEN_DICTIONARY
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import below, inside, nodes_in, once_a_node
from torchdevlint.source.notebook import NOTEBOOK

_MOST_HOPS = 4
_BUILT_IN = frozenset(dir(builtins)) | frozenset(
    "__file__ __name__ __doc__ __path__ __spec__ __package__ __class__ __annotations__ WindowsError "
    "xrange unicode raw_input basestring long reduce unichr cmp file reload execfile buffer apply intern coerce "
    "exit quit copyright credits license display get_ipython".split()
)
"""What Python itself binds, be it Python 2, and IPython."""
_BINDS_OTHERWISE = regex(
    rf"\bglobals\(|\bexec\(|\bexecfile\(|\bbuiltins\b|\b__builtin__|{WRITTEN_DICTIONARY}", re.MULTILINE
)
_BUILDS_IN = LinePattern(
    r"\b(?:builtins|__builtin__)(?:\.(?!print\b)\w+\s*=(?!=)|\s*,|\.__dict__)", "builtins __builtin__"
)
_SIZED = frozenset(
    "range numpy.zeros numpy.ones numpy.empty numpy.eye numpy.arange torch.zeros torch.ones torch.empty torch.eye "
    "torch.rand torch.randn torch.arange torch.randperm".split()
)
_GIVING_OTHERS = frozenset("load compile device dtype finfo iinfo generator".split())
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMED: tuple[Any, ...] = (*_FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
"""What binds its `name`, if it has one."""


def ends_in_error(project: Project, after: bool = True) -> Ways:
    """The ways through a project that end in an error on every machine, be it right `after` a place."""
    callee = Ways(project, _raises).callee
    repeated = RepeatedOptions(callee)
    options = MissingOptions(
        callee,
        lambda scope, happens, reads: Ways(project, happens, reads=reads).are_so_in(scope, scope.body),
    )
    return Ways(
        project,
        lambda scope, call: (
            _raises(scope, call) or repeated.are_given_by(scope, call) or options.are_read_by(scope, call)
        ),
        after=after,
        reads=lambda scope, name: (
            _is_unbound(scope, name) or options.are_read_in(scope, name) or asks_module_for_nothing(scope, name)
        ),
    )


def _raises(scope: Scope, call: ast.Call) -> bool:
    return _does_not_take(scope, call) or _takes_method_for_size(scope, call) or asks_what_is_missing(scope, call)


def _takes_method_for_size(scope: Scope, call: ast.Call) -> bool:
    """Whether something is made as large as ``x.size``, which is a number of an array, and a method of a tensor."""
    taken = call.args[0] if call.args else None
    if public_path(call.func) not in _SIZED or not isinstance(taken, ast.Attribute) or taken.attr != "size":
        return False
    value = None if scope.function is None else bound_before(scope.function, taken.value)
    return value is not None and _is_made_by_torch(value)


def _is_made_by_torch(value: ast.expr) -> bool:
    """Whether a call gives a tensor, as functions of torch do that are written in small letters, but for a few."""
    module, _, name = public_path(value.func).rpartition(".") if isinstance(value, ast.Call) else ("", "", "")
    return module in ("torch", "torch.nn.functional") and name.islower() and name not in _GIVING_OTHERS


def _is_unbound(scope: Scope, name: ast.Name) -> bool:
    """Whether a name is read that nothing binds; cells of a notebook may have been run in another order."""
    tree, file = scope.file.tree, scope.file
    if not isinstance(name.ctx, ast.Load) or name.id in _BUILT_IN or name.id in _bound_at_top(tree):
        return False
    if name.id in _visible_at(tree, name) or _BINDS_OTHERWISE.search(file.source.text) is not None:
        return False
    brought = None if file.path.endswith(NOTEBOOK) else _brought(file, scope.project)
    return brought is not None and name.id not in brought and not _may_be_built_in(scope.project)


def _may_be_built_in(project: Project) -> bool:
    """Whether a file of the project may give all others a name: ``builtins.profile = profile``."""
    paths = [project.saying((each,)) for each in ("builtins", "__builtin__")]
    texts = [project.text_of(path) for each in paths for path in each or ()]
    return None in paths or any(each is not None and each.says(_BUILDS_IN) for each in texts)


def _visible_at(tree: ast.Module, place: ast.Name) -> frozenset[str]:
    """The names that may be read at a place: those of the functions around it, and of the file."""
    found = _bound_at_top(tree)
    around = (each for kind in _FUNCTIONS for each in nodes_in(tree, kind))
    for each in around:
        if each.lineno <= place.lineno <= (each.end_lineno or each.lineno):
            found |= _bound_in(each)
    return found


@once_a_node
def _bound_at_top(tree: ast.Module) -> frozenset[str]:
    """All names that a file binds outside of its functions, or that they bind for it."""
    found = {name for each in nodes_in(tree, ast.Global) for name in each.names}
    level: list[Any] = [tree]
    while level:
        found.update(_bound_by(level))
        level = below(each for each in level if not isinstance(each, _FUNCTIONS))
    return frozenset(found)


@once_a_node
def _bound_in(around: ast.AST) -> frozenset[str]:
    """All names that anything below a function or a file binds, in whatever scope."""
    return frozenset(_bound_by(each for each in inside(around) if each is not around))


def _bound_by(nodes: Iterable[ast.AST | None]) -> Iterator[str]:
    """The names that nodes bind by themselves, whatever is below them."""
    for each in nodes:
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id
        elif isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.alias):
            yield each.asname or each.name.partition(".")[0]
        elif isinstance(each, ast.Global):
            yield from each.names
        elif isinstance(each, ast.MatchMapping) and each.rest:
            yield each.rest
        elif isinstance(each, _NAMED) and each.name:
            yield each.name


def _brought(file: ModuleFile, project: Project, hops: int = _MOST_HOPS) -> frozenset[str] | None:
    """The names that a file imports from modules of the project as a whole; None if one of them is not understood."""
    stars = [each for each in nodes_in(file.tree, ast.ImportFrom) if each.names[0].name == "*"]
    found: frozenset[str] = frozenset()
    for each in stars:
        path = project.locate(file.path, each.module or "", each.level)
        module = project.library.get(path) if path is not None and path.endswith(".py") else None
        if module is None or hops == 0 or _BINDS_OTHERWISE.search(module.source.text) is not None:
            return None
        project.used(module.path, "", module)
        more = _brought(module, project, hops - 1)
        if more is None:
            return None
        found |= more | _bound_in(module.tree)
    return found


def _does_not_take(scope: Scope, call: ast.Call) -> bool:
    """Whether a function of the project is called by its name, or as one of its module, with other arguments than it
    has.
    """
    if scope.file.path.endswith(NOTEBOOK):
        return False
    path = dotted_path(call.func)
    if path is None or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    if any(each.arg is None for each in call.keywords) or _is_bound_in_function(scope, first_name(path)):
        return False
    function = _defined_as(scope, path)
    if isinstance(function, ast.ClassDef):
        return (made := _init_of(function)) is not None and not fits(made, call, bound=1)
    return isinstance(function, _FUNCTIONS) and not function.decorator_list and not fits(function, call)


def _is_bound_in_function(scope: Scope, name: str) -> bool:
    """Whether a function around a place binds the name itself."""
    around = scope.function
    return around is not None and not isinstance(around, ast.ClassDef) and name in _bound_in(around)


def _defined_as(scope: Scope, name: str) -> ast.stmt | None:
    """The one definition that a name of the top level has, here or where it is imported from, be it of a module."""
    file, path = scope.file, name
    statements = file.bindings.get(first_name(name), ())
    if any(isinstance(each, (ast.Import, ast.ImportFrom)) for each in statements):
        led = defined(scope.project, file.path, file.tree, name) if len(statements) == 1 else None
    elif "." in name:
        led = None
    else:
        led = (file, name) if statements else _brought_alone(scope, name)
    if led is None:
        return None
    file, path = led
    statements = file.bindings.get(path, ())
    is_alone = len(statements) == 1 and path not in file.rebound
    named = [each for each in file.tree.body if getattr(each, "name", None) == path]
    return named[0] if is_alone and named == list(statements) else None


def _brought_alone(scope: Scope, name: str) -> Defined | None:
    """Where the one module defines a name that is imported with all others of it; nothing else may bind it as well."""
    file, project = scope.file, scope.project
    if name in _bound_at_top(file.tree) or any(project.locate(file.path, *each) is None for each in file.stars):
        return None
    found = list(definitions(project, file.path, file.tree, name)) if file.stars else []
    return found[0] if len(found) == 1 else None


def _init_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    """The constructor of a class, where nothing else decides how its objects are made."""
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    init = methods.get("__init__")
    is_plain = not node.decorator_list and not node.keywords and "__new__" not in methods
    return init if is_plain and init is not None and not init.decorator_list else None
