"""Which packages with rules of other people are installed, told without importing any of them.

Such a package is named by an entry point of the group `GROUP`: its name is the prefix of the codes, its value the
Python package that holds the modules. What is in the modules is for `torchdevlint.rules` to read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from torchdevlint.config import ConfigError
from torchdevlint.files import code_in, content
from torchdevlint.patterns import regex

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "torchdevlint.rules"
OWN_PREFIX = "TDL"
RULES_LABEL = "Rules"
"""The label of the project URL below which the pages of a package's rules are, each under its code."""

_PREFIX = regex(r"[A-Z]{1,3}", re.ASCII)
"""flake8 takes no longer ones in its options."""
_MODULE = regex(r"\w+(\.\w+)*")


class RulePackage(Struct, frozen=True):
    """A package that holds rules: the prefix of their codes, its dotted name, and who brings it.

    `distribution` is its name and version, empty for the rules of the linter itself; `folders` are where its modules
    are, none if it cannot be found, for the reason `missing`; below `url` is a page for each rule, if it is not empty.
    """

    prefix: str
    module: str
    distribution: str = ""
    url: str = ""
    folders: tuple[str, ...] = ()
    missing: str = ""

    @property
    def described(self) -> str:
        """How it is called in a message."""
        return f"the rule package `{self.module}` of {self.distribution}"


@cache
def installed() -> tuple[RulePackage, ...]:
    """The rule packages of other people, by prefix.

    Raises ConfigError for a prefix that cannot be one, and for two packages whose codes a selector cannot tell apart.
    """
    if not any(map(_declares, _distributions())):
        return ()
    from importlib.metadata import entry_points

    found = sorted(map(_package, entry_points(group=GROUP)), key=lambda each: (each.prefix, each.distribution))
    taken = RulePackage(OWN_PREFIX, "torchdevlint.rules", "torchdevlint")
    for at, package in enumerate(found):
        for other in (taken, *found[:at]):
            if package.prefix.startswith(other.prefix) or other.prefix.startswith(package.prefix):
                raise ConfigError(
                    f"`{package.prefix}`, the prefix of {package.described}, cannot be told from `{other.prefix}`,"
                    f" that of {other.distribution}"
                )
    return tuple(found)


@cache
def stamp() -> tuple[object, ...]:
    """What all rules of other people depend on: versions, and the files as they are, which may be being written."""
    return tuple(
        (package.prefix, package.module, package.distribution, package.url, *map(_code_in, package.folders))
        for package in installed()
    )


def _code_in(folder: str) -> list[tuple[str, int, int]]:
    """A package in an archive changes with its version only."""
    try:
        return code_in(folder)
    except OSError:
        return []


def _distributions() -> Iterator[str]:
    """The folders in which what is installed describes itself.

    `importlib.metadata` takes six milliseconds to look through seventy of them, and forty to be imported; this takes
    one. So it is asked only where there is something to find.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or ".") as entries:
                yield from (entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue


def _declares(distribution: str) -> bool:
    """Whether a distribution says anything of our group."""
    try:
        return GROUP.encode() in content(f"{distribution}/entry_points.txt")
    except OSError:
        return False


def _package(entry: EntryPoint) -> RulePackage:
    """Raises ConfigError for an entry point of which nothing can be made."""
    distribution, url = "an unknown distribution", ""
    if entry.dist is not None:
        distribution = f"{entry.dist.name} {entry.dist.version}"
        labelled = (each.partition(",") for each in entry.dist.metadata.get_all("Project-URL") or ())
        url = next((found.strip() for label, _, found in labelled if label.strip() == RULES_LABEL), "")
    package = RulePackage(entry.name, entry.value, distribution, url)
    if not _PREFIX.fullmatch(entry.name) or not _MODULE.fullmatch(entry.value):
        raise ConfigError(
            f"{distribution} declares `{entry.name} = {entry.value}` in the group `{GROUP}`: the name has to be one to"
            " three capital letters, by which the codes of its rules begin, and the value a package"
        )
    folders, missing = _found(entry.value)
    return RulePackage(package.prefix, package.module, distribution, url, folders, missing)


def _found(module: str) -> tuple[tuple[str, ...], str]:
    """The folders of a package, or why there are none. Of ``a.b`` the package ``a`` is imported."""
    from importlib.util import find_spec

    try:
        spec = find_spec(module)
    except Exception as error:  # noqa: BLE001 (it is other people's code that is run)
        return (), f"{type(error).__name__}: {error}"
    if spec is None:
        return (), f"there is no module `{module}`"
    if spec.submodule_search_locations is None:
        return (), f"`{module}` is a module, and no package of modules"
    return tuple(spec.submodule_search_locations), ""
