"""Which fixes are applied."""

from __future__ import annotations

from torchdevlint import select
from torchdevlint.config import Settings, SettingsOf
from torchdevlint.model import Applicability, Diagnostic


def is_applicable(diagnostic: Diagnostic, settings: Settings, unsafe: bool | None = None) -> bool:
    """Whether ``--fix`` applies the fix of a finding: if it is safe, or unsafe ones are asked for too."""
    fix = diagnostic.fix
    if fix is None or fix.applicability is Applicability.DISPLAY:
        return False
    unsafe = settings.unsafe_fixes if unsafe is None else unsafe
    return (unsafe or fix.applicability is Applicability.SAFE) and select.is_fixable(settings, diagnostic.code)


def has_applicable(diagnostic: Diagnostic, settings: SettingsOf, unsafe: bool | None = None) -> bool:
    """`is_applicable` under the settings of the file that a finding is in."""
    return is_applicable(diagnostic, settings.of(diagnostic.filename), unsafe)
