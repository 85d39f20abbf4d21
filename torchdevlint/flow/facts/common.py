"""What facts are, and what several of them are made of."""

from __future__ import annotations

from dataclasses import dataclass

from torchdevlint.model import Span


class Fact:
    """A claim about the place `at`; every fact is a frozen dataclass."""

    __slots__ = ()

    at: Span


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of an operation.

    `text` is its source, `device` what is known of its device in words (``the default device``, ``cuda:0``,
    ``the device of `x```), `evidence` the places that show it, oldest first: creations, moves, parameters.
    """

    text: str
    device: str
    span: Span
    evidence: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Creation:
    """Where a tensor begins that stays behind: a call that makes it on the default device, or an argument that is kept.

    `function` is the public name of what is called, such as ``torch.zeros``, and empty for an argument of ``__init__``
    that becomes an attribute as it came.
    """

    function: str
    text: str
    span: Span
    where: str
    """``forward`` (or reached from it), ``init``, ``method`` (another method of a Module), ``function``, ``module``."""
    scope: str
    """The qualified name of the function that holds it, such as ``Net.forward``; empty at module level."""
    random: bool = False
    attribute: str | None = None
    """The attribute of the Module that keeps it, for what ``__init__`` made."""
    is_attribute: bool = True
    """Whether the attribute is the tensor; else it holds it, as lists, dicts and distributions do."""
    kept_by: tuple[str, Span] | None = None
    """The text and place of the assignment to the attribute, if a call that registers it can take its place."""


@dataclass(frozen=True, slots=True)
class Reordering:
    """The lines `text`, which are at `span`, can stand at `before` instead."""

    text: str
    span: Span
    before: Span
