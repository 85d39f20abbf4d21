"""What fields of a dataclass of another file hold by default is not what any object holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files

SPEC = """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Spec:
        kind: str
        units: tuple[int, ...] | None = None

        def __post_init__(self):
            if self.units is not None:
                object.__setattr__(self, "units", tuple(sorted(self.units)))
"""
USER = """
    import torch
    from spec import Spec

    def masked(spec: Spec, leaf: torch.Tensor):
        if spec.units is None:
            return leaf
        chosen = torch.zeros(leaf.shape[-1], dtype=torch.bool)
        chosen[list(spec.units)] = True
        return torch.where(chosen, torch.ones_like(leaf), leaf)
"""


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_field_that_is_none_by_default_may_hold_anything(project: Files) -> None:
    assert project({"spec.py": SPEC, "user.py": USER})["user.py"] == {(7, "TDL014")}


def test_an_attribute_of_every_object_is_none(project: Files) -> None:
    plain = """
        class Spec:
            _units = None
    """
    assert not project({"spec.py": plain, "user.py": USER.replace(".units", "._units")}).get("user.py")
