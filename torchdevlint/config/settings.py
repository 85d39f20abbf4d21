"""Settings: one frozen record.

The fields of `Settings` and `Verify` are the table of configuration keys: a key is a field's name in kebab case, and
a field's metadata says what may stand there and what it is for. Loading, checking, overlaying and the configuration
reference all read that one table. Codes are only known to the rules and are checked in `torchdevlint.select`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

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


def _key(default: Any, kind: Kind, text: str, of_run: bool = False) -> Any:
    return field(default=default, metadata={"kind": kind, "help": text, "of_run": of_run})


@dataclass(frozen=True, slots=True)
class Verify:
    """What ``torchdevlint verify`` needs to know about the user's code: ``[tool.torchdevlint.verify]``."""

    examples: tuple[tuple[str, str], ...] = _key(
        (), STRING_TABLE,
        'How to build what was flagged: `"package.module:Class" = "package.testing:function"`, where the function takes'
        " no arguments and returns the object together with the arguments to call it with.",
    )  # fmt: skip
    with_command: str | None = _key(
        None, STRING, "A command, such as `pytest tests/test_model.py`, that executes the flagged code."
    )
    timeout: float = _key(30.0, SECONDS, "How long the execution of one finding may take.")


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """Everything that the result for a file depends on. Tuples hold codes, prefixes or ``ALL`` as the user wrote them.

    `root` is the folder of the configuration file, or else the current one; `config_file` is the file itself, or None
    where there is none. `base` is the folder that patterns are relative to, if it is not `root`: see `overlay`.
    """

    root: Path = field(default_factory=Path.cwd)
    config_file: Path | None = None
    base: Path | None = None
    extend: str | None = _key(
        None, STRING,
        "A configuration that this one is laid over: a file, relative to this one. What is said here wins, as a flag"
        " wins over a file; patterns of that file stay relative to its folder.",
    )  # fmt: skip
    required_version: str | None = _key(
        None, REQUIREMENT,
        "The versions of torchdevlint that this configuration is for, as for a requirement of a package; any other one"
        " refuses it (exit code 2). A version alone means that one.",
    )  # fmt: skip
    select: tuple[str, ...] | None = _key(
        None, STRINGS, "Codes or prefixes of the rules to run, or `ALL`. Without it: every rule that is not advice."
    )
    extend_select: tuple[str, ...] = _key((), STRINGS, "Codes or prefixes of rules to run besides those of `select`.")
    ignore: tuple[str, ...] = _key(
        (), STRINGS,
        "Codes or prefixes of rules not to run. Between `select` and `ignore` the longer prefix wins,"
        " and `ignore` wins a tie.",
    )  # fmt: skip
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = _key(
        (), LIST_TABLE,
        "Rules not to run on files that match a pattern. Patterns are read as in `.gitignore`;"
        " one that starts with `!` stands for all files that do not match it.",
    )  # fmt: skip
    ignore_noqa: bool = _key(
        False, BOOLEAN,
        "Report what `# noqa` and `# flake8: noqa` silence; `# torchdevlint:` comments hold all the same.",
    )  # fmt: skip
    severity: tuple[tuple[str, str], ...] = _key(
        (), SEVERITY_TABLE, 'Severities of rules where they should differ: `TDL201 = "error"`. They select nothing.'
    )
    fail_on: str = _key(
        "advice", THRESHOLD,
        "The mildest severity for which `check` exits with 1; milder findings are reported all the same.", of_run=True,
    )  # fmt: skip
    fix: bool = _key(False, BOOLEAN, "Apply fixes and report what is left.", of_run=True)
    unsafe_fixes: bool = _key(
        False, BOOLEAN, "Show fixes that may change what right code does, and apply them where fixes are applied.",
        of_run=True,
    )  # fmt: skip
    fix_only: bool = _key(False, BOOLEAN, "Apply fixes and report nothing that is left; implies `fix`.", of_run=True)
    show_fixes: bool = _key(False, BOOLEAN, "List what was fixed.", of_run=True)
    fixable: tuple[str, ...] = _key(("ALL",), STRINGS, "Codes or prefixes of the rules whose fixes may be applied.")
    unfixable: tuple[str, ...] = _key(
        (),
        STRINGS,
        "Codes or prefixes of rules whose fixes are only shown; the longer prefix wins.",
    )
    include: tuple[str, ...] = _key(
        DEFAULT_INCLUDE, STRINGS,
        "Which files of a folder are linted, in the patterns of `.gitignore`, so that `scripts/` takes all files in it;"
        " what is excluded is not, and what is named on the command line always is.",
    )  # fmt: skip
    exclude: tuple[str, ...] = _key(
        DEFAULT_EXCLUDE, STRINGS,
        "What to leave out of a folder, in the patterns of `.gitignore`; what is named on the command line is linted.",
    )  # fmt: skip
    extend_exclude: tuple[str, ...] = _key((), STRINGS, "Patterns to leave out besides those of `exclude`.")
    respect_gitignore: bool = _key(True, BOOLEAN, "Leave out what `.gitignore` files and `.git/info/exclude` name.")
    force_exclude: bool = _key(
        False, BOOLEAN, "Leave out what is excluded even where the command line names it, as pre-commit does.",
        of_run=True,
    )  # fmt: skip
    output_format: str = _key("full", STRING, "How findings are printed.", of_run=True)
    baseline: str | None = _key(
        None, STRING, "A file of findings that are not reported, in the folder of the configuration file or below."
    )
    cache_dir: str | None = _key(
        None, STRING,
        "Where results are kept, relative to this file; `~` is the home folder. Without it: `.torchdevlint_cache`"
        " beside this file. A folder with other things in it is not used.", of_run=True,
    )  # fmt: skip
    preview: bool = _key(False, BOOLEAN, "Run what is not yet stable.")
    target_torch: str | None = _key(
        None, VERSION, "The oldest release of PyTorch that the code has to run on. Without it: the newest known one."
    )
    module_bases: tuple[str, ...] = _key(
        (), STRINGS, "Dotted names of your own classes whose subclasses are `torch.nn.Module`s."
    )
    in_place_movers: tuple[str, ...] = _key(
        (), STRINGS, "Dotted names of your own classes whose `.to(..)` works in place, as a module's does."
    )
    batch_movers: tuple[str, ...] = _key(
        (), STRINGS, "Dotted names of your own functions that return their argument moved to the model's device."
    )
    device_managed_bases: tuple[str, ...] = _key(
        (), STRINGS, "Dotted names of your own classes that place models and batches themselves, as Lightning does."
    )
    verify: Verify = field(default_factory=Verify)

    @property
    def patterns_from(self) -> Path:
        """The folder that the patterns are relative to."""
        return self.base or self.root

    def of(self, _filename: str) -> Settings:
        """These, whatever the file: what holds for every file may stand where a `Configuration` may."""
        return self


