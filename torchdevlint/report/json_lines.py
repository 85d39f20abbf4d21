"""The objects of the json format, one a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from torchdevlint.report.json import to_dict

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look


def render(run: Run, _look: Look) -> str:
    return "".join(f"{json.dumps(to_dict(diagnostic))}\n" for diagnostic in run.diagnostics)
