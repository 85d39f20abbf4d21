"""Calls that no code of a program makes: by the language, torch, a trainer of a library, or what a decorator keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.leading_names import CALLED_BY_TORCH, OF_LIGHTNING
from torchdevlint.flow.programs.texts.wrapping import may_be_found
from torchdevlint.flow.scope.names import first_name
from torchdevlint.patterns import LinePattern, regex
from torchdevlint.project.locate import is_elsewhere
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode

_PHASES = ("fit", "validate", "test", "predict")
"""What a trainer of Lightning is asked to do, by its methods."""
_FOR_HOOKS = (
    (regex(r"(?:on_)?(?:train|training)_\w+|configure_optimizers"), {"fit"}),
    (regex(r"(?:on_)?(?:val|validation)_\w+"), {"fit", "validate"}),
    (regex(r"(?:on_)?test_\w+"), {"test"}),
    (regex(r"(?:on_)?predict_\w+"), {"predict"}),
)
"""For which of these it calls a hook."""
_TRAINERS = LinePattern(r"[Tt]rainer", "Trainer trainer")
_ESTIMATORS = LinePattern(r"\bsklearn\b", "sklearn")
"""What has a ``fit`` of its own."""
_UNSEEN = LinePattern(
    r"LightningCLI|\bFabric\b|\binstantiate\b|\b(?:lr_find|Tuner)\b|getattr\([\w.]*trainer",
    "LightningCLI Fabric instantiate lr_find Tuner getattr(",
)
"""What asks a trainer for something without a call that is seen."""
_ASKED = {each: LinePattern(rf"\.{each}\b", f".{each}") for each in _PHASES}


def phases_of(files: Iterable[ModuleFile]) -> frozenset[str]:
    """What the code of a program asks trainers of Lightning for: none, where it names no trainer."""
    texts = [each.source.text for each in files]
    if any(map(_UNSEEN.is_in, texts)):
        return frozenset(_PHASES)
    if not any(map(_TRAINERS.is_in, texts)):
        return frozenset()
    texts = [each for each in texts if _TRAINERS.is_in(each) or not _ESTIMATORS.is_in(each)]
    return frozenset(each for each in _PHASES if any(map(_ASKED[each].is_in, texts))) or frozenset(_PHASES)


def is_called_unseen(
    method: FunctionNode, file: ModuleFile, project: Project, *, phases: frozenset[str], of_lightning: bool
) -> bool:
    """Whether the language or torch calls a method of each object, or something that it is registered with.

    So does a trainer with the hooks of a class `of_lightning`, and with the steps of any, in the `phases` of a program.
    """
    name = method.name
    if name in torch_api.MODULE_ATTRIBUTES or name.startswith("__") or may_be_found(method, file, project):
        return True
    if not (OF_LIGHTNING.fullmatch(name) if of_lightning else name in CALLED_BY_TORCH):
        return False
    for_hook = next((needed for hook, needed in _FOR_HOOKS if hook.fullmatch(name)), set(_PHASES))
    return not phases.isdisjoint(for_hook)


def is_of_modules(file: ModuleFile, path: str) -> bool:
    """Whether a path of names in a file is surely that of a module, or of what the standard library or torch has."""
    imported = file.bindings.get(first_name(path), ())
    return bool(imported) and all(_is_of_module(each, path) for each in imported)


def _is_of_module(statement: ast.stmt, path: str) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return not statement.level and is_elsewhere(statement.module or "")
    held = statement.names if isinstance(statement, ast.Import) else ()
    bound = [(each.name, each.asname or each.name) for each in held]
    return any(
        name == path or (is_elsewhere(module) and first_name(name) == first_name(path)) for module, name in bound
    )