OF_RUN = (*(one.name for one in dataclasses.fields(Settings) if one.metadata.get("of_run")), "verify")
"""The fields that hold for a whole run; all settings of one `Configuration` agree in them."""


def options(record: type[Settings] | type[Verify] = Settings) -> tuple[Option, ...]:
    """The configuration keys of a record, in the order of the reference."""
    return tuple(_option(one) for one in keys_of(record))


def _option(of: dataclasses.Field[Any]) -> Option:
    said = of.metadata
    return Option(kebab(of.name), said["kind"].description, of.default, said["help"], said["of_run"])


def nearest(word: str, words: Iterable[str]) -> str:
    """The word closest to `word`, whatever the case and whether it is written with ``_`` or ``-``."""
    from difflib import SequenceMatcher

    folded = word.casefold().replace("_", "-")

    def closeness(one: str) -> tuple[float, int]:
        matcher = SequenceMatcher(a=folded, b=one.casefold())
        return matcher.ratio(), matcher.get_matching_blocks()[0].size

    return max(sorted(words), key=closeness)


def keys_of(record: type[Settings] | type[Verify]) -> list[dataclasses.Field[Any]]:
    return [one for one in dataclasses.fields(record) if "kind" in one.metadata]


def kebab(name: str) -> str:
    return name.replace("_", "-")
