"""Whether a load reads a path that a call has given, or was given, which saves files.

``path = train()`` and ``torch.load(path)``, ``stopping = EarlyStopping(path)``, ``stopping(loss, net)`` and the same.
Or a function is given a path by those who have saved to it.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import PurePosixPath

from torchdevlint.flow.checks.loads.file_names import scopes_of
from torchdevlint.flow.checks.loads.saved_names import Bound, bound_before, values_in
from torchdevlint.flow.checks.loads.telling_names import path_key
from torchdevlint.flow.checks.loads.written_before import is_written_around, writes_what_is_read
from torchdevlint.flow.programs.loads.left_by_trials import is_left_by_trial
from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import MOST_FILES, argument_of, own_call_sites
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, parameter_names, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import arguments_of, inside, is_below, nodes_in

_HOOKED = frozenset({"LightningModule", "Callback"})
_LATE = frozenset(
    "training_epoch_end validation_epoch_end on_train_epoch_end on_validation_epoch_end on_validation_end on_train_end "
    "on_fit_end".split()
)
"""What Lightning calls of a Module, or of a callback, when an epoch or the training ends."""
_WHILE_FITTING = _LATE - {"on_fit_end"} | {"training_step", "validation_step"}
_LIGHTNING = ("lightning", "pytorch_lightning")
_WRITTEN = frozenset({"best_model_path", "last_model_path"})
_SAVING = regex(r"(?i)early_?stop|check_?point|saver")


def is_written_by_this_run(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether a loop around a load saves the file, or its path is what a call of the same function gives that saves.

    The path may be an element of that: ``torch.load(result["best"])``.
    """
    if is_written_around(own.path, own.tree, load, Scope(own, project)):
        return True
    if not load.args:
        return False
    if _is_kept_by_lightning(own.tree, load) or is_left_by_trial(own.tree, load):
        return True
    if _reads_what_callers_wrote(own, project, load) or _reads_what_its_object_wrote(own, project, load):
        return True
    saving = Ways(project, _saves, loosely=True)
    if _is_left_by_another_round(own, load, saving):
        return True
    call = _giving(scopes_of(own.tree, load)[0], load.args[0])
    if call is not None and (saving.is_so_in_call(own, call) or _is_asked_of_what_saved(own, project, load, call)):
        return True
    ways = Ways(project, partial(_saves_there, own, load, saving), loosely=True)
    return ways.is_so_within(own, load) or ways.are_all_so(own, frozenset(), load)


def _is_left_by_another_round(own: ModuleFile, load: ast.Call, saving: Ways) -> bool:
    """Whether later rounds of a loop load what each round gives to something that saves, under a name made alike.

    ``if stage > 0: net.load_state_dict(torch.load(name_of(params)))``, and ``train(net, name_of(params))``.
    """
    if not _is_for_some_rounds(own.tree, load):
        return False
    scope = scopes_of(own.tree, load)[0]
    loops = (each for kind in (ast.For, ast.While) for each in nodes_in(scope, kind) if is_below(load, each))
    calls = (each for loop in loops for each in nodes_in(loop, ast.Call) if each is not load)
    read = _made_as(scope, load.args[0])
    return any(
        read in [_made_as(scope, given) for given in arguments_of(call)] and saving.is_so_in_call(own, call)
        for call in calls
    )


def _made_as(scope: ast.AST, path: ast.expr) -> str:
    """The text of a path, or of the call that is all that its name is bound to."""
    return path_key(_giving(scope, path) or path)


def is_written_by_hooks(own: ModuleFile | None, project: Project, load: ast.expr | None) -> bool:
    """Whether what Lightning calls at the end of a training, or of an epoch, reads the file that it saves on the way.

    ``validation_epoch_end`` keeps the best weights, ``on_train_end`` goes back to them.
    """
    if own is None or not isinstance(load, ast.Call):
        return False
    method, owner = _method_around(own.tree, load)
    if method is None or owner is None or method.name not in _LATE:
        return False
    hooks = (each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name in _WHILE_FITTING)
    calls = (call for each in hooks if each is not method for call in nodes_in(each, ast.Call))
    writes = partial(writes_what_is_read, own.path, own.tree, load, Scope(own, project, method, owner))
    return not _HOOKED.isdisjoint(map(last_name, owner.bases)) and any(map(writes, calls))


