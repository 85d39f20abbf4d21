"""Whether whoever calls the code around a place needs CUDA beside, seen from the place up through its callers.

A literal device beside a tensor hurts where that tensor is elsewhere. It is not where each function that leads to the
place surely sends something to CUDA by name itself, or calls what does: it ends there on every other machine.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.reached.ways import Ways, top_level
from torchdevlint.flow.programs.texts.leading_names import CALLED_BY_TORCH, read_by
from torchdevlint.flow.scope.cuda_literals import Scope, is_cuda, is_settled, needs_cuda
from torchdevlint.flow.scope.names import dotted_path, places_in, public_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import assignments_in, is_below, nodes_in, own_nodes_in

_MOST_CALLERS = 60
"""Where more functions may lead to a place, nothing is known."""
_FACTORIES = torch_api.FACTORIES | torch_api.LIKE_FACTORIES
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PLAIN = ("torch.nn.Module", "object")
_APART = (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)


class _Code(Struct, frozen=True, eq=False):
    """A function, or what is run at the top level of a file, with the name that leads to it and the names it reads."""

    scope: Scope
    name: str
    body: list[ast.stmt]
    read: frozenset[str]


def is_needed_by_callers(place: ast.AST, files: Iterable[ModuleFile], project: Project) -> bool:
    """Whether CUDA is needed beside a place by all that leads there in some files.

    What the function around it does itself may be the same mistake, and so may be a literal beside a device that was
    chosen, or one for a tensor that is made there.
    """
    known = [code for file in files for code in _code_in(file, project)]
    own = next((each for each in known if each.scope.function and is_below(place, each.scope.function)), None)
    if own is None:
        return False
    ways = Ways(project, lambda scope, call: needs_cuda(scope, call) and _is_another(scope, call, own.scope))
    if ways.are_so_in(own.scope, own.body):
        return True
    return _do_callers(own, known, lambda each: ways.are_so_in(each.scope, each.body))


def is_asked_by_callers(
    place: ast.AST, files: Iterable[ModuleFile], project: Project, asking: Ways, is_called: Callable[[str], bool]
) -> bool:
    """Whether all that leads to a place in some files asks a GPU for something, or asserts that there is one.

    So does a method whose class does when its object is made. What nothing in the project calls leads nowhere.
    """
    known = [code for file in files for code in _code_in(file, project)]
    own = next((each for each in known if each.scope.function and is_below(place, each.scope.function)), None)
    if own is None:
        return False
    making = {id(each.scope.owner): each for each in known if getattr(each.scope.function, "name", "") == "__init__"}

    def asks(code: _Code) -> bool:
        made = making.get(id(code.scope.owner)) if code.scope.owner is not None else None
        return any(each is not None and asking.are_so_in(each.scope, each.body) for each in (code, made))

    owners = {owner.name: owner for file in files for owner in nodes_in(file.tree, ast.ClassDef)}
    dead = [each for each in known if each.name and _is_by_name(each.scope.owner, owners) and not is_called(each.name)]
    return _do_callers(own, [each for each in known if each is own or each not in dead], asks)


def _is_by_name(owner: ast.ClassDef | None, owners: dict[str, ast.ClassDef], hops: int = 4) -> bool:
    """Whether a function is called by its name alone, as no library calls a method of a class of its own."""
    if owner is None or hops == 0:
        return owner is None
    bases = [(public_path(each), owners.get(dotted_path(each) or "")) for each in owner.bases]
    return all(
        path in _PLAIN or (each is not None and _is_by_name(each, owners, hops - 1)) for path, each in bases
    )


def _do_callers(own: _Code, known: list[_Code], need: Callable[[_Code], bool]) -> bool:
    """Whether each way up from some code comes through what needs CUDA; none does from what nothing is seen to call."""
    seen, level, is_met = {id(own)}, [own], False
    while level:
        code = level.pop()
        callers = [each for each in _calling(code.name, known) if each is not code]
        if not callers or len(seen) > _MOST_CALLERS:
            return False
        for each in callers:
            if id(each) not in seen:
                seen.add(id(each))
                is_needing = need(each)
                is_met = is_met or is_needing
                level += [] if is_needing else [each]
    return is_met


def _calling(name: str, known: list[_Code]) -> Iterator[_Code]:
    return (caller for each in known if name and name in each.read for caller in _using(each, name, known))


def _using(code: _Code, name: str, known: list[_Code]) -> list[_Code]:
    """Who calls what some code reads: the code itself, or where a constructor keeps it, what reads the attribute."""
    owner = code.scope.owner
    if owner is None or getattr(code.scope.function, "name", "") != "__init__":
        return [code]
    names = {kept for kept, value in _kept_in(code.scope.function) if name in read_by(value)}
    using = [each for each in known if each.scope.owner is owner and each is not code and names & each.read]
    return using or [code]


def _kept_in(init: ast.AST | None) -> Iterator[tuple[str, ast.expr]]:
    """What a constructor keeps, with the attributes: ``self.loss = loss``, ``self.parts["loss"] = loss``."""
    for assignment in assignments_in(init) if init is not None else ():
        for target in assignment.targets:
            path = dotted_path(target.value if isinstance(target, ast.Subscript) else target) or ""
            if path.startswith("self."):
                yield path.removeprefix("self."), assignment.value


def _is_another(scope: Scope, call: ast.Call, own: Scope) -> bool:
    """Whether what a call needs is no mistake such as that of the place: it sends what came, where nobody chooses."""
    if scope.function is own.function or _is_made(call):
        return False
    calls = own_nodes_in(scope.function or scope.tree, ast.Call)
    return all(is_settled(place) or is_cuda(scope, place) for each in calls for place in places_in(each))


def _is_made(call: ast.Call) -> bool:
    """Whether a call makes a tensor, or sends one to its place that is made there."""
    while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        call = call.func.value
    path = public_path(call.func)
    return path.startswith("torch.") and (path.endswith("Tensor") or path.removeprefix("torch.") in _FACTORIES)


def _code_in(file: ModuleFile, project: Project) -> Iterator[_Code]:
    for owner in nodes_in(file.tree, ast.ClassDef):
        for each in owner.body:
            if isinstance(each, _FUNCTIONS):
                by_class = each.name.startswith("__") or each.name in CALLED_BY_TORCH
                name = owner.name if by_class else each.name
                yield _Code(Scope(file, project, each, owner), name, each.body, read_by(each))
    for each in file.tree.body:
        if isinstance(each, _FUNCTIONS):
            yield _Code(Scope(file, project, each), each.name, each.body, read_by(each))
    run = [each for each in top_level(file.tree) if not isinstance(each, _APART)]
    if run:
        yield _Code(Scope(file, project), "", run, frozenset().union(*map(read_by, run)))
