"""Settings from ``torchdevlint.toml`` or ``pyproject.toml``: found, read, checked against the table of their keys."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torchdevlint.config.settings import ConfigError, Settings, Verify, kebab, keys_of, nearest
from torchdevlint.files import content, is_file, is_inside
from torchdevlint.keys import Kind

NAMES = ("torchdevlint.toml", "pyproject.toml")
"""Where settings may stand in a folder; the first one that holds any wins."""
TABLE = "[tool.torchdevlint]"


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
            raise ConfigError(f"{config}: there is no {TABLE} table in it")
        return _settings(table, config)
    for folder in (absolute := Path(os.path.abspath(start)), *absolute.parents):  # noqa: PTH100 (links stay)
        if (own := load_own(str(folder))) is not None:
            return own
    return Settings()


def load_own(folder: str) -> Settings | None:
    """The settings of the configuration file in a folder, if there is one. Raises ConfigError."""
    for name in NAMES:
        path = os.path.join(folder, name)  # noqa: PTH118 (asked for each folder of a tree)
        if is_file(path) and (table := _read(Path(path))) is not None:
            return _settings(table, Path(path))
    return None


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
        raise ConfigError(f"{path}: {TABLE} must be a table, not {_said(found)}")
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
    known = {kebab(one.name): one for one in keys_of(record)}
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


def _said(value: Any) -> str:
    """A TOML value in an error message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_said(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_said, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
