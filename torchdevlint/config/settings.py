"""Settings: one frozen record.

The fields of `Settings` and `Verify` are the configuration keys: a key is a field's name in kebab case. A table for
each of the two says what may stand there and what it is for; loading, checking, overlaying and the configuration
reference all read it. Codes are only known to the rules and are checked in `torchdevlint.select`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from torchdevlint.keys import (
    BOOLEAN,
    LIST_TABLE,
    REQUIREMENT,
    SECONDS,
    SEVERITY_TABLE,
    STRING,
    STRING_TABLE,
    STRINGS,
    THRESHOLD,
    VERSION,
    Kind,
)

DEFAULT_INCLUDE = ("*.py", "*.pyi", "*.ipynb")
DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip


class ConfigError(Exception):
    """The configuration cannot be used; the message is a whole sentence for the user, and names the file."""


class Option(Struct, frozen=True):
    """One configuration key as the reference shows it; `default` is its Python value.

    One `of_run` holds for all that is linted at once, whichever configuration is nearest to a file.
    """

    key: str
    kind: str
    default: object
    help: str
    of_run: bool = False


class Key(Struct, frozen=True):
    """What a key is: what may stand there, what it is for, and whether it is `of_run`, see `Option`."""

    kind: Kind
    help: str
    of_run: bool = False


class Verify(Struct, frozen=True):
    """What ``torchdevlint verify`` needs to know about the user's code: ``[tool.torchdevlint.verify]``."""

    examples: tuple[tuple[str, str], ...] = ()
    with_command: str | None = None
    timeout: float = 30.0


class Settings(Struct, frozen=True, repr_omit_defaults=True):
    """Everything that the result for a file depends on. Tuples hold codes, prefixes or ``ALL`` as the user wrote them.

    `root` is the folder of the configuration file, or else the current one; `config_file` is the file itself, or None
    where there is none. `base` is the folder that patterns are relative to, if it is not `root`: see `overlay`.
    """

    root: Path = field(default_factory=Path.cwd)
    config_file: Path | None = None
    base: Path | None = None
    extend: str | None = None
    required_version: str | None = None
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ignore_noqa: bool = False
    severity: tuple[tuple[str, str], ...] = ()
    fail_on: str = "advice"
    fix: bool = False
    unsafe_fixes: bool = False
    fix_only: bool = False
    show_fixes: bool = False
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    include: tuple[str, ...] = DEFAULT_INCLUDE
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    output_format: str = "full"
    baseline: str | None = None
    cache_dir: str | None = None
    preview: bool = False
    target_torch: str | None = None
    module_bases: tuple[str, ...] = ()
    in_place_movers: tuple[str, ...] = ()
    batch_movers: tuple[str, ...] = ()
    device_managed_bases: tuple[str, ...] = ()
    verify: Verify = field(default_factory=Verify)

    @property
    def patterns_from(self) -> Path:
        """The folder that the patterns are relative to."""
        return self.base or self.root

    def of(self, _filename: str) -> Settings:
        """These, whatever the file: what holds for every file may stand where a `Configuration` may."""
        return self


