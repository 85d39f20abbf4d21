"""Folders of the past, by their names."""

from __future__ import annotations

import pytest

from torchdevlint.project.put_aside import is_put_aside


@pytest.mark.parametrize("folder", ["old", "_archive", "legacy_code", "back of nets", "Backup of v2", "src.bak"])
def test_what_is_put_aside(folder: str) -> None:
    assert is_put_aside(f"project/{folder}/train.py")


@pytest.mark.parametrize("folder", ["gold", "backbone", "background", "older_people", "copyist", "olds", "feedback"])
def test_what_only_looks_so(folder: str) -> None:
    assert not is_put_aside(f"project/{folder}/train.py")
    assert not is_put_aside(f"project/{folder}.py")
