"""A libcst module as the `ast.Module` that Python would have made of it, positions included.

Only files that the running interpreter's `ast` refuses come here, such as those written for a later Python, so this
favours plainness over speed. What the interpreter's `ast` has no class for becomes what it amounts to: ``type X = int``
an assignment, a template string an f-string; type parameters are dropped.
"""

from __future__ import annotations

import ast

import libcst as cst

from torchdevlint.syntax import convert_strings
from torchdevlint.syntax.convert_statements import body
from torchdevlint.syntax.places import Places

convert_strings.register()


def convert(module: cst.Module, text: str) -> ast.Module:
    """The tree of `text`, which libcst read as `module`.

    Raises RecursionError where the module is too deep.
    """
    return ast.Module(body=body(module.body, Places(module, text)), type_ignores=[])
