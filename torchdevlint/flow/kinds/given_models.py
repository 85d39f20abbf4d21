"""Functions that run a model for their caller, by what a call gives them: ``synthesize(mel, self.vocoder, config)``.

They bring the input to where the model is, and often the outcome back: of where the input was nothing follows.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.chains import moved_in
from torchdevlint.flow.scope.decorators import decorator_names
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import TOP
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Obj, Unknown, Value
from torchdevlint.source.nodes import nodes_in


def runs_a_model(arguments: Arguments) -> bool:
    """Whether a model is among what a call of something unknown gives; of what is not known its name tells."""
    return any(is_module(value) or _is_called_model(at, value) for at, value in arguments.pairs)


def _is_called_model(at: ast.expr, value: Value) -> bool:
    named = isinstance(value, Unknown) and isinstance(at, (ast.Name, ast.Attribute))
    return named and is_named_like_a_model(at)


def moved_model(frame: Frame, parameter: ast.arg, info: ClassInfo) -> Value | None:
    """A parameter that is annotated with a Module of the project, where the function moves it: its methods are known.

    A class that leaves a method to those below it says less than they do.
    """
    if frame.function is None or _is_abstract(info):
        return None
    names = {parameter.arg}
    for path, values in values_by_path(frame.function).items():
        if any(isinstance(each, ast.Name) and each.id == parameter.arg for each in values):
            names.add(path)
    return None if moved_in(frame.function).isdisjoint(names) else Obj(info, TOP, given=())


def _is_abstract(info: ClassInfo) -> bool:
    """Whether a method is declared to be abstract, or raises what says that it is missing."""
    for _, method in info.all_methods.values():
        raised = (each.exc for each in nodes_in(method, ast.Raise))
        names = (each.func if isinstance(each, ast.Call) else each for each in raised)
        missing = any(isinstance(each, ast.Name) and each.id == "NotImplementedError" for each in names)
        if missing or "abstractmethod" in decorator_names(method):
            return True
    return "forward" not in info.all_methods
