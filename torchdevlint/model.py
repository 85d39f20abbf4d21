"""The plain data that every layer exchanges: spans, reports, diagnostics, problems.

Everything here is frozen, hashable and picklable, and knows nothing of syntax trees, files or torch.
Rows and columns are 1-based; columns count code points; an end column is exclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import chain
from typing import Annotated

from msgspec import Meta, Struct

FromOne = Annotated[int, Meta(ge=1)]
"""A number that counts from one, which is looked at where it is read from a file."""


class Frozen(Struct, frozen=True, eq=False):
    """Base of records that are never compared, in modules that may be compiled.

    mypyc drops the options of a class, so they are inherited, and compiled code tells such records apart by identity.
    """


class Severity(str, Enum):
    """How bad a finding is; `advice` rules are off by default."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class Applicability(str, Enum):
    """Whether a fix is applied by ``--fix`` (safe), by ``--unsafe-fixes`` (unsafe), or only shown (display)."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Span(Struct, frozen=True, order=True):
    """A region of one file: 1-based rows and code-point columns, the end column exclusive.

    `file` is empty for the file that is linted, else the absolute path of the other file of the project that it lies
    in.
    """

    row: FromOne
    column: FromOne
    end_row: FromOne
    end_column: FromOne
    file: str = ""


class Edit(Struct, frozen=True):
    """Replace the text of `span`, which is in that cell of a notebook, with `content`."""

    content: str
    span: Span
    cell: int | None = None


class Fix(Struct, frozen=True):
    """Edits against one text of one file, applied all or not at all."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


class Note(Struct, frozen=True):
    """A second place that explains a report: where a tensor was created, where the other side was moved."""

    message: str
    span: Span


class Belief(Struct, frozen=True):
    """What the inference holds one expression to be, or what a name is bound to; `text` is its source.

    `kind` is a word such as ``tensor``, ``module``, ``optimizer``, ``device``, ``number``, ``container``, ``function``
    or ``unknown``, and `description` all that is known in one line. `device` is a place in words, None where it is not
    known or there is none; `dimensions` a number in words. `notes` say where it was made and moved, in this order.
    Where it depends on the branch, the call or the round of a loop, `alternatives` tell each, with `when` it is so. If
    the kind, or the place of something that has one, is not known, `unknown_because` says which call, argument,
    attribute or limit ended the knowledge, and where. `assigned` is true of targets and parameters.
    """

    span: Span
    text: str
    kind: str
    description: str
    device: str | None = None
    dimensions: str | None = None
    notes: tuple[Note, ...] = ()
    alternatives: tuple[Belief, ...] = ()
    unknown_because: Note | None = None
    assigned: bool = False
    when: str = ""
    cell: int | None = None


class Report(Struct, frozen=True):
    """What a rule says about one fact, before it is given a file, a severity and a code.

    `symptom` is what the user sees at run time (the exact exception text, or the silent effect) and `help` what to do.
    `severity` is that of the rule unless one is given; with `advice_in_tests` it is advice in the files of tests. What
    is advice is reported only where the rule is selected by name. Reports of one rule with one `cause` are one finding,
    at the first of them.
    """

    span: Span
    message: str
    symptom: str
    help: str
    notes: tuple[Note, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    advice_in_tests: bool = False
    cause: str = ""


class Related(Struct, frozen=True):
    """A `Note` that knows its file, and its cell if that is the notebook of the finding."""

    message: str
    filename: str
    span: Span
    cell: int | None = None


class Diagnostic(Struct, frozen=True):
    """One finding as every output format sees it.

    `filename` is as given on the command line, with ``/``; `cell` the 1-based notebook cell or None;
    `noqa_row` the row on which a ``# noqa`` comment would suppress it; `cause` is that of its report, `also` the end of
    the message that names the further lines of this cause.
    """

    filename: str
    span: Span
    code: str
    name: str
    message: str
    severity: Severity
    symptom: str
    help: str
    url: str
    noqa_row: int
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    cell: int | None = None
    cause: str = ""
    also: str = ""

    @property
    def line(self) -> str:
        """Where it starts, in words: ``line 3``, ``line 3 of cell 2``."""
        return f"line {self.span.row}" + (f" of cell {self.cell}" if self.cell else "")

    @property
    def is_answer(self) -> bool:
        """Whether it only answers what a comment asks for, so that nothing fails for it."""
        return self.code == "TDL903"

    @property
    def sort_key(self) -> tuple[str, int, Span, str, str]:
        """Order of every output: file, cell, place, code, message."""
        return (self.filename, self.cell or 0, self.span, self.code, self.message)


class Problem(Struct, frozen=True, order=True):
    """Something that kept the tool from doing its job; any of them makes the exit code 2.

    `filename` is None for a problem of the run as a whole; `rule` names the rule that raised, if one did.
    """

    filename: str | None
    message: str
    rule: str | None = None


class FileResult(Struct, frozen=True):
    """What linting one file gave: findings (sorted), problems, and how many findings a ``# flake8: noqa`` silenced.

    `unread` is a file that no Python of today has to run, about which nothing else can be said; `unasked` are the codes
    of the findings that are advice here although their rules are not, and so are reported only where these are selected
    by name.
    """

    filename: str
    diagnostics: tuple[Diagnostic, ...] = ()
    problems: tuple[Problem, ...] = ()
    silenced: int = 0
    unread: bool = False
    unasked: tuple[str, ...] = ()


class Run(Struct, frozen=True, dict=True):
    """What linting several files gave: a result for each, in order of their names, and every problem."""

    results: tuple[FileResult, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, sorted by file and place."""
        return tuple(chain.from_iterable(result.diagnostics for result in self.results))

    @property
    def files(self) -> int:
        return len(self.results)


def run_of(results: Sequence[FileResult], problems: Sequence[Problem] = ()) -> Run:
    """A run of these results, with problems of its own before those of the files."""
    said = dict.fromkeys(chain(problems, *(result.problems for result in results)))
    return Run(tuple(results), tuple(said))
