"""The registry: every module here named ``tdlNNN_bad_pattern.py`` is a rule.

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

Code and name come from the file name, so they are written once.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from torchdevlint.files import content
from torchdevlint.model import Report, Severity

if typing.TYPE_CHECKING:
    from torchdevlint.flow.observers import Observers

EXECUTIONS = {
    "operation": "the flagged code runs with everything on an accelerator: a device error, or a result elsewhere",
    "exception": "the flagged code runs, on the machine that the rule is about: the very exception that it tells of",
    "movement": "the flagged code runs with tensors that are elsewhere: where they are after the statement",
    "registration": "the class is constructed and moved: what stays behind, or is no parameter",
    "checkpoint": "the flagged load reads a file from an accelerator on a machine without one",
    "prefix": "the flagged code runs: the keys that it saves or loads",
    "environment": "the flagged assignment runs after what comes before it: the devices that are seen then",
}
HEADINGS = (
    "What it does",
    "Why is this bad?",
    "Example",
    "Use instead",
    "Fix safety",
    "What it cannot see",
    "References",
)
DOCS_URL = "https://torchdevlint.readthedocs.io/en/latest/rules"

RAISED = re.compile(r"(?:[a-z]\w*\.)*[A-Z]\w*(?:Error|Warning|Iteration): ")
"""How the text of an exception begins, where documentation quotes it."""

_FILE = re.compile(r"tdl(\d{3})_(\w+)$")
_SEVERITY = re.compile(r"^SEVERITY = Severity\.(\w+)$", re.MULTILINE)
_PREVIEW = re.compile(r"^PREVIEW = True$", re.MULTILINE)


class Identity(Struct, frozen=True, dict=True):
    """What a rule is called, and when it is on."""

    code: str
    name: str
    severity: Severity
    preview: bool
    """Not yet judged on enough real code: runs only with ``--preview``."""

    @property
    def default(self) -> bool:
        """Whether the rule is on without being asked for, once it is out of preview."""
        return self.severity is not Severity.ADVICE

    @property
    def url(self) -> str:
        return f"{DOCS_URL}/{self.code}/"


class Rule(Identity, frozen=True, dict=True):
    """One rule: its identity, its documentation, and the function that turns facts into reports."""

    doc: str
    facts: tuple[type, ...]
    check: Callable[[typing.Any], Iterator[Report]]
    execution: str | None
    """How `verify` executes a finding: one of `EXECUTIONS`."""
    probe: str | None

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def page(self) -> str:
        """All of the documentation as markdown."""
        state = "on by default" if self.default else "off unless it is selected"
        if self.preview:
            state = "in preview: it runs with --preview only"
        return f"# {self.code} {self.name}\n\nSeverity: {self.severity.value}, {state}\n\n{self.doc}\n"

    def sections(self) -> dict[str, str]:
        """The documentation by heading; the text before the first heading is under ``""``."""
        parts: dict[str, list[str]] = {"": []}
        current = parts[""]
        for line in self.doc.splitlines():
            if line.startswith("## "):
                current = parts.setdefault(line[3:].strip(), [])
            else:
                current.append(line)
        return {heading: "\n".join(lines).strip() for heading, lines in parts.items()}


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code.

    Raises ValueError for a module that is not a whole rule, before anything is linted.
    """
    return tuple(_rule(name) for name in _modules())


@cache
def identities() -> tuple[Identity, ...]:
    """What every rule is called, sorted by code, read from the text of its module where that is at hand.

    A run in which nothing has changed needs no more, and is over in the time that importing the rules would take.
    """
    try:
        return tuple(_identity(name) for name in _modules())
    except (OSError, ValueError):
        return all_rules()


def _modules() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if _FILE.match(info.name))


def _identity(module_name: str) -> Identity:
    """Raises OSError and ValueError where the text is not to be had or does not say it."""
    text = content(Path(__file__).parent / f"{module_name}.py").decode()
    severity = _SEVERITY.search(text)
    if severity is None:
        raise ValueError(module_name)
    number, words = _parts(module_name)
    return Identity(
        f"TDL{number}", words.replace("_", "-"), Severity[severity[1]], preview=_PREVIEW.search(text) is not None
    )


