"""Scripts that have commands: what a failure prints, and how it ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from corpus import CorpusError


def execute(script: str, options: argparse.Namespace) -> int:
    """Run the chosen command, ``options.run``, and give its exit code: 2 if it could not work, 130 if interrupted."""
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (CorpusError, OSError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
