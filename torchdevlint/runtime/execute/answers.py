"""What a flagged test answers, for findings of tests that are never true: its operands, and what it gave for them.

That a test is false proves nothing: it may be false here. It proves the finding where the same question, asked so that
places can agree, has the other answer: by the type of a device and not by the device itself, by the counterpart on the
CPU for the type of a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from torchdevlint.runtime.execute.observe import Observation
from torchdevlint.runtime.execute.values import Setting

_POSITIVE = (ast.Eq, ast.In)
_OPERANDS = 2


@dataclass
class Answers:
    """The answers of one test in one run. `node` is the test as it is written."""

    node: ast.AST | None
    given: list[tuple[tuple[Any, ...], bool]] = field(default_factory=list)

    def take(self, operands: Sequence[Any], answer: Any) -> None:
        if isinstance(answer, bool):
            self.given.append((tuple(operands), answer))

    def observation(self, setting: Setting) -> Observation:
        """The symptom if one answer is not what it would be if places could agree; its absence if one is what the
        finding says that no run gives. What is asked of a device that is a value of ours says nothing.
        """
        if not self.given:
            return Observation(None, "the flagged test was not asked")
        refuted: Observation | None = None
        for operands, answer in self.given:
            asked = self._asked(operands)
            if asked is None or any(each is setting.device for each in asked):
                continue
            right = self._right(*asked)
            observed = {"asked": _shown(asked[0]), "for": _shown(asked[1]), "answer": answer}
            if right is not None and right is not answer:
                return Observation(True, observed={**observed, "right answer": right})
            if self._is_never_given(*asked, answer=answer):
                refuted = Observation(False, observed=observed)
        return refuted or Observation(None, "the flagged test was asked of nothing that it is meant for")

    def _asked(self, operands: tuple[Any, ...]) -> tuple[Any, Any] | None:
        """What was asked, and for what: the sides of a comparison, the arguments of `isinstance`."""
        if isinstance(self.node, ast.Compare) and len(operands) == _OPERANDS:
            return operands[0], operands[1]
        if isinstance(self.node, ast.Call) and len(operands) == 1 + _OPERANDS and operands[0] is isinstance:
            return operands[1], operands[2]
        return None

    def _right(self, asked: Any, wanted: Any) -> bool | None:
        """What the test would say if places could agree; None where that is not known."""
        if isinstance(self.node, ast.Call):
            return isinstance(asked.cpu(), wanted) if _is_elsewhere(asked) else None
        one, other = _parts(asked), _parts(wanted)
        if not any(isinstance(each, torch.device) or _is_type(each) for each in (*one, *other)):
            return None
        agree = any(str(a) in _names(b) or str(b) in _names(a) for a in one for b in other)
        return agree if self._is_positive else not agree

    def _is_never_given(self, asked: Any, wanted: Any, answer: bool) -> bool:
        if isinstance(self.node, ast.Call):
            return answer and _is_elsewhere(asked)
        return answer is self._is_positive and not any(map(_is_type, (*_parts(asked), *_parts(wanted))))

    @property
    def _is_positive(self) -> bool:
        return isinstance(self.node, ast.Compare) and isinstance(self.node.ops[0], _POSITIVE)


def _parts(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list, set, frozenset)) else (value,)


def _names(value: Any) -> tuple[str, ...]:
    """The names by which it may be asked for: of ``cuda:0`` also ``cuda``, of a type its counterpart on the CPU."""
    if isinstance(value, torch.device):
        return str(value), value.type
    if _is_type(value):
        return value, f"torch.{value.rpartition('.')[2]}"
    return (value,) if isinstance(value, str) else ()


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("torch.") and value.endswith("Tensor")


def _is_elsewhere(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type != "cpu"


def _shown(value: Any) -> str:
    return f"a {value.type()} on {value.device}" if isinstance(value, torch.Tensor) else repr(value)
