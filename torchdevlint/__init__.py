"""A static linter for PyTorch device-placement bugs, and a harness that runs what it flags.

What other programs may use is listed in `__all__`, and described in `torchdevlint.api`.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
"""What type checkers take for true, without `typing`: nothing is imported before a name is asked for."""

if TYPE_CHECKING:
    from torchdevlint.api import (
        Applicability,
        Belief,
        ConfigError,
        Diagnostic,
        Edit,
        FileResult,
        Fix,
        FixedSource,
        Note,
        Problem,
        Related,
        RuleInfo,
        Settings,
        Severity,
        Span,
        all_rules,
        check_paths,
        check_source,
        fix_source,
        load_settings,
        reveal_source,
    )

__all__ = [
    "Applicability",
    "Belief",
    "ConfigError",
    "Diagnostic",
    "Edit",
    "FileResult",
    "Fix",
    "FixedSource",
    "Note",
    "Problem",
    "Related",
    "RuleInfo",
    "Settings",
    "Severity",
    "Span",
    "__version__",
    "all_rules",
    "check_paths",
    "check_source",
    "fix_source",
    "load_settings",
    "reveal_source",
]


if not TYPE_CHECKING:  # to whom no other name is to be there

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from torchdevlint import api

        found = globals()[name] = getattr(api, name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
