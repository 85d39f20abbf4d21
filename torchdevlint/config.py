"""Settings: one frozen record, read from ``torchdevlint.toml`` or ``pyproject.toml`` and overlaid by flags.

The fields of `Settings` and `Verify` are the table of configuration keys: a key is a field's name in kebab case, and
a field's metadata says what may stand there and what it is for. Loading, checking, overlaying and the configuration
reference all read that one table. Codes are only known to the rules and are checked in `torchdevlint.select`.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchdevlint.files import content, is_file, is_inside
from torchdevlint.keys import (
    BOOLEAN,
    LIST_TABLE,
    SECONDS,
    SEVERITY_TABLE,
    STRING,
    STRING_TABLE,
    STRINGS,
    THRESHOLD,
    VERSION,
    Kind,
)

NAMES = ("torchdevlint.toml", "pyproject.toml")
"""Where settings may stand in a folder; the first one that holds any wins."""

DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip

_SPECIAL, _ESCAPED = re.compile(r"([\\\\*?\[\]])"), r"\\\1"
_TABLE = "[tool.torchdevlint]"


class ConfigError(Exception):
    """The configuration cannot be used; the message is a whole sentence for the user, and names the file."""


@dataclass(frozen=True, slots=True)
class Option:
    """One configuration key as the reference shows it; `default` is its Python value."""

    key: str
    kind: str
    default: object
    help: str


def _key(default: Any, kind: Kind, text: str) -> Any:
    return field(default=default, metadata={"kind": kind, "help": text})


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


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run depends on. Tuples hold codes, prefixes or ``ALL`` as the user wrote them.

    `root` is the folder that patterns are relative to: the configuration file's, or else the current one;
    `config_file` is the file itself, or None where there is none.
    """

    root: Path = field(default_factory=Path.cwd)
    config_file: Path | None = None
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
        "The mildest severity for which `check` exits with 1; milder findings are reported all the same.",
    )  # fmt: skip
    fix: bool = _key(False, BOOLEAN, "Apply fixes and report what is left.")
    unsafe_fixes: bool = _key(
        False, BOOLEAN, "Show fixes that may change what right code does, and apply them where fixes are applied."
    )
    fix_only: bool = _key(False, BOOLEAN, "Apply fixes and report nothing that is left; implies `fix`.")
    show_fixes: bool = _key(False, BOOLEAN, "List what was fixed.")
    fixable: tuple[str, ...] = _key(("ALL",), STRINGS, "Codes or prefixes of the rules whose fixes may be applied.")
    unfixable: tuple[str, ...] = _key(
        (),
        STRINGS,
        "Codes or prefixes of rules whose fixes are only shown; the longer prefix wins.",
    )
    exclude: tuple[str, ...] = _key(
        DEFAULT_EXCLUDE, STRINGS,
        "What to leave out of a folder, in the patterns of `.gitignore`; what is named on the command line is linted.",
    )  # fmt: skip
    extend_exclude: tuple[str, ...] = _key((), STRINGS, "Patterns to leave out besides those of `exclude`.")
    respect_gitignore: bool = _key(True, BOOLEAN, "Leave out what `.gitignore` files and `.git/info/exclude` name.")
    force_exclude: bool = _key(
        False, BOOLEAN, "Leave out what is excluded even where the command line names it, as pre-commit does."
    )
    output_format: str = _key("full", STRING, "How findings are printed.")
    baseline: str | None = _key(
        None, STRING, "A file of findings that are not reported, in the folder of the configuration file or below."
    )
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


def options(record: type[Settings] | type[Verify] = Settings) -> tuple[Option, ...]:
    """The configuration keys of a record, in the order of the reference."""
    return tuple(
        Option(_kebab(one.name), one.metadata["kind"].description, one.default, one.metadata["help"])
        for one in _keys(record)
    )


def load(start: Path, isolated: bool = False, config: Path | None = None) -> Settings:
    """The settings that hold for `start`, a file or folder: the first path of the command line.

    `isolated` means the defaults, `config` that file and no other. Without them the nearest folder at or above
    `start` decides in which there is a ``torchdevlint.toml``, or a ``pyproject.toml`` with a ``[tool.torchdevlint]``.
    Raises ConfigError.
    """
    if isolated:
        return Settings()
    if config is not None:
        table = _read(config)
        if table is None:
            raise ConfigError(f"{config}: there is no {_TABLE} table in it")
        return _settings(table, config)
    start = Path(os.path.abspath(start))  # noqa: PTH100 (Path.resolve follows links)
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if is_file(path) and (table := _read(path)) is not None:
                return _settings(table, path)
    return Settings()


