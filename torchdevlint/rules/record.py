"""What a rule is: its identity, its documentation, and its function. Not a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from torchdevlint.model import Report, Severity
from torchdevlint.patterns import regex
from torchdevlint.rule_packages import OWN_PREFIX, RulePackage, installed

EXECUTIONS = {
    "operation": "the flagged code runs with everything on an accelerator: a device error, or a result elsewhere",
    "exception": "the flagged code runs, on the machine that the rule is about: the very exception that it tells of",
    "movement": "the flagged code runs with tensors that are elsewhere: where they are after the statement",
    "registration": "the class is constructed and moved: what stays behind, or is no parameter",
    "checkpoint": "the flagged load reads a file from an accelerator on a machine without one",
    "prefix": "the flagged code runs: the keys that it saves or loads",
    "override": "the override is called, or the class constructed and moved: what it gives, and what stays as it was",
    "test": "the flagged test is asked: its answer, and the one that it would give if places could agree",
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
RAISED = regex(r"(?:[a-z]\w*\.)*[A-Z]\w*(?:Error|Warning|Iteration): ")
"""How the text of an exception begins, where documentation quotes it."""
DOCS_URL = "https://torchdevlint.readthedocs.io/en/latest/rules"

OURS = RulePackage(OWN_PREFIX, "torchdevlint.rules", "torchdevlint", DOCS_URL, (str(Path(__file__).parent),))


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
    def package(self) -> RulePackage:
        """The package that it is from."""
        return next((each for each in installed() if self.code.startswith(each.prefix)), OURS)

    @property
    def url(self) -> str:
        """Its page; empty where its package does not say where that would be."""
        base = self.package.url
        return f"{base.rstrip('/')}/{self.code}/" if base else ""


class Rule(Identity, frozen=True, dict=True):
    """One rule: its identity, its documentation, and the function that turns facts into reports."""

    module: str
    """The dotted name of the module that it is."""
    docstring: str
    """The documentation as it stands in the module."""
    facts: tuple[type, ...]
    check: Callable[[Any], Iterator[Report]]
    execution: str | None
    """How `verify` executes a finding: one of `EXECUTIONS`."""
    probe: str | None

    @cached_property
    def doc(self) -> str:
        """The documentation, with the text of each exception that it quotes on one line.

        So does PyTorch say it, and so people search for it.
        """
        from inspect import cleandoc  # which takes as long to import as a hundred rules to be told of

        lines: list[str] = []
        quoting = False
        for line in cleandoc(self.docstring).splitlines():
            text = line.removeprefix("    ")
            indented = text != line and not text.startswith(" ")
            if quoting and indented and not RAISED.match(text):
                lines[-1] += f" {text}"
                continue
            quoting = indented and (quoting or RAISED.match(text) is not None)
            lines.append(line)
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def page(self) -> str:
        """All of the documentation as markdown."""
        state = "on by default" if self.default else "off unless it is selected"
        if self.preview:
            state = "in preview: it runs with --preview only"
        of = "" if self.package is OURS else f"; of {self.package.distribution}"
        return f"# {self.code} {self.name}\n\nSeverity: {self.severity.value}, {state}{of}\n\n{self.doc}\n"

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
