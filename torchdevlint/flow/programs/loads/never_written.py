"""States of optimizers that a program would read if it found them, and that it never writes: a left part of resuming.

Weights come from anywhere, but the state of an optimizer is of use to the program alone that has saved it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from torchdevlint.flow.checks.loads.file_names import Place, file_names, scopes_of
from torchdevlint.flow.checks.loads.telling_names import may_be_equal, path_key
from torchdevlint.flow.checks.loads.writers import writes_in
from torchdevlint.flow.programs.texts.asked_tests import asked_before
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.patterns import LinePattern
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in

_OPTIMIZING = ("torch.optim.", "transformers.", "apex.optimizers.", "timm.optim.")
_ASKING = frozenset({"isfile", "exists", "is_file"})
_BY_OTHERS = LinePattern(
    r"\bTrainer\b|\bTrainingArguments\b|\bsave_(?:state|checkpoint)\b|\bshutil\.(?:copy|move)|\b(?:download|hf_hub)\w*\(",
    "Trainer TrainingArguments save_state save_checkpoint shutil.copy shutil.move download hf_hub",
)
"""What may write files whose names the code does not say."""
_MOST_FILES = 120


def is_never_written(own: ModuleFile, project: Project, load: ast.Call, leading: Sequence[ModuleFile]) -> bool:
    """Whether a load fills an optimizer from a file, if there is one, that the program and what it imports never write.

    `leading` are the files that lead to the load. What has a file in common with them may write for them.
    """
    scope = scopes_of(own.tree, load)[0]
    if len(load.args) != 1 or not _fills_optimizer(scope, load) or not _is_asked_for(scope, load):
        return False
    names = file_names(Place(scopes_of(own.tree, load), own.path, project), load.args[0])
    own_files = {own.path, *(each.path for each in leading)}
    related = project.import_closure(sorted(own_files), _MOST_FILES)
    saving = project.saying(("save",))
    if None in names or related is None or saving is None or len(saving) > _MOST_FILES:
        return False
    known = {own.path: own, **{each.path: each for each in leading}}
    for path in dict.fromkeys([*related, *saving]):
        file = known.get(path) or project.library.get(path)
        project.used(path, "", file)
        if file is None:
            return False
        is_of_program = path in related
        if is_of_program and _BY_OTHERS.is_in(file.source.text):
            return False
        if _may_write(file, names, is_of_program) and (is_of_program or _has_part_in(project, path, related)):
            return False
    return True


def _has_part_in(project: Project, path: str, related: Iterable[str]) -> bool:
    """Whether a file has to do with others: it imports one of them, or lies beside one."""
    closure = project.import_closure([path], _MOST_FILES)
    folders = {each.rpartition("/")[0] for each in related}
    return closure is None or not set(closure).isdisjoint(related) or path.rpartition("/")[0] in folders


def _may_write(file: ModuleFile, names: Iterable[str | None], is_of_program: bool) -> bool:
    """Whether a file writes one of some names; in the program itself, also where a name is not written down."""
    written = [each for _, found in writes_in(file.tree) for each in found]
    if is_of_program and None in written:
        return True
    return any(one and other and may_be_equal(one, other) for one in written for other in names)


def _fills_optimizer(scope: ast.AST, load: ast.Call) -> bool:
    """Whether what is loaded goes to an optimizer, or a schedule, that the same function makes, and nowhere else."""
    filling = next((each for each in nodes_in(scope, ast.Call) if load in each.args), None)
    if filling is None or not isinstance(filling.func, ast.Attribute) or filling.func.attr != "load_state_dict":
        return False
    path = dotted_path(filling.func.value)
    made = [each for each in nodes_in(scope, ast.Assign) if path in map(dotted_path, each.targets)]
    calls = [each.value for each in made if isinstance(each.value, ast.Call)]
    return (
        bool(calls)
        and len(calls) == len(made)
        and all(public_path(each.func).startswith(_OPTIMIZING) for each in calls)
    )


def _is_asked_for(scope: ast.AST, load: ast.Call) -> bool:
    """Whether a load is only made if there is such a file: ``if os.path.isfile(path):``."""
    path = path_key(load.args[0])
    asked = (test for test, outcome in asked_before(getattr(scope, "body", []), load.lineno) if outcome)
    parts = (part for test in asked for part in _conjuncts(test) if isinstance(part, ast.Call))
    return any(last_name(each.func) in _ASKING and path in map(path_key, each.args) for each in parts)


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
