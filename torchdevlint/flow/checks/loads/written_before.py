"""Whether a program writes a file itself before it reads it: a `torch.save` under the name that a load reads."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.file_names import Place, file_names, scopes_of
from torchdevlint.flow.checks.loads.saved_names import bound_before, values_in
from torchdevlint.flow.checks.loads.telling_names import may_be_equal, path_key
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import call_sites, own_call_sites, sites_in
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, parameter_names, public_path
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import is_below, nodes_in

_MOST_CALLS = 8
_MOST_HOPS = 2
"""How many functions that hand a path on are asked for it."""
_ASKING = frozenset({"exists", "isfile", "is_file"})
_OPTIONS = frozenset("args opt opts options cfg config conf params hparams flags FLAGS".split())
_WRITES = frozenset(
    "torch.save torch.jit.save shutil.copy shutil.copy2 shutil.copyfile shutil.move os.rename os.replace".split()
)


def writes_what_is_read(home: str, tree: ast.Module, load: ast.Call, scope: Scope, call: ast.Call) -> bool:
    """Whether a call saves the file that `load` in the file at `home` reads: all names that it may have are alike.

    A file may be saved under one name, and copied to another: ``shutil.copyfile(filename, "model_best.pth.tar")``.
    """
    written = saved_path(call)
    read = None if written is None else path_of_load(load)
    if written is None or read is None:
        return False
    saved = _names(scope.file.path, scope.file.tree, scope.project, call, written, tree)
    loaded = _names(home, tree, scope.project, load, read, tree)
    if not loaded or not saved:
        made = _made_by(tree, load, read)
        if scope.file.tree is not tree:
            return _is_option(read) and path_key(written) == path_key(read)
        if made:
            return made == _made_by(tree, call, written)
        return _is_kept(read) and path_key(read) in _keys_given(tree, call, written)
    return all(any(may_be_equal(one, other) for other in saved) for one in loaded)


def saved_path(call: ast.Call) -> ast.expr | None:
    """The path that a call writes a file of tensors to, be it a copy of one; None for any other call."""
    return _path(call, 1) if public_path(call.func) in _WRITES else None


def path_of_load(load: ast.Call) -> ast.expr | None:
    """The path that `torch.load` reads."""
    return _path(load, 0)


def is_written_in(home: str, tree: ast.Module, load: ast.Call, scope: Scope) -> bool:
    """Whether the file of a load saves what is read there, in whatever function."""
    return any(writes_what_is_read(home, tree, load, scope, call) for call in nodes_in(tree, ast.Call))


def is_written_around(home: str, tree: ast.Module, load: ast.Call, scope: Scope) -> bool:
    """Whether a loop around a load saves the file too: what the best round left is read back by a later one."""
    loops = [*nodes_in(tree, ast.For), *nodes_in(tree, ast.While)]
    around = (each for each in loops if is_below(load, each))
    return any(
        writes_what_is_read(home, tree, load, scope, call) for each in around for call in nodes_in(each, ast.Call)
    )


def _path(call: ast.Call, place: int) -> ast.expr | None:
    named = (each.value for each in call.keywords if each.arg == "f")
    return call.args[place] if len(call.args) > place else next(named, None)


def _names(home: str, tree: ast.Module, project: Project, call: ast.Call, path: ast.expr, own: ast.Module) -> list[str]:
    """The names that a path may end in; nothing where one of them is not known. `own` is the file of the project."""
    scopes = scopes_of(tree, call)
    path = bound_before(scopes[0], path) or _bound_but_for_fallbacks(scopes[0], path) or path
    names = file_names(Place(scopes, home, project), path, ends=True, whole=True)
    if names == (None,) and isinstance(path, ast.Name):
        names = _given(tree, project, call, path.id, own)
    return [] if None in names else [each for each in names if each is not None]


def _bound_but_for_fallbacks(scope: ast.AST, path: ast.expr) -> ast.expr | None:
    """The value of a name that is bound anew only if there is no such file: who has written it reads that one.

    ``if not os.path.exists(path): path = old_name``
    """
    name = dotted_path(path)
    values = values_by_path(scope).get(name, []) if name is not None else []
    if len(values) < 2:
        return None
    asking = [each for each in nodes_in(scope, ast.If) if name in _missing(each.test)]
    kept = [each for each in values if not any(is_below(each, below) for test in asking for below in test.body)]
    return kept[0] if len(kept) == 1 else None


def _missing(test: ast.expr) -> list[str | None]:
    """The paths at which there is no file, as a test says: ``not os.path.isfile(path)``, ``not path.exists()``."""
    asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
    if not isinstance(asked, ast.Call) or last_name(asked.func) not in _ASKING:
        return []
    of = asked.args[:1] or ([asked.func.value] if isinstance(asked.func, ast.Attribute) else [])
    return [dotted_path(each) for each in of]


def _given(
    tree: ast.Module, project: Project, call: ast.Call, name: str, own: ast.Module, hops: int = _MOST_HOPS
) -> tuple[str | None, ...]:
    """The names that all calls of the function around give its parameter, or leave it at, or were given themselves."""
    function = scopes_of(tree, call)[0]
    if (
        not isinstance(function, ast.FunctionDef)
        or name not in parameter_names(function)
        or name in values_in(function)
    ):
        return (None,)
    here = [] if own is tree else sites_in(own, function.name)
    sites = None if here is None else [*here, *call_sites(tree, function, project)]
    if not sites or len(sites) > _MOST_CALLS:
        return (None,)
    given = [(site, site.argument(function, name)) for site in sites]
    found: list[str | None] = []
    for site, path in given:
        at = Place(scopes_of(site.tree, site.call))
        names = (None,) if path is None else file_names(at, path, ends=True, whole=True)
        if names == (None,) and hops and isinstance(path, ast.Name):
            names = _given(site.tree, project, site.call, path.id, own, hops - 1)
        found += names
    return tuple(dict.fromkeys(found))


def _made_by(tree: ast.Module, call: ast.Call, path: ast.expr) -> str:
    """The name of the lambda that puts a path together: ``path_of = lambda epoch: f"{epoch}.pth"``."""
    made = bound_before(scopes_of(tree, call)[0], path) or path
    name = dotted_path(made.func) if isinstance(made, ast.Call) else None
    values = [] if name is None else values_by_path(tree).get(name, [])
    return name or "" if values and all(isinstance(each, ast.Lambda) for each in values) else ""


def _is_option(path: ast.expr) -> bool:
    """Whether a path is an option, which is the same in all files that are given it: ``args.checkpoint``."""
    return _is_kept(path) and first_name(dotted_path(path) or "") in _OPTIONS


def _keys_given(tree: ast.Module, call: ast.Call, path: ast.expr) -> set[str]:
    """How a path is written, or what all calls of the function around give for it: ``keep(net, args.path)``."""
    function = scopes_of(tree, call)[0]
    if not isinstance(path, ast.Name) or not isinstance(function, ast.FunctionDef):
        return {path_key(path)}
    if path.id not in parameter_names(function) or path.id in values_in(function):
        return {path_key(path)}
    given = [site.argument(function, path.id) for site in own_call_sites(tree, function)]
    keys = {path_key(each) for each in given if each is not None}
    return keys if len(keys) == 1 and None not in given else set()


def _is_kept(path: ast.expr) -> bool:
    """Whether a path is an attribute, or an option: what it is once, it is all the time."""
    return isinstance(path, ast.Attribute) and dotted_path(path) is not None
