"""Everything is fixed that ``torchdevlint check --fix`` would fix."""

from __future__ import annotations

import argparse

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext

from torchdevlint.codemods.applying import apply_fixes, select_option, unsafe_fixes_option


class FixDevicePlacement(CodemodCommand):
    """The fixes of the rules that the project selects, or of those that `select` does: codes, prefixes or ALL."""

    DESCRIPTION = "Fixes PyTorch device placement (the fixes of torchdevlint)."

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """The flags of the command line; libcst's name."""
        select_option(arg_parser)
        unsafe_fixes_option(arg_parser)

    def __init__(
        self, context: CodemodContext, select: tuple[str, ...] | None = None, unsafe_fixes: bool = False
    ) -> None:
        super().__init__(context)
        self.select = select
        self.unsafe_fixes = unsafe_fixes

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """The module after its fixes; libcst's name."""
        return apply_fixes(self, tree, select=self.select, unsafe_fixes=self.unsafe_fixes or None)
