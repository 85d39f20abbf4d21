"""Scripts that have commands: what a failure prints, and how it ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from corpus import CorpusError


def write_or_check(
    description: str | None,
    script: str,
    write: Callable[[argparse.Namespace], int],
    check: Callable[[argparse.Namespace], int],
) -> int:
    """Run the one of these two commands that the command line names; `description` is the text of its help."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("write").set_defaults(run=write)
    commands.add_parser("check").set_defaults(run=check)
    return execute(script, parser.parse_args())


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
