"""The cases, one module for each part of PyTorch. `ALL` has them in a fixed order."""

from __future__ import annotations

from torchdevlint.runtime.truth.case import Case
from torchdevlint.runtime.truth.cases import (
    creation,
    cuda,
    elementwise,
    indexing,
    matmul,
    modules,
    movement,
    serialization,
    structures,
)

ALL: tuple[Case, ...] = (
    *elementwise.CASES,
    *matmul.CASES,
    *indexing.CASES,
    *creation.CASES,
    *movement.CASES,
    *modules.CASES,
    *serialization.CASES,
    *cuda.CASES,
    *structures.CASES,
)
