"""The number of this process among all of several machines, and what is made of it."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.values import TEXT, Const, Number, Seq, Text, Value

_VARIABLES = frozenset({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
"""Environment variables that launchers set to it; the number on one machine has other names."""


def asked_at(value: Value) -> ast.AST | None:
    """Where the rank was asked for that a value is, that it spells, or that it holds as its only item."""
    if isinstance(value, Seq) and value.items is not None and len(value.items) == 1:
        return asked_at(value.items[0])
    return value.rank if isinstance(value, (Number, Text)) else None


def of_environment(node: ast.AST, name: Value) -> Text:
    """What an environment variable holds."""
    return Text(node) if isinstance(name, Const) and name.value in _VARIABLES else TEXT


def spelled(start: str, *values: Value) -> Text:
    """A text that begins with `start` and has one value in it: ``f"cuda:{rank}"``."""
    return Text(asked_at(values[0])) if len(values) == 1 and start.startswith("cuda:") else TEXT
