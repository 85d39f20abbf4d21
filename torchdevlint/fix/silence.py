"""Comments that silence a finding."""

from __future__ import annotations

from torchdevlint import suppress
from torchdevlint.fix.splice import splice
from torchdevlint.model import Applicability, Diagnostic, Edit, Fix, Span
from torchdevlint.source.text import Source


def silencing(finding: Diagnostic, text: str) -> Fix | None:
    """The edit of `text` that silences a finding in it by a ``# noqa`` with its code; None where no comment would.

    The comment goes to the end of the line in which it has to stand, or the code to those of the comment there.
    """
    pragma = suppress.read(text).noqa_at(finding.span.row)
    if pragma is not None:
        row, column = pragma.row, pragma.column + pragma.length + 1
        edit = Edit(f",{finding.code}", Span(row, column, row, column))
    else:
        row, line = finding.noqa_row, Source(text).lines[finding.noqa_row - 1]
        edit = Edit(f"  # noqa: {finding.code}", Span(row, len(line.rstrip()) + 1, row, len(line) + 1))
    fix = Fix(Applicability.UNSAFE, f"Silence {finding.code} in this line", (edit,))
    after = suppress.read(splice(text, [fix])[0])
    return None if after.apply([finding])[0] else fix