def _is_kept_by_lightning(tree: ast.Module, load: ast.Call) -> bool:
    """Whether a path is that of the best file, or the last, which a `ModelCheckpoint` of Lightning has written.

    One that was made in this run has written none before ``fit``.
    """
    path = _held(tree, load, load.args[0])
    if not isinstance(path, ast.Attribute) or path.attr not in _WRITTEN:
        return False
    owner, made = path.value, "ModelCheckpoint"
    if isinstance(owner, ast.Attribute) and owner.attr == "checkpoint_callback":
        owner, made = owner.value, "Trainer"
    value = _held(tree, load, owner)
    first, _, last = public_path(value.func).partition(".") if isinstance(value, ast.Call) else ("", "", "")
    return first in _LIGHTNING and last.rpartition(".")[2] == made


def _held(tree: ast.Module, load: ast.Call, node: ast.expr) -> ast.expr:
    """What a name, or an attribute, alone holds in the scopes around a load; else itself."""
    path = dotted_path(node) or ""
    values = next(filter(None, (values_by_path(each).get(path) for each in scopes_of(tree, load))), [])
    return values[0] if len(values) == 1 else node


def ways_of_writing(own: ModuleFile, project: Project, load: ast.Call) -> Ways:
    """The ways on which a file of the name that is read was saved before."""
    method, owner = _method_around(own.tree, load)
    there = None if owner is None else Scope(own, project, method, owner)
    happens = partial(writes_what_is_read, own.path, own.tree, load)
    return Ways(project, happens, loosely=True, method=there, in_rounds=_is_for_some_rounds(own.tree, load))


def _is_for_some_rounds(tree: ast.Module, load: ast.Call) -> bool:
    """Whether a number decides over a load: ``if epoch != 0:``, ``if epoch in (3, 6):``."""
    tests = (each.test for each in nodes_in(scopes_of(tree, load)[0], ast.If) if is_below(load, each))
    compared = (part for each in tests for part in inside(each) if isinstance(part, ast.Compare))
    return any(
        isinstance(part, ast.Constant) and type(part.value) is int
        for each in compared
        for to in each.comparators
        for part in inside(to)
    )


def _method_around(tree: ast.Module, node: ast.AST) -> tuple[ast.FunctionDef | None, ast.ClassDef | None]:
    method = scopes_of(tree, node)[0]
    if not isinstance(method, ast.FunctionDef):
        return None, None
    return method, next((each for each in nodes_in(tree, ast.ClassDef) if method in each.body), None)


def _is_asked_of_what_saved(own: ModuleFile, project: Project, load: ast.Call, call: ast.Call) -> bool:
    """Whether a function gives a path whose module has saved files on this way: ``torch.load(best_models())``."""
    led = defined(project, own.path, own.tree, dotted_path(call.func) or "")
    if led is None or led[0].path == own.path:
        return False

    def saves(scope: Scope, other: ast.Call) -> bool:
        return scope.file.path == led[0].path and _saves(scope, other)

    ways = Ways(project, saves, loosely=True)
    return ways.is_so_within(own, load) or ways.are_all_so(own, frozenset(), load)


