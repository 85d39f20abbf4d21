"""The registry: every module here named ``tdlNNN_bad_pattern.py`` is a rule, and so are those of installed packages.

A rule module consists of a docstring with the headings of `HEADINGS`, and of

* ``SEVERITY``: what kind of finding it is; advice rules are off by default.
* ``PROBE``: the smallest program that shows the rule's claim, as source (see `torchdevlint.runtime`), or None where
  there is nothing to run.
* ``EXECUTION``: how `verify` executes a finding, one of `EXECUTIONS`, or None where there is nothing to run.
* ``PREVIEW = True``, if it is not yet to run without ``--preview``; left out otherwise.
* ``check(fact: SomeFact)``: yields a `Report` for each finding. The annotation of ``fact`` is the subscription; a
  union subscribes to several facts.

A rule that nobody else's facts serve looks on for itself: it defines the fact, and the tables of
`torchdevlint.flow.observers` (``EVENTS``, ``FUNCTIONS``, ``METHODS``) by which it records it.

Code and name come from the file name, so they are written once. What a run has to know of a rule before anything
happens that concerns it is in `torchdevlint.index` as well, so that most rules are not imported.

Rules of other people (`torchdevlint.rule_packages`) are modules of the same form, with a prefix of their own in the
place of ``tdl``. One of them may also have ``WORDS``, of which a file has to say one to be of interest to it, besides
what its tables name. A module of theirs that is no rule, or cannot be imported, is a problem of the run, and all others
hold; one of ours raises.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from torchdevlint import index
from torchdevlint.model import Problem
from torchdevlint.rule_packages import OWN_PREFIX, RulePackage, installed
from torchdevlint.rules.modules import (
    Home,
    facts_in_index,
    home_in_index,
    homes,
    identity_in_index,
    identity_of,
    rule_of,
)
from torchdevlint.rules.record import DOCS_URL, EXECUTIONS, HEADINGS, OURS, RAISED, Identity, Rule

if TYPE_CHECKING:
    from torchdevlint.flow.observers import Observers

__all__ = [
    "DOCS_URL",
    "EXECUTIONS",
    "HEADINGS",
    "OURS",
    "RAISED",
    "Identity",
    "Rule",
    "all_rules",
    "by_code",
    "facts_of",
    "find",
    "identified",
    "identities",
    "observers",
    "prefixes",
    "raising",
    "subscribers",
    "unusable",
    "usable",
    "words",
]


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule that can be used, sorted by code.

    Raises ValueError for a module of ours that is not a whole rule, and ConfigError for packages of others that
    exclude each other, before anything is linted.
    """
    ours = map(rule_of, homes(OURS))
    return tuple(sorted(chain(ours, *(_loaded(each)[0] for each in installed())), key=lambda rule: rule.code))


@cache
def identities() -> tuple[Identity, ...]:
    """What every rule is called, sorted by code; no rule of ours is imported for it.

    Rules of others are among them that turn out to be unusable. Raises ConfigError as `all_rules` does.
    """
    ours = map(identity_in_index, _ours().values())
    return tuple(sorted(chain(ours, *map(_identities, installed())), key=lambda rule: rule.code))


def unusable() -> tuple[Problem, ...]:
    """What of the installed packages cannot be used, which is told once all the others have been imported."""
    return tuple(chain.from_iterable(_loaded(each)[1] for each in installed()))


def usable(codes: frozenset[str]) -> frozenset[str]:
    """Those of the rules `codes` that can be used."""
    return codes.intersection(by_code()) if installed() else codes


@cache
def prefixes() -> tuple[str, ...]:
    """What the codes of rules begin with."""
    return (OWN_PREFIX, *(each.prefix for each in installed()))


@cache
def words(codes: frozenset[str]) -> tuple[bytes, ...]:
    """What a file may say, in lower case, that is of interest to rules of others, beyond what is so to ours."""
    found: set[str] = set()
    for rule in all_rules() if installed() else ():
        if rule.code in codes and rule.package is not OURS:
            module = sys.modules[rule.module]
            roots = (name.partition(".")[0] for name in getattr(module, "FUNCTIONS", ()))
            found.update((rule.code, *roots, *getattr(module, "METHODS", ()), *getattr(module, "WORDS", ())))
    return tuple(sorted(word.lower().encode() for word in found))


