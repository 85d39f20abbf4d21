"""What the codemods share: the settings of a file, its fixes, and the flags.

A fix is an edit of the text, and the result is parsed anew: a fix made of nodes would be a second definition of it.
"""

from __future__ import annotations

import argparse
from typing import Any

import libcst as cst
from libcst.codemod import Codemod, SkipFile

from torchdevlint import select
from torchdevlint.config import ConfigError, Settings, overlay
from torchdevlint.discover import excluded
from torchdevlint.fix.choice import is_applicable
from torchdevlint.fix.text import fix_bytes
from torchdevlint.libcst.origin import Origin
from torchdevlint.source.text import decode, encoded


def apply_fixes(codemod: Codemod, tree: cst.Module, **flags: Any) -> cst.Module:
    """The module after all fixes under the settings of its file, overlaid by `flags`; the same one if there are none.

    Raises SkipFile, which libcst reports with the file, for one that the settings exclude, and for settings that cannot
    be used.
    """
    origin = Origin(codemod.context.filename)
    try:
        settings = overlay(origin.resolved(), **flags)
    except ConfigError as error:
        raise SkipFile(str(error)) from error
    if origin.filename is not None and excluded(origin.filename, settings):
        raise SkipFile("excluded by the settings of torchdevlint")
    fixed = fix_bytes(encoded(tree.code), origin.name, settings)
    for problem in fixed.result.problems:
        codemod.warn(problem.message)
    unsafe = sum(is_applicable(each, settings, unsafe=True) for each in fixed.result.diagnostics)
    if unsafe and not settings.unsafe_fixes:
        codemod.warn(f"{unsafe} {'fix is' if unsafe == 1 else 'fixes are'} unsafe and not applied (--unsafe-fixes)")
    if not fixed.applied:
        return tree
    return cst.parse_module(decode(fixed.content), config=tree.config_for_parsing)


def unsafe_fixes_option(parser: argparse.ArgumentParser) -> None:
    """The flag of the same name of ``torchdevlint check``."""
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="Also apply fixes that may change what right code does."
    )


def select_option(parser: argparse.ArgumentParser) -> None:
    """The flag of the same name of ``torchdevlint check``."""
    parser.add_argument(
        "--select", type=_codes, metavar="CODES", help="Rules to fix, instead of the project's: codes, prefixes or ALL."
    )


def _codes(text: str) -> tuple[str, ...]:
    codes = tuple(code.strip() for code in text.split(",") if code.strip())
    try:
        select.check(Settings(select=codes))
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return codes
