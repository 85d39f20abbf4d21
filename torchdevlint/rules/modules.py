"""From the modules of a package to its rules: what they are called, and what they are. Not a rule."""

from __future__ import annotations

import importlib
import re
import types
import typing
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from torchdevlint import index
from torchdevlint.config import ConfigError
from torchdevlint.files import content
from torchdevlint.model import Severity
from torchdevlint.patterns import regex
from torchdevlint.rule_packages import RulePackage
from torchdevlint.rules.record import EXECUTIONS, OURS, Identity, Rule

_FILE = regex(r"([a-z]+)(\d{3})_(\w+)$")
_SEVERITY = regex(r"\nSEVERITY = Severity\.(\w+)$", re.MULTILINE)
_PREVIEW = regex(r"\nPREVIEW = True$", re.MULTILINE)
"""They begin with something literal, which is found much faster than the beginning of a line."""


class Home(Struct, frozen=True):
    """Where a rule is written: its package, and its module there, by whose name it is called."""

    package: RulePackage
    module: str
    code: str
    name: str

    @property
    def path(self) -> str:
        """The dotted name of the module."""
        return f"{self.package.module}.{self.module}"


def _home(package: RulePackage, module: str) -> Home | None:
    """None for a module that is not named as a rule is. Raises ConfigError for a code of another prefix."""
    match = _FILE.match(module)
    if match is None:
        return None
    prefix, number, words = match.groups()
    if prefix != package.prefix.lower():
        raise ConfigError(
            f"{package.described} has a module `{module}`, but the codes of its rules begin with `{package.prefix}`"
        )
    return Home(package, module, f"{package.prefix}{number}", words.replace("_", "-"))


@cache
def homes(package: RulePackage) -> tuple[Home, ...]:
    """The rules of a package, in order.

    Raises ConfigError for a code of another prefix than that of the package, and for one that two modules have.
    """
    import pkgutil

    found: dict[str, Home] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(package.folders)):
        home = _home(package, module)
        if home is None:
            continue
        if home.code in found:
            both = f"`{found[home.code].module}` and `{module}`"
            raise ConfigError(f"{package.described} has two rules of the code {home.code}: {both}")
        found[home.code] = home
    return tuple(found.values())


def home_in_index(module: str) -> Home:
    """Where one of our rules is written. Its name is taken apart by hand, since a pattern would have to be compiled."""
    code, _, words = module.partition("_")
    return Home(OURS, module, code.upper(), words.replace("_", "-"))


def identity_in_index(home: Home) -> Identity:
    """What one of our rules is called."""
    entry = index.RULES[home.module]
    return Identity(home.code, home.name, Severity[entry["SEVERITY"]], preview="PREVIEW" in entry)


def facts_in_index(home: Home) -> tuple[str, ...]:
    """The names of the facts that one of our rules subscribes to."""
    return tuple(index.RULES[home.module]["FACTS"].split())


def identity_of(home: Home) -> Identity:
    """What a rule is called, from the text of its module.

    Raises OSError and ValueError where the text is not to be had or does not say it.
    """
    *others, last = (Path(folder, f"{home.module}.py") for folder in home.package.folders)
    text = content(next(filter(Path.exists, others), last)).decode()
    severity = _SEVERITY.search(text)
    if severity is None:
        raise ValueError(home.module)
    return Identity(home.code, home.name, Severity[severity[1]], preview=_PREVIEW.search(text) is not None)


def rule_of(home: Home) -> Rule:
    """The rule that a module is. Raises ValueError, or whatever the module raises when it is imported."""
    module = importlib.import_module(home.path)
    missing = [name for name in ("SEVERITY", "EXECUTION", "PROBE", "check", "__doc__") if not hasattr(module, name)]
    if missing or not module.__doc__:
        raise ValueError(f"{home.module} lacks {', '.join(missing) or 'a docstring'}")
    if not isinstance(module.SEVERITY, Severity):
        raise ValueError(f"{home.module}: SEVERITY is no Severity: {module.SEVERITY!r}")
    if module.EXECUTION is not None and module.EXECUTION not in EXECUTIONS:
        raise ValueError(f"{home.module}: EXECUTION is none of {', '.join(EXECUTIONS)}: {module.EXECUTION!r}")
    if "\n## What it does\n" not in module.__doc__:
        raise ValueError(f"{home.module} has no heading `## What it does`")
    for name in ("FUNCTIONS", "METHODS", "WORDS"):
        if not all(isinstance(key, str) for key in getattr(module, name, ())):
            raise ValueError(f"{home.module}: {name} has to hold strings")
    hint = _annotation(module, "fact")
    facts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if not all(isinstance(fact, type) for fact in facts):
        raise ValueError(f"{home.module}: the annotation of the argument `fact` of `check` has to be a class")
    return Rule(
        code=home.code,
        name=home.name,
        severity=module.SEVERITY,
        module=home.path,
        docstring=module.__doc__,
        facts=facts,
        check=module.check,
        execution=module.EXECUTION,
        probe=module.PROBE,
        preview=getattr(module, "PREVIEW", False),
    )


def _annotation(module: types.ModuleType, argument: str) -> Any:
    """What an argument of `check` is annotated as. (`typing.get_type_hints` takes ten times as long.)"""
    hint = module.check.__annotations__.get(argument)
    return eval(hint, vars(module)) if isinstance(hint, str) else hint  # noqa: S307 (it is what Python would do)