def _parts(module_name: str) -> tuple[str, str]:
    """The number and the words in the name of a module."""
    match = _FILE.match(module_name)
    assert match is not None
    return match[1], match[2]


@cache
def identified() -> dict[str, Identity]:
    """What every rule is called, by code."""
    return {rule.code: rule for rule in identities()}


@cache
def by_code() -> dict[str, Rule]:
    return {rule.code: rule for rule in all_rules()}


@cache
def by_fact() -> dict[type, tuple[Rule, ...]]:
    """The rules that subscribe to each type of fact, in order of their codes."""
    table: dict[type, list[Rule]] = {}
    for rule in all_rules():
        for fact in rule.facts:
            table.setdefault(fact, []).append(rule)
    return {fact: tuple(rules) for fact, rules in table.items()}


@cache
def facts_of(codes: frozenset[str]) -> frozenset[type]:
    """What the rules with these codes subscribe to."""
    return frozenset(fact for rule in all_rules() if rule.code in codes for fact in rule.facts)


@cache
def observers(codes: frozenset[str]) -> Observers:
    """Who looks on at the run of a file for the rules with these codes: all checks, and those of the rules that do."""
    from torchdevlint.flow.observers import observers_of

    return observers_of(sys.modules[rule.check.__module__] for rule in all_rules() if rule.code in codes)


def raising(error: BaseException) -> Identity | None:
    """The rule that raised an exception while it looked on, itself or in what it called; None if none did."""
    traceback, held = error.__traceback__, None
    modules = {f"{__name__}.{name}": name for name in _modules()}
    while traceback is not None:
        held = modules.get(traceback.tb_frame.f_globals.get("__name__", ""), held)
        traceback = traceback.tb_next
    return None if held is None else identified()[f"TDL{_parts(held)[0]}"]


def find(key: str) -> Identity | None:
    """The rule with this code (any case) or name."""
    return next((rule for rule in identities() if key.upper() == rule.code or key == rule.name), None)


def _rule(module_name: str) -> Rule:
    module = importlib.import_module(f"{__name__}.{module_name}")
    number, words = _parts(module_name)
    missing = [name for name in ("SEVERITY", "EXECUTION", "PROBE", "check", "__doc__") if not hasattr(module, name)]
    if missing or not module.__doc__:
        raise ValueError(f"{module_name} lacks {', '.join(missing) or 'a docstring'}")
    if not isinstance(module.SEVERITY, Severity):
        raise ValueError(f"{module_name}: SEVERITY is no Severity: {module.SEVERITY!r}")
    if module.EXECUTION is not None and module.EXECUTION not in EXECUTIONS:
        raise ValueError(f"{module_name}: EXECUTION is none of {', '.join(EXECUTIONS)}: {module.EXECUTION!r}")
    hint = typing.get_type_hints(module.check)["fact"]
    facts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return Rule(
        code=f"TDL{number}",
        name=words.replace("_", "-"),
        severity=module.SEVERITY,
        doc=_unwrapped(inspect.cleandoc(module.__doc__)),
        facts=facts,
        check=module.check,
        execution=module.EXECUTION,
        probe=module.PROBE,
        preview=getattr(module, "PREVIEW", False),
    )


def _unwrapped(doc: str) -> str:
    """`doc` with the text of each exception that it quotes on one line, as PyTorch says it and people search for it."""
    lines: list[str] = []
    quoting = False
    for line in doc.splitlines():
        text = line.removeprefix("    ")
        indented = text != line and not text.startswith(" ")
        if quoting and indented and not RAISED.match(text):
            lines[-1] += f" {text}"
            continue
        quoting = indented and (quoting or RAISED.match(text) is not None)
        lines.append(line)
    return "\n".join(lines)
