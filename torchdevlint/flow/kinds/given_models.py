"""Functions that run a model for their caller, by what a call gives them: ``synthesize(mel, self.vocoder, config)``.

They bring the input to where the model is, and often the outcome back: of where the input was nothing follows.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import is_module
from torchdevlint.flow.state.values import Unknown, Value


def runs_a_model(arguments: Arguments) -> bool:
    """Whether a model is among what a call of something unknown gives; of what is not known its name tells."""
    return any(is_module(value) or _is_called_model(at, value) for at, value in arguments.pairs)


def _is_called_model(at: ast.expr, value: Value) -> bool:
    named = isinstance(value, Unknown) and isinstance(at, (ast.Name, ast.Attribute))
    return named and is_named_like_a_model(at)
