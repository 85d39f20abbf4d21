"""flake8 with the plugins of the named distributions alone: ``lone_flake8.py flake8,torchdevlint ARGUMENT...``

Whatever else is installed could take most of the time.
"""

from __future__ import annotations

import sys
from importlib import metadata

if __name__ == "__main__":
    from flake8.main.cli import main

    kept = sys.argv.pop(1).split(",")
    installed = metadata.distributions
    metadata.distributions = lambda **how: (  # type: ignore[assignment]
        each for each in installed(**how) if each.metadata["name"] in kept
    )
    raise SystemExit(main())
