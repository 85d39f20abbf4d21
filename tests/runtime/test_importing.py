"""Finders that ask others for a module: in whatever order they stand, each is asked once."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torchdevlint.runtime.execute.imported import Finder
from torchdevlint.runtime.importing import when_imported


@pytest.mark.parametrize("order", ["first", "last"])
def test_an_import_is_watched_beside_a_finder_that_asks_those_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    (tmp_path / "watched_part.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    told: list[ModuleType] = []
    finder = Finder(str(tmp_path / "flagged.py"), [])
    if order == "first":
        when_imported("watched_part", told.append)
        sys.meta_path.insert(0, finder)
    else:
        sys.meta_path.insert(0, finder)
        when_imported("watched_part", told.append)
    try:
        module = importlib.import_module("watched_part")
    finally:
        sys.modules.pop("watched_part", None)
    assert told == [module]
    assert (module.value, sys.meta_path[0]) == (3, finder)
