"""The tensors that the arguments of a call bring in."""

from __future__ import annotations

from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.state.arguments import Arguments


def given_operands(arguments: Arguments) -> Operands:
    """The operands that are given one by one, those in a list or tuple too."""
    return [each for given in arguments.pairs for each in tensor_operands(*given)]


def spread_operands(arguments: Arguments) -> Operands:
    """What two stars bring under names that are not known: ``model(**batch)``, of a batch that was moved."""
    return [] if arguments.rest is None else list(tensor_operands(*arguments.rest))
