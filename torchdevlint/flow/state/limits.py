"""How much is run for one file, at most: what is beyond stays unknown, and unknown is silent."""

from __future__ import annotations

import ast

from torchdevlint.source.functions import functions_in

MAX_DEPTH = 6
"""How many calls deep functions of the file are followed."""
MANY_RUNS = 6
"""A body that was run so often is run for what kind of literals it is given, no longer for each literal."""
MAX_CALLS = 600
"""How many function bodies are run for one file, in all; what is beyond stays unknown."""
CALLS_A_FUNCTION = 8
"""How many for each function that a long file defines: its end is followed as its beginning is."""
MAX_CALLS_ELSEWHERE = 120
"""How many of other files besides."""
MAX_STATEMENTS_ELSEWHERE = 300
"""After so many statements of other files, no further function of theirs is begun."""
MAX_CREATIONS = 100
"""So many places where a tensor was made are remembered, each of which may become a finding."""


def calls_followed(tree: ast.Module) -> int:
    """How many function bodies are run for a file."""
    functions = len(functions_in(tree))
    return max(MAX_CALLS, CALLS_A_FUNCTION * functions)
