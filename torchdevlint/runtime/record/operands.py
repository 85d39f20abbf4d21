"""The operands of a call of an ATen operator, told as the recorder wants them, whichever backend knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torchdevlint.runtime.record.marks import marks_of
from torchdevlint.runtime.record.recorder import OperandStory
from torchdevlint.runtime.record.sites import Place


@dataclass(frozen=True, slots=True)
class Origin:
    """What a backend knows of a tensor: where it is, which function made it on which line, and what moved it."""

    device: str
    created: Place = None
    how: str = ""
    moved: Place = None
    lost: Place = None
    owner: str = ""


def stories(
    operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], origin: Callable[[torch.Tensor], Origin]
) -> Iterator[OperandStory]:
    """The tensors among the arguments of `operator` (an overload of ``torch.ops``), under the names of its schema."""
    names = [argument.name for argument in operator._schema.arguments]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        found = list(tensors_in((value,)))
        for number, tensor in enumerate(found):
            told = origin(tensor)
            yield OperandStory(
                name=name if len(found) == 1 else f"{name}[{number}]",
                device=told.device,
                shape=tuple(tensor.shape),
                dtype=str(tensor.dtype).removeprefix("torch."),
                created=told.created,
                how=told.how,
                moved=told.moved,
                lost=told.lost,
                owner=told.owner or ("parameter" if isinstance(tensor, torch.nn.Parameter) else ""),
                marks=marks_of(tensor),
            )


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among `values` and in their lists and tuples, in order."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)
