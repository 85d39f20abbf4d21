"""The flags of `check`, and those that other commands that lint share with it, as data.

`torchdevlint.cli.plain` reads a plain command line by them, without click; `torchdevlint.cli.clicked` makes click's
options of them, for its help and for whatever else a command line may hold.
"""

from __future__ import annotations

from msgspec import Struct

from torchdevlint.keys import FAIL_ON
from torchdevlint.report import FORMATS

COLORS = ("auto", "always", "never")


class Flag(Struct, frozen=True):
    """One flag. `name` is its last long spelling, and the only one but for a `short` one.

    What it `takes` is a ``text``, the name of a ``path``, ``file`` or ``folder``, a ``number`` or one of `choices`; one
    that takes nothing is on or off. `negated` is the name that says the opposite; a flag with one is None if neither is
    given.
    """

    name: str
    help: str
    takes: str = ""
    short: str = ""
    negated: str = ""
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    multiple: bool = False
    default: str | int | None = None
    hidden: bool = False

    @property
    def parameter(self) -> str:
        """What it is called in Python."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def unset(self) -> object:
        """What it is where it is not given."""
        if self.takes or self.choices:
            return () if self.multiple else self.default
        return None if self.negated else False


def _switch(name: str, text: str, short: str = "") -> Flag:
    return Flag(name, text, short=short)


def _either(name: str, text: str) -> Flag:
    return Flag(name, text, negated=name.replace("--", "--no-", 1))


def _several(name: str, metavar: str, text: str) -> Flag:
    return Flag(name, text, "text", metavar=metavar, multiple=True)


CONFIG = _several(
    "--config",
    "FILE|KEY=VALUE",
    "Read this pyproject.toml or torchdevlint.toml; or set a key in TOML, such as 'target-torch = \"2.4\"', over what a"
    " file says and under other flags.",
)
"""It names a configuration file, or holds keys of one."""
SELECTION = (
    _several("--select", "CODES", "Rules to run: codes, prefixes or ALL."),
    _several("--extend-select", "CODES", "Rules to run besides the default ones."),
    _several("--ignore", "CODES", "Rules to leave out."),
    _several("--per-file-ignores", "GLOB:CODES", "Rules to leave out in the files that match."),
    _switch("--ignore-noqa", "Also report what `# noqa` and `# flake8: noqa` comments silence."),
    _switch("--preview", "Also run rules in preview, which are new and may change."),
    _several("--exclude", "GLOBS", "What to leave out of folders, in place of the default."),
    _several("--extend-exclude", "GLOBS", "What else to leave out."),
    _switch("--force-exclude", "Leave out excluded files even if they are named on the command line."),
    _either("--respect-gitignore", "Skip what .gitignore names (the default)."),
    _switch("--isolated", "Read no configuration file."),
    CONFIG,
)
"""They choose rules, files and configuration."""
FIXES = (
    _either("--fix", "Apply safe fixes, and report what is left."),
    _either("--unsafe-fixes", "Show, and with --fix apply, also fixes that may change what right code does."),
    _switch("--diff", "Write no file: print what --fix would change, and exit with 1 if it would."),
    _either("--fix-only", "Apply fixes, and do not report what is left; implies --fix."),
    _either("--show-fixes", "List what was fixed."),
    _several("--fixable", "CODES", "Rules whose fixes may be applied.  [default: ALL]"),
    _several("--unfixable", "CODES", "Rules whose fixes are only shown."),
)
CHECK = (
    *SELECTION,
    *FIXES,
    Flag("--output-format", "How findings are written.  [default: full]", choices=tuple(FORMATS)),
    Flag("--output-file", "Write the report there.", "file", short="-o"),
    Flag("--baseline", "Hide the findings that are in FILE.", "path", metavar="FILE"),
    Flag("--write-baseline", "Write all findings to FILE, and exit with 0.", "path", metavar="FILE"),
    _switch("--add-noqa", "Silence each finding with a comment in its line, and exit with 0."),
    _switch("--statistics", "Count the findings of each rule instead of listing them."),
    Flag("--fail-on", "The mildest severity for which to exit with 1.  [default: advice]", choices=tuple(FAIL_ON)),
    _switch("--exit-zero", "Exit with 0 although there are findings."),
    _switch("--exit-non-zero-on-fix", "Exit with 1 if anything was fixed, even if none is left."),
    _switch("--watch", "Lint again whenever a file changes, until Ctrl-C."),
    Flag("--written-to", "For --watch: where to tell of fixes.", "path", hidden=True),
    Flag("--jobs", "Processes; 0, the default, decides by the work.", "number", short="-j", default=0),
    _switch("--no-cache", "Neither read nor keep results of files that have not changed."),
    Flag(
        "--cache-dir",
        "Where results are kept.  [default: .torchdevlint_cache beside the configuration]",
        "folder",
        metavar="DIR",
    ),
    Flag("--stdin-filename", "The name of the file that `-` reads from standard input.", "text", metavar="NAME"),
    _switch("--show-files", "List the files that would be linted, and stop."),
    _switch("--show-settings", "Show the settings that would hold, and stop."),
    Flag("--color", "Colours in text reports.", choices=COLORS, default="auto"),
    _switch("--verbose", "Also say what was checked.", "-v"),
    _switch("--quiet", "Findings and errors only: no summary, no notes.", "-q"),
)
