"""Functions that know of devices: what they say shows that their arguments may be elsewhere than on the CPU.

Research code that has been run was run on a GPU, so a helper that makes its tensors on the default device gets tensors
of the CPU, or it would have been mended. One that speaks of devices itself, or is called by code that does, is open.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, is_dtype_name
from torchdevlint.patterns import regex
from torchdevlint.project.of_tests import is_of_tests
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_MOST_FILES = 40
_KNOWS = regex(r"device|cuda|gpu|^new_|_like$|^type_as$|accelerat")
_TEXT = regex(r"(?:cuda|mps|xpu|npu)(?::\d+)?")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def nobody_knows(tree: ast.Module, line: int, project: Project) -> bool:
    """Whether neither the definition around a line, nor any code of the project that calls it, speaks of devices."""
    around = next((each for each in tree.body if each.lineno <= line <= (each.end_lineno or line)), None)
    if not isinstance(around, _DEFINITIONS) or knows_devices(around):
        return False
    names = {around.name, *(each.name for each in _functions_at(around, line) if not each.name.startswith("__"))}
    callers = _callers(tree, names, project)
    return callers is not None and not any(map(knows_devices, callers))


def _functions_at(around: ast.AST, line: int) -> Iterator[_Function]:
    inner: list[_Function] = [*nodes_in(around, ast.FunctionDef), *nodes_in(around, ast.AsyncFunctionDef)]
    functions = [*([around] if isinstance(around, _FUNCTIONS) else []), *inner]
    return (each for each in functions if each.lineno <= line <= (each.end_lineno or line))


def _callers(tree: ast.Module, names: set[str], project: Project) -> list[ast.stmt] | None:
    """The functions, methods and scripts of a project that call one of these names; None where they are too many."""
    paths = {path: None for name in sorted(names) for path in project.saying((name,)) or ()}
    if any(project.saying((name,)) is None for name in names) or len(paths) > _MOST_FILES:
        return None
    found = list(_calling(tree, names))
    for path in paths:
        text = project.text_of(path)
        if text is None or is_of_tests(from_root(path), text.text):
            continue
        module = project.library.get(path)
        project.used(path, "", module)
        if module is None:
            return None
        found += _calling(module.tree, names)
    return found


def _calling(tree: ast.Module, names: set[str]) -> Iterator[ast.stmt]:
    calls = [each for each in nodes_in(tree, ast.Call) if _called(each) in names]
    for place in _places(tree):
        if getattr(place, "name", "") not in names and any(is_inside(each, place) for each in calls):
            yield place


@once_a_node
def _places(tree: ast.Module) -> tuple[ast.stmt, ...]:
    """The functions and methods of a file, and the statements that it runs itself."""
    methods = (inner for each in tree.body if isinstance(each, ast.ClassDef) for inner in each.body)
    return (*(each for each in tree.body if not isinstance(each, ast.ClassDef)), *methods)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


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
    path = dotted_path(node) or ""
    return is_dtype_name(path) or path.endswith("dtype")