@cache
def _loaded(package: RulePackage) -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    """The rules of a package of other people, and what of it cannot be used."""
    if package.missing:
        return (), (Problem(None, f"{package.described} cannot be found: {package.missing}"),)
    try:
        importlib.import_module(package.module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (it is other people's code)
        return (), (Problem(None, f"{package.described} cannot be imported: {_described(error)}"),)
    found, problems = [], []
    for home in homes(package):
        try:
            found.append(rule_of(home))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            said = f"rule {home.code} ({home.name}) of {package.distribution} cannot be used: {_described(error)}"
            problems.append(Problem(None, said, home.code))
    if not found and not problems:
        problems.append(Problem(None, f"{package.described} has no module named as a rule is"))
    return tuple(found), tuple(problems)


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _identities(package: RulePackage) -> Iterable[Identity]:
    """What the rules of a package of other people are called, from the text of its modules where that is at hand."""
    try:
        return [identity_of(home) for home in homes(package)]
    except (OSError, ValueError):
        return _loaded(package)[0]


@cache
def _ours() -> dict[str, Home]:
    """Where our rules are written, by code."""
    return {home.code: home for home in map(home_in_index, index.RULES)}


@cache
def _rule(code: str) -> Rule | None:
    """The rule with a code, if it can be used; none of ours but that one is imported for it."""
    home = _ours().get(code)
    if home is not None:
        return rule_of(home)
    return next((rule for package in installed() for rule in _loaded(package)[0] if rule.code == code), None)


@cache
def identified() -> dict[str, Identity]:
    """What every rule is called, by code."""
    return {rule.code: rule for rule in identities()}


@cache
def by_code() -> dict[str, Rule]:
    return {rule.code: rule for rule in all_rules()}


@cache
def subscribers(codes: frozenset[str], kind: type) -> tuple[Rule, ...]:
    """Those of the rules `codes` that subscribe to a kind of facts, in order of their codes."""
    told = (_rule(code) for code, facts in _facts(codes).items() if kind.__name__ in facts)
    return tuple(rule for rule in told if rule is not None and kind in rule.facts)


@cache
def facts_of(codes: frozenset[str]) -> frozenset[str]:
    """The names of what the rules with these codes subscribe to."""
    return frozenset(chain.from_iterable(_facts(codes).values()))


@cache
def _facts(codes: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The names of the facts that each of the rules subscribes to, by code."""
    found = {code: facts_in_index(home) for code, home in _ours().items() if code in codes}
    others = (rule for package in installed() for rule in _loaded(package)[0] if rule.code in codes)
    found.update((rule.code, tuple(fact.__name__ for fact in rule.facts)) for rule in others)
    return dict(sorted(found.items()))


@cache
def observers(codes: frozenset[str]) -> Observers:
    """Who looks on at the run of a file for the rules with these codes: all checks, and those of the rules that do."""
    from torchdevlint.flow.observers import Observers, told_by, told_by_index

    ours = (told_by_index(home.path, index.RULES[home.module]) for code, home in _ours().items() if code in codes)
    others = (rule for package in installed() for rule in _loaded(package)[0] if rule.code in codes)
    return Observers((*ours, *(told_by(sys.modules[rule.module]) for rule in others)))


def raising(error: BaseException) -> Identity | None:
    """The rule that raised an exception while it looked on, itself or in what it called; None if none did."""
    traceback, held = error.__traceback__, None
    modules = {rule.module: rule for rule in all_rules()}
    while traceback is not None:
        held = modules.get(traceback.tb_frame.f_globals.get("__name__", ""), held)
        traceback = traceback.tb_next
    return held


def find(key: str) -> Identity | None:
    """The rule with this code (any case) or name; of several with one name, that of ours."""
    found = [rule for rule in identities() if key.upper() == rule.code or key == rule.name]
    return min(found, key=lambda rule: rule.package is not OURS, default=None)
