"""Checkpoints are read to the CPU."""

from __future__ import annotations

import argparse

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext

from torchdevlint.codemods.applying import apply_fixes, unsafe_fixes_option

CODE = "TDL201"


class AddMapLocation(CodemodCommand):
    """The fixes of TDL201, whatever the project selects and lets be fixed."""

    DESCRIPTION = 'Adds map_location="cpu" to torch.load(..) where it is missing (TDL201 of torchdevlint).'

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """The flags of the command line; libcst's name."""
        unsafe_fixes_option(arg_parser)

    def __init__(self, context: CodemodContext, unsafe_fixes: bool = False) -> None:
        super().__init__(context)
        self.unsafe_fixes = unsafe_fixes

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """The module after its fixes; libcst's name."""
        only = (CODE,)
        return apply_fixes(
            self, tree, select=only, ignore=(), fixable=only, unfixable=(), unsafe_fixes=self.unsafe_fixes
        )
