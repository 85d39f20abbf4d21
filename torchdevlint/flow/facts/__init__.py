"""What the inference hands to the rules: plain frozen records, each a claim about one place in one file.

One module a subject; `common` holds what they share. A fact is recorded only when it is sure in the world that the user
cares about, where an accelerator is there. A rule turns a fact into a `Report`, or stays silent; it never sees a syntax
tree.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from torchdevlint.flow.facts.common import Fact


@cache
def all_facts() -> dict[str, type[Fact]]:
    """Every kind of fact by name, in order."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    found = {name: each for module in modules for name, each in vars(module).items() if _is_fact(each)}
    return dict(sorted(found.items()))


def _is_fact(each: object) -> bool:
    return isinstance(each, type) and issubclass(each, Fact) and each is not Fact
