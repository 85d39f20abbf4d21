"""Which releases of torch a place is for, as a test around it or the configuration says."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.patterns import regex

_FOR_RELEASES = regex(r"version|hasattr|torch_?(?:ge|lt|gt|le|\d)|[a-z]_ge_|\bTORCH", re.IGNORECASE)
"""Tests that ask which release of torch is there."""


def is_for_older(frame: Frame, state: State, since: tuple[int, int]) -> bool:
    """Whether the project, or a test around the place, is for releases before `since`."""
    target = re.match(r"(\d+)\.(\d+)", frame.machine.settings.target_torch or "")
    if target is not None and (int(target[1]), int(target[2])) < since:
        return True
    return any(_FOR_RELEASES.search(key) for key, _ in state.conditions)


def outcome_by_release(test: ast.Compare) -> bool | None:
    """What a comparison with an old release of torch gives wherever it is run today: ``torch.__version__ >= "1.0"``.

    None for any other comparison.
    """
    left, right = _unparsed(test.left), _unparsed(test.comparators[0])
    if public_path(left) != "torch.__version__" or len(test.ops) > 1 or not isinstance(right, ast.Constant):
        return None
    release = re.match(r"(\d+)\.(\d+)", str(right.value))
    if release is None or (int(release[1]), int(release[2])) >= _OLDEST:
        return None
    return _OUTCOMES.get(type(test.ops[0]))


_OLDEST = (1, 8)
"""Releases before this one are for versions of Python that nobody keeps up any more."""
_OUTCOMES: dict[type, bool] = {
    ast.Gt: True,
    ast.GtE: True,
    ast.NotEq: True,
    ast.Lt: False,
    ast.LtE: False,
    ast.Eq: False,
}
_PARSERS = ("packaging.version.", "distutils.version.", "pkg_resources.", "looseversion.")


def _unparsed(node: ast.expr) -> ast.expr:
    """The text of ``version.parse(text)`` and ``LooseVersion(text)``."""
    parsed = isinstance(node, ast.Call) and len(node.args) == 1 and public_path(node.func).startswith(_PARSERS)
    return node.args[0] if parsed else node  # type: ignore[attr-defined]