VERIFY_KEYS = {
    "examples": Key(
        STRING_TABLE,
        'How to build what was flagged: `"package.module:Class" = "package.testing:function"`, where the function '
        "takes no arguments and returns the object together with the arguments to call it with.",
    ),
    "with_command": Key(STRING, "A command, such as `pytest tests/test_model.py`, that executes the flagged code."),
    "timeout": Key(SECONDS, "How long the execution of one finding may take."),
}
SETTINGS_KEYS = {
    "extend": Key(
        STRING,
        "A configuration that this one is laid over: a file, relative to this one. What is said here wins, as a "
        "flag wins over a file; patterns of that file stay relative to its folder.",
    ),
    "required_version": Key(
        REQUIREMENT,
        "The versions of torchdevlint that this configuration is for, as for a requirement of a package; any other "
        "one refuses it (exit code 2). A version alone means that one.",
    ),
    "select": Key(
        STRINGS,
        "Codes or prefixes of the rules to run, or `ALL`. Without it: every rule that is not advice.",
    ),
    "extend_select": Key(STRINGS, "Codes or prefixes of rules to run besides those of `select`."),
    "ignore": Key(
        STRINGS,
        "Codes or prefixes of rules not to run. Between `select` and `ignore` the longer prefix wins, and `ignore` "
        "wins a tie.",
    ),
    "per_file_ignores": Key(
        LIST_TABLE,
        "Rules not to run on files that match a pattern. Patterns are read as in `.gitignore`; one that starts with"
        " `!` stands for all files that do not match it.",
    ),
    "ignore_noqa": Key(
        BOOLEAN,
        "Report what `# noqa` and `# flake8: noqa` silence; `# torchdevlint:` comments hold all the same.",
    ),
    "severity": Key(
        SEVERITY_TABLE,
        'Severities of rules where they should differ: `TDL201 = "error"`. They select nothing.',
    ),
    "fail_on": Key(
        THRESHOLD,
        "The mildest severity for which `check` exits with 1; milder findings are reported all the same.",
        of_run=True,
    ),
    "fix": Key(BOOLEAN, "Apply fixes and report what is left.", of_run=True),
    "unsafe_fixes": Key(
        BOOLEAN,
        "Show fixes that may change what right code does, and apply them where fixes are applied.",
        of_run=True,
    ),
    "fix_only": Key(BOOLEAN, "Apply fixes and report nothing that is left; implies `fix`.", of_run=True),
    "show_fixes": Key(BOOLEAN, "List what was fixed.", of_run=True),
    "fixable": Key(STRINGS, "Codes or prefixes of the rules whose fixes may be applied."),
    "unfixable": Key(STRINGS, "Codes or prefixes of rules whose fixes are only shown; the longer prefix wins."),
    "include": Key(
        STRINGS,
        "Which files of a folder are linted, in the patterns of `.gitignore`, so that `scripts/` takes all files in"
        " it; what is excluded is not, and what is named on the command line always is.",
    ),
    "exclude": Key(
        STRINGS,
        "What to leave out of a folder, in the patterns of `.gitignore`; what is named on the command line is linted.",
    ),
    "extend_exclude": Key(STRINGS, "Patterns to leave out besides those of `exclude`."),
    "respect_gitignore": Key(BOOLEAN, "Leave out what `.gitignore` files and `.git/info/exclude` name."),
    "force_exclude": Key(
        BOOLEAN,
        "Leave out what is excluded even where the command line names it, as pre-commit does.",
        of_run=True,
    ),
    "output_format": Key(STRING, "How findings are printed.", of_run=True),
    "baseline": Key(
        STRING,
        "A file of findings that are not reported, in the folder of the configuration file or below.",
    ),
    "cache_dir": Key(
        STRING,
        "Where results are kept, relative to this file; `~` is the home folder. Without it: `.torchdevlint_cache` "
        "beside this file. A folder with other things in it is not used.",
        of_run=True,
    ),
    "preview": Key(BOOLEAN, "Run what is not yet stable."),
    "target_torch": Key(
        VERSION,
        "The oldest release of PyTorch that the code has to run on. Without it: the newest known one.",
    ),
    "module_bases": Key(STRINGS, "Dotted names of your own classes whose subclasses are `torch.nn.Module`s."),
    "in_place_movers": Key(
        STRINGS,
        "Dotted names of your own classes whose `.to(..)` works in place, as a module's does.",
    ),
    "batch_movers": Key(
        STRINGS,
        "Dotted names of your own functions that return their argument moved to the model's device.",
    ),
    "device_managed_bases": Key(
        STRINGS,
        "Dotted names of your own classes that place models and batches themselves, as Lightning does.",
    ),
}
"""In the order of the reference."""
OF_RUN = (*(name for name, key in SETTINGS_KEYS.items() if key.of_run), "verify")
"""The fields that hold for a whole run; all settings of one `Configuration` agree in them."""


def options(record: type[Settings] | type[Verify] = Settings) -> tuple[Option, ...]:
    """The configuration keys of a record, in the order of the reference."""
    return tuple(
        Option(kebab(name), key.kind.description, default_of(record, name), key.help, key.of_run)
        for name, key in keys_of(record).items()
    )


def nearest(word: str, words: Iterable[str]) -> str:
    """The word closest to `word`, whatever the case and whether it is written with ``_`` or ``-``."""
    from difflib import SequenceMatcher

    folded = word.casefold().replace("_", "-")

    def closeness(one: str) -> tuple[float, int]:
        matcher = SequenceMatcher(a=folded, b=one.casefold())
        return matcher.ratio(), matcher.get_matching_blocks()[0].size

    return max(sorted(words), key=closeness)


def keys_of(record: type[Settings] | type[Verify]) -> dict[str, Key]:
    """The keys of a record, by the names of their fields."""
    return SETTINGS_KEYS if record is Settings else VERIFY_KEYS


def default_of(record: type[Settings] | type[Verify], name: str) -> object:
    """What a field of a record holds where nothing is said."""
    return record.__struct_defaults__[record.__struct_fields__.index(name)]


def kebab(name: str) -> str:
    return name.replace("_", "-")