def _reads_what_callers_wrote(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether a function reads the path that it is given, which all that call it have saved to: ``restore(net, path)``.

    Or what has saved gave them the path: ``best = keep(net)``.
    """
    (function, owner), path = _method_around(own.tree, load), load.args[0]
    if function is None or not isinstance(path, ast.Name):
        return False
    if path.id not in parameter_names(function) or path.id in values_in(function):
        return False
    if owner is not None:
        calls = [(own, each) for each in _calls_of_itself(own, project, function, owner)]
    elif project.importers(own.path) == ():
        calls = [(own, each.call) for each in own_call_sites(own.tree, function)]
    else:
        calls = ProjectCalls(own, project).of(own.path, function.name) or []
    given = [(*each, argument_of(each[1], function, path.id, is_bound=owner is not None)) for each in calls]
    return bool(given) and all(
        to is not None and (_is_saved_before(file, project, call, to) or _is_given_by_saving(file, project, call, to))
        for file, call, to in given
    )


def _is_given_by_saving(file: ModuleFile, project: Project, call: ast.Call, path: ast.expr) -> bool:
    """Whether all that a name is bound to is the path that something has given which saves files, or nothing yet."""
    bound = values_in(scopes_of(file.tree, call)[0]).get(path.id, []) if isinstance(path, ast.Name) else []
    values = [value for each in bound if not _is_nothing(value := _element_of(each))]
    saving = Ways(project, _saves, loosely=True)
    return bool(values) and all(isinstance(each, ast.Call) and saving.is_so_in_call(file, each) for each in values)


def _element_of(bound: Bound) -> ast.expr | None:
    """What a name is bound to in ``best, path = 9.0, None``."""
    value, place = bound.value, bound.place
    is_there = isinstance(value, ast.Tuple) and place is not None and place < len(value.elts)
    return value.elts[place] if is_there else value  # type: ignore[union-attr]


def _is_nothing(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _calls_of_itself(own: ModuleFile, project: Project, method: ast.FunctionDef, owner: ast.ClassDef) -> list[ast.Call]:
    """The calls of a method by others of its class, where no other code reads anything of its name."""
    sites = ProjectCalls(own, project).of_method(method.name)
    inside_it = [each for each in nodes_in(owner, ast.Call) if dotted_path(each.func) == f"self.{method.name}"]
    return inside_it if sites is not None and all(call in inside_it for _, call in sites) else []


def _reads_what_its_object_wrote(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether all that call the method which reads have called what saves there before: ``stopping(loss, net)``.

    They are methods of the class itself, such as ``fit``, or have the object at hand.
    """
    method, owner = _method_around(own.tree, load)
    if method is None or owner is None:
        return False
    modules = ProjectCalls(own, project).files_saying(method.name)
    if modules is None or len(modules) > MOST_FILES:
        return False
    said = [(module, each) for module in modules for each in _naming(module.tree, method.name)]
    others = [each for each in said if each[1] not in _of_own_methods(each[0].tree, method.name)]
    calls = [each for each in nodes_in(owner, ast.Call) if dotted_path(each.func) == f"self.{method.name}"]
    writes = Ways(project, partial(writes_what_is_read, own.path, own.tree, load), loosely=True)
    savers = _savers(owner, load.args[0])
    return (
        bool(calls or others)
        and all(writes.is_so_within(own, each) for each in calls)
        and all(_is_saved_by_object(module.tree, each, savers) for module, each in others)
    )


def _naming(tree: ast.Module, name: str) -> list[ast.expr]:
    attributes: list[ast.expr] = [each for each in nodes_in(tree, ast.Attribute) if each.attr == name]
    return attributes + [each for each in nodes_in(tree, ast.Name) if each.id == name]


def _of_own_methods(tree: ast.Module, name: str) -> frozenset[ast.AST]:
    """What methods say of a method with that name that their class defines itself."""
    owners = (
        each for each in nodes_in(tree, ast.ClassDef) if any(getattr(one, "name", "") == name for one in each.body)
    )
    return frozenset(
        each for owner in owners for each in nodes_in(owner, ast.Attribute) if dotted_path(each) == f"self.{name}"
    )


def _savers(owner: ast.ClassDef, path: ast.expr) -> frozenset[str]:
    """What an object is called by, behind its name, to save to an attribute of its own: "" is `__call__`."""
    told = path_key(path)
    saving = {
        method.name
        for method in owner.body
        if isinstance(method, ast.FunctionDef)
        for each in nodes_in(method, ast.Call)
        if public_path(each.func) == "torch.save" and len(each.args) > 1 and path_key(each.args[1]) == told
    }
    held = (dotted_path(path) or "").startswith("self.")
    return frozenset("" if each == "__call__" else f".{each}" for each in saving) if held else frozenset()


def _is_saved_by_object(tree: ast.Module, read: ast.expr, savers: frozenset[str]) -> bool:
    """Whether the object of ``stopping.restore(net)`` was called to save before, in the same function."""
    holder = dotted_path(read.value) if isinstance(read, ast.Attribute) else None
    call = next((each for each in nodes_in(tree, ast.Call) if each.func is read), None)
    if holder is None or call is None:
        return False
    around = scopes_of(tree, call)[0]
    before = (each for each in nodes_in(around, ast.Call) if each.lineno <= call.lineno and each is not call)
    return any(dotted_path(each.func) == f"{holder}{saver}" for each in before for saver in savers)


def _is_saved_before(own: ModuleFile, project: Project, call: ast.Call, path: ast.expr) -> bool:
    """Whether a path, as it is written, is given to what saves on the way to a call, or in a loop around it."""

    def saves(scope: Scope, other: ast.Call) -> bool:
        is_named_so = "save" in last_name(other.func) and scope.file.tree is own.tree
        return is_named_so and any(_is_same_file(path, each) for each in other.args)

    loops = [each for kind in (ast.For, ast.While) for each in nodes_in(own.tree, kind) if is_below(call, each)]
    if any(saves(Scope(own, project), each) for loop in loops for each in nodes_in(loop, ast.Call)):
        return True
    ways = Ways(project, saves, loosely=True)
    return ways.is_so_within(own, call) or ways.are_all_so(own, frozenset(), call)


def _is_same_file(path: ast.expr, other: ast.expr) -> bool:
    """Whether two paths are written alike, or both are written down and have the same name of a file."""
    texts = [each.value for each in (path, other) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    same_name = len(texts) == 2 and len({PurePosixPath(each).name for each in texts}) == 1
    return same_name or path_key(path) == path_key(other)


def _saves(scope: Scope, call: ast.Call) -> bool:
    return public_path(call.func) == "torch.save"


def _saves_there(own: ModuleFile, load: ast.Call, saving: Ways, scope: Scope, call: ast.Call) -> bool:
    """Whether a call beside a load saves files, and is given the path that is read, or is one of an object that was.

    An object that only its name tells to save is believed: what it is of is not in the project.
    """
    function = scopes_of(own.tree, load)[0]
    if scope.file.tree is not own.tree or not is_below(call, function):
        return False
    made = _giving(function, call.func)
    for each in (call, made):
        if each is not None and each is not load and _is_given(function, each, load.args[0], call.func):
            return saving.is_so_in_call(own, call) or (each is made and _is_called_after_saving(made))
    return False


def _is_given(scope: ast.AST, call: ast.Call, path: ast.expr, callee: ast.expr) -> bool:
    """Whether a call is given a path as it is written, or the path is, or begins with, an attribute of what it made.

    A path that a call puts together is the same as one that the same call has put together before.
    """
    given = arguments_of(call)
    begins = path.left if isinstance(path, ast.BinOp) and isinstance(path.op, ast.Add) else path
    held = isinstance(begins, ast.Attribute) and dotted_path(begins.value) == first_name(dotted_path(callee) or "")
    if held or isinstance(path, ast.Constant):
        return held
    return path_key(path) in map(path_key, given) or _made_as(scope, path) in (_made_as(scope, each) for each in given)


def _is_called_after_saving(made: ast.Call) -> bool:
    return _SAVING.search(last_name(made.func)) is not None


def _giving(scope: ast.AST, path: ast.expr) -> ast.Call | None:
    """The call whose result, or an element of it, a path is, where nothing else is bound to the name before."""
    while isinstance(path, (ast.Subscript, ast.Attribute)):
        path = path.value
    bound = values_in(scope).get(path.id, []) if isinstance(path, ast.Name) else []
    value = bound[0].value if len(bound) == 1 else bound_before(scope, path) if bound else None
    return value if isinstance(value, ast.Call) else None