def overlay(settings: Settings, **flags: Any) -> Settings:
    """Settings in which each flag that is not None replaces the key of its name; ``extend_*`` flags add to theirs.

    Flags are named like the fields and hold values of their types. Patterns with a folder in them are meant
    relative to the current folder, and are rewritten to be relative to `Settings.root`.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    for name in ("exclude", "extend_exclude"):
        if name in given:
            given[name] = tuple(_rebased(pattern, settings.root) for pattern in given[name])
    if "per_file_ignores" in given:
        given["per_file_ignores"] = tuple(
            (_rebased(pattern, settings.root), codes) for pattern, codes in given["per_file_ignores"]
        )
    for name in ("extend_select", "extend_exclude"):
        if name in given:
            given[name] = (*getattr(settings, name), *given[name])
    return dataclasses.replace(settings, **given)


def nearest(word: str, words: Iterable[str]) -> str:
    """The word closest to `word`, whatever the case and whether it is written with ``_`` or ``-``."""
    from difflib import SequenceMatcher

    folded = word.casefold().replace("_", "-")

    def closeness(one: str) -> tuple[float, int]:
        matcher = SequenceMatcher(a=folded, b=one.casefold())
        return matcher.ratio(), matcher.get_matching_blocks()[0].size

    return max(sorted(words), key=closeness)


def _read(path: Path) -> dict[str, Any] | None:
    """The settings table of a file, or None where a ``pyproject.toml`` has none."""
    try:
        data = content(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    shared = path.name == "pyproject.toml"
    if shared and b"torchdevlint" not in data:
        return None
    table = _parse(path, data)
    if not shared:
        return table
    tools = table.get("tool", {})
    found = tools.get("torchdevlint") if isinstance(tools, dict) else None
    if found is not None and not isinstance(found, dict):
        raise ConfigError(f"{path}: {_TABLE} must be a table, not {_said(found)}")
    return found


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return dict(toml.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}: invalid TOML: not UTF-8 (at line {row})") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: invalid TOML: {error}") from error


def _settings(table: dict[str, Any], path: Path) -> Settings:
    path = Path(os.path.abspath(path))  # noqa: PTH100
    verify = table.get("verify", {})
    if not isinstance(verify, dict):
        raise ConfigError(f"{path}: `verify` must be a table, not {_said(verify)}")
    rest = {key: value for key, value in table.items() if key != "verify"}
    settings = Settings(
        root=path.parent,
        config_file=path,
        verify=Verify(**_values(Verify, verify, path, "verify.")),
        **_values(Settings, rest, path, "", also=("verify",)),
    )
    if settings.baseline is not None and not is_inside(path.parent / settings.baseline, path.parent):
        raise ConfigError(f"{path}: `baseline` leads out of its folder; a file elsewhere is for `--baseline` to name")
    return settings


def _values(
    record: type[Settings] | type[Verify], table: Mapping[str, Any], path: Path, prefix: str, also: Iterable[str] = ()
) -> dict[str, Any]:
    known = {_kebab(one.name): one for one in _keys(record)}
    values = {}
    for key, value in table.items():
        if key not in known:
            near = nearest(key, (*known, *also))
            raise ConfigError(f"{path}: unknown key `{prefix}{key}`; did you mean `{prefix}{near}`?")
        kind: Kind = known[key].metadata["kind"]
        try:
            values[known[key].name] = kind.read(value)
        except ValueError as error:
            wanted = str(error) or kind.description
            raise ConfigError(f"{path}: `{prefix}{key}` must be {wanted}, not {_said(value)}") from None
    return values


def _keys(record: type[Settings] | type[Verify]) -> list[dataclasses.Field[Any]]:
    return [one for one in dataclasses.fields(record) if "kind" in one.metadata]


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def _said(value: Any) -> str:
    """A TOML value in an error message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_said(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_said, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _rebased(pattern: str, root: Path) -> str:
    """A pattern meant relative to the current folder, relative to `root` instead."""
    negation, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if "/" not in body.rstrip("/"):
        return pattern
    inside = f"{root.as_posix()}/"
    if body.startswith(inside):
        return f"{negation}/{body.removeprefix(inside)}"
    here = os.path.relpath(Path.cwd(), root).replace(os.sep, "/")
    body = body.removeprefix("./").lstrip("/")
    return f"{negation}/{body}" if here == "." else f"{negation}/{_SPECIAL.sub(_ESCAPED, here)}/{body}"
