"""What the checks and rules of the linter look on at, as the module `torchdevlint.index` that tells it.

`scripts/docs.py` writes it.
"""

from __future__ import annotations

import pkgutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from torchdevlint.flow import checks
from torchdevlint.flow.observers import told_by
from torchdevlint.rules import OURS, Rule, all_rules

HEAD = '''"""What checks and rules look on at, told without importing any of them. Written by `scripts/docs.py`.

A module is imported when something happens that it looks on at, or a fact was recorded that it has words for.
"""

'''
WIDTH = 100


def render() -> str:
    """The text of the module."""
    looking = ((name, told_by(import_module(f"{checks.__name__}.{name}")).tables) for name in check_modules())
    tables = "".join(_entry(name, keys) for name, keys in looking if keys)
    rules = "".join(_entry(each.module.rpartition(".")[2], entry(each)) for each in all_rules() if each.package is OURS)
    return f"{HEAD}CHECKS = {{\n{tables}}}\nRULES = {{\n{rules}}}\n"


def check_modules() -> list[str]:
    """The modules of the checks, by their dotted names below `torchdevlint.flow.checks`."""
    start = f"{checks.__name__}."
    modules = pkgutil.walk_packages(checks.__path__, start)
    return sorted(each.name.removeprefix(start) for each in modules if not each.ispkg)


def entry(rule: Rule) -> Mapping[str, Iterable[str]]:
    """What is told of a rule."""
    facts = [fact.__name__ for fact in rule.facts]
    own = {"SEVERITY": [rule.severity.name], **({"PREVIEW": ["yes"]} if rule.preview else {}), "FACTS": facts}
    return {**own, **told_by(import_module(rule.module)).tables}


def _entry(name: str, tables: Mapping[str, Iterable[str]]) -> str:
    return f'    "{name}": {{\n{"".join(_lines(tables))}    }},\n'


def _lines(tables: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for table, keys in tables.items():
        first, *more = textwrap.wrap(" ".join(sorted(keys)), WIDTH, break_long_words=False, break_on_hyphens=False)
        if not more:
            yield f'        "{table}": "{first}",\n'
            continue
        yield f'        "{table}": (\n            "{first}"\n'
        yield from (f'            " {line}"\n' for line in more)
        yield "        ),\n"
