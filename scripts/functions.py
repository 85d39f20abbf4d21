"""The functions of the modules that are executed on their first call, as the module `torchdevlint.functions`.

`scripts/docs.py` writes it.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

HEAD = '''"""The public functions of modules, told without executing any of them. Written by `scripts/docs.py`.

See `torchdevlint.deferred`. A module without an entry is imported as any other is.
"""

ONCE_A_NODE = "@"
"""What the name of a function with this decorator begins with here."""

'''
WIDTH = 109
LONGEST = 120
ASIDE = (
    *("codemods", "explain", "integrations", "libcst", "runtime", "symptoms", "api", "beliefs", "rule_api"),
    *("__main__", "deferred", "functions", "garbage", "source/nodes"),
    "rules/tdl",
)
"""What `check` imports nothing of; what is needed for deferring; and rules, which are imported to be executed."""


def render(package: Path) -> str:
    """The text of the module."""
    files = sorted(package.rglob("*.py"))
    entries = "".join(_entry(file, package) for file in files if _counts(file, package))
    return f"{HEAD}FUNCTIONS = {{\n{entries}}}\n"


def _counts(file: Path, package: Path) -> bool:
    return file.name != "__init__.py" and not file.relative_to(package).as_posix().startswith(ASIDE)


def _entry(file: Path, package: Path) -> str:
    name = ".".join(file.relative_to(package).with_suffix("").parts)
    functions = " ".join(functions_in(file))
    line = f'    "{name}": "{functions}",\n'
    if len(line) <= LONGEST:
        return line
    first, *more = textwrap.wrap(functions, WIDTH)
    lines = "".join(f'        " {each}"\n' for each in more)
    return f'    "{name}": (\n        "{first}"\n{lines}    ),\n'


def functions_in(file: Path) -> Iterator[str]:
    """The public functions of a module that are plain, or kept with nodes: whose code can be given to others."""
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            decorators = [ast.unparse(each) for each in node.decorator_list]
            if decorators in ([], ["once_a_node"]):
                yield f"@{node.name}" if decorators else node.name
