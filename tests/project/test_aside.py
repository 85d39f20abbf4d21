"""Files that cannot be parsed: advice where nothing imports them and they have no word of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_application import application
from tests.project.test_ways import found, inside

__all__ = ["inside"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"plot": "limits = [-,-]\n"}, []),
        ({"plot": "limits = [-,-]\n", "main": "from plot import limits\n"}, ["plot.py:TDL901"]),
        ({"plot": "import torch\nlimits = [-,-]\n"}, ["plot.py:TDL901"]),
        ({"tempCodeRunnerFile": "    import torch\nlimits = 1\n"}, []),
    ],
)
def test_what_nothing_imports(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    root = application(tmp_path, **files)
    (root / "README.md").write_text("# Plots\n")
    assert found(root) == expected
    assert [each for each in found(root, "TDL901") if each.endswith("TDL901")]
