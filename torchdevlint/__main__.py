"""``python -m torchdevlint`` is the console script.

Python puts the current folder before everything else that modules are imported from, and that folder is what is
linted: a ``json.py`` in it must not be run. So it is taken out before anything else is imported, as pylint does.
"""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]

    from torchdevlint.cli import script

    script()
