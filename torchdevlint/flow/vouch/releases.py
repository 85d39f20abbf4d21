"""Whether the torch that a project asks for has what a fix writes. All fixes of all rules go through here."""

from __future__ import annotations

from msgspec.structs import replace

from torchdevlint.flow.knowledge.releases import SINCE, Since
from torchdevlint.model import Applicability, Fix, Report
from torchdevlint.project.releases import OLDEST, Asked, torch_of
from torchdevlint.project.uses import Project


def with_what_is_there(report: Report, text: str, project: Project | None) -> Report:
    """A report on a file with this `text`, without a fix that the project's torch does not understand, but with words.

    Where only some of the releases that are admitted understand it, the fix is not safe.
    """
    if report.fix is None or project is None:
        return report
    needed = _needed(report.fix, text)
    if needed is None:
        return report
    asked = torch_of(project)
    if asked.most < needed.release:
        return replace(report, fix=None, help=f"{report.help}; {_missing(needed, asked)}")
    if asked.least != OLDEST and asked.least < needed.release:
        return replace(report, fix=replace(report.fix, applicability=_no_longer_safe(report.fix)))
    return report


def _needed(fix: Fix, text: str) -> Since | None:
    """What came last to torch of all that a fix writes, and that the text does not use already."""
    written = [each.content for each in fix.edits if each.content]
    found = [each for each in SINCE if any(map(each.written.search, written)) and not each.shown.search(text)]
    return max(found, key=lambda each: each.release, default=None)


def _missing(needed: Since, asked: Asked) -> str:
    since = ".".join(map(str, needed.release))
    return f"torch has {needed.name} since {since}, and {asked.source} asks for {asked.text}, so there is no fix"


def _no_longer_safe(fix: Fix) -> Applicability:
    return Applicability.UNSAFE if fix.applicability is Applicability.SAFE else fix.applicability
