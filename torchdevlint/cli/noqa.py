"""What `check --add-noqa` does: it silences every finding with a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from torchdevlint.config import Settings, SettingsOf
from torchdevlint.engine import check_bytes
from torchdevlint.files import content
from torchdevlint.model import Diagnostic, FileResult, Problem, Run
from torchdevlint.report.summary import count


def add_comments(run: Run, settings: SettingsOf, notes: Sequence[str]) -> tuple[Run, list[str]]:
    """Silence the findings of a run in their files; gives what kept the tool from it, and remarks for the user."""
    problems: list[Problem] = list(run.problems)
    done: list[int] = []
    files: set[Path] = set()
    for each in run.results:
        result = replace(each, diagnostics=tuple(one for one in each.diagnostics if not one.is_answer))
        if result.diagnostics:
            silenced, failed = _silence(result, settings.of(result.filename), files)
            problems += failed
            done += [silenced] if silenced else []
    said = f"silenced {count(sum(done), 'finding', 'findings')} in {count(len(done), 'file', 'files')}"
    return Run(problems=tuple(problems)), [*notes, said]


def _silence(result: FileResult, settings: Settings, files: set[Path]) -> tuple[int, list[Problem]]:
    """How many findings of a file were silenced, and why others were not; `files` gets the file without its links.

    One that is there already was changed under another of its names, and what was silenced then is no longer found.
    """
    from torchdevlint.fix.silence import silenced
    from torchdevlint.fix.write import replace_content

    filename = result.filename
    try:
        data = content(filename)
        present = tuple(each for each in check_bytes(data, filename, settings).diagnostics if not each.is_answer)
        path = Path(filename).resolve()
        if path in files:
            result = replace(result, diagnostics=tuple(one for one in result.diagnostics if one in present))
        files.add(path)
        if not set(result.diagnostics).issubset(present):
            return 0, [Problem(filename, "no comments were added, since it has changed while it was linted")]
        wanted = [each for each in present if _is_touched(each, result.diagnostics)]
        new, left = silenced(data, wanted, settings.ignore_noqa)
        if new != data:
            replace_content(filename, data, new)
    except OSError as error:
        return 0, [Problem(filename, f"no comments were added: {error.strerror or error}")]
    return len(set(result.diagnostics).difference(left)), list(_refusals(left))


def _is_touched(finding: Diagnostic, wanted: Sequence[Diagnostic]) -> bool:
    """Whether a finding is wanted silent, or stands in a line that gets a comment for one that is.

    That of a baseline would no longer be recognised, since its entry holds the text of the line.
    """
    return any(
        finding == each or (finding.cell == each.cell and finding.span.row <= each.noqa_row <= finding.span.end_row)
        for each in wanted
    )


def _refusals(left: Sequence[Diagnostic]) -> Iterator[Problem]:
    for finding in left:
        yield Problem(finding.filename, f"no comment can silence {finding.code} in {finding.line}")
