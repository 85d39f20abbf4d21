"""How much is run for one file, at most: what is beyond stays unknown, and unknown is silent."""

MAX_DEPTH = 6
"""How many calls deep functions of the file are followed."""
MANY_RUNS = 6
"""A body that was run so often is run for what kind of literals it is given, no longer for each literal."""
MAX_CALLS = 600
"""How many function bodies are run for one file, in all; what is beyond stays unknown."""
MAX_CALLS_ELSEWHERE = 120
"""How many of other files besides."""
MAX_STATEMENTS_ELSEWHERE = 300
"""After so many statements of other files, no further function of theirs is begun."""
