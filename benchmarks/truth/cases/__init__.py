"""The cases, one module for each part of PyTorch. `ALL` has them in a fixed order."""

from __future__ import annotations

from benchmarks.truth.case import Case
from benchmarks.truth.cases import (
    creation,
    cuda,
    distributed,
    elementwise,
    functions,
    indexing,
    matmul,
    modules,
    movement,
    refusals,
    serialization,
    structures,
)

ALL: tuple[Case, ...] = (
    *elementwise.CASES,
    *matmul.CASES,
    *indexing.CASES,
    *creation.CASES,
    *movement.CASES,
    *refusals.CASES,
    *modules.CASES,
    *serialization.CASES,
    *cuda.CASES,
    *structures.CASES,
    *distributed.CASES,
    *functions.CASES,
)
