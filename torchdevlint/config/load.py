"""Settings from ``torchdevlint.toml`` or ``pyproject.toml``: found, read, checked against the table of their keys."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from torchdevlint import __version__
from torchdevlint.config.laying import extended
from torchdevlint.config.settings import ConfigError, Settings, Verify, kebab, keys_of, nearest
from torchdevlint.files import content, is_file, is_inside
from torchdevlint.keys import is_allowed

NAMES = ("torchdevlint.toml", "pyproject.toml")
"""Where settings may stand in a folder; the first one that holds any wins."""
TABLE = "[tool.torchdevlint]"


def load(
    start: Path, isolated: bool = False, config: Path | None = None, note: Callable[[str], object] = lambda path: None
) -> Settings:
    """The settings that hold for `start`, a file or folder: the first path of the command line.

    `isolated` means the defaults, `config` that file and no other. Without them the nearest folder at or above
    `start` decides in which there is a ``torchdevlint.toml``, or a ``pyproject.toml`` with a ``[tool.torchdevlint]``.
    `note` is told of each file that is extended, before that is read. Raises ConfigError.
    """
    if isolated:
        return Settings()
    if config is not None:
        return _settings(_wanted(config), config, note)
    for folder in (absolute := Path(os.path.abspath(start)), *absolute.parents):  # noqa: PTH100 (links stay)
        if (own := load_own(str(folder), note)) is not None:
            return own
    return Settings()


def load_own(folder: str, note: Callable[[str], object]) -> Settings | None:
    """The settings of the configuration file in a folder, if there is one; see `load`."""
    for name in NAMES:
        path = os.path.join(folder, name)  # noqa: PTH118 (asked for each folder of a tree)
        if is_file(path) and (table := _read(Path(path))) is not None:
            return _settings(table, Path(path), note)
    return None


def inline(text: str) -> dict[str, Any]:
    """The values in a text such as ``preview = true``, by names of fields, for `laid`. Raises ConfigError."""
    flag = Path("--config")
    if "=" not in text:
        raise ConfigError(f"{flag}: `{text}` is neither a file nor a setting such as `preview = true`")
    try:
        table = _parse(flag, text.encode("utf-8", "surrogatepass"))
    except ConfigError as error:
        raise ConfigError(f'{error}, in `{text}`; strings are in quotes, as in `fail-on = "error"`') from None
    if "extend" in table:
        raise ConfigError(f"{flag}: `extend` is for files; `{flag} {_said(table['extend'])}` takes that file for all")
    return _said_in(table, flag)


def _wanted(path: Path) -> dict[str, Any]:
    """The settings table of a file that the user has named."""
    table = _read(path)
    if table is None:
        raise ConfigError(f"{path}: there is no {TABLE} table in it")
    return table


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


def _settings(table: dict[str, Any], path: Path, note: Callable[[str], object]) -> Settings:
    """What the table of a file comes to, laid over all that it extends."""
    path = Path(os.path.abspath(path))  # noqa: PTH100
    said = _said_in(table, path)
    if "extend" in said:
        return _extending(said, path, note)
    verify = Verify(**said.pop("verify", {}))
    return Settings(root=path.parent, config_file=path, verify=verify, **said)


def _extending(said: dict[str, Any], path: Path, note: Callable[[str], object]) -> Settings:
    files = {path: said}
    while "extend" in said:
        name = os.path.expanduser(said["extend"])  # noqa: PTH111 (where there is no home it stays as it is)
        below = Path(os.path.abspath(path.parent / name))  # noqa: PTH100
        note(str(below))
        if below in files:
            circle = " -> ".join(map(str, (*list(files)[list(files).index(below) :], below)))
            raise ConfigError(f"`extend` leads in a circle: {circle}")
        try:
            table = _wanted(below)
        except ConfigError as error:
            raise ConfigError(f"{error} (`extend` in {path})") from error.__cause__
        path, said = below, _said_in(table, below)
        files[path] = said
    settings = Settings(root=path.parent)
    for file, said in reversed(files.items()):
        settings = extended(settings, said, file)
    return settings


def _said_in(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """The values of a table of a file by names of fields; those under ``verify`` as another such mapping."""
    verify = table.get("verify", {})
    if not isinstance(verify, dict):
        raise ConfigError(f"{path}: `verify` must be a table, not {_said(verify)}")
    rest = {key: value for key, value in table.items() if key != "verify"}
    _refuse_other_versions(table.get("required-version"), path)
    values = _values(Settings, rest, path, "", also=("verify",))
    baseline = values.get("baseline")
    if baseline is not None and not is_inside(path.parent / baseline, path.parent):
        raise ConfigError(f"{path}: `baseline` leads out of its folder; a file elsewhere is for `--baseline` to name")
    return {**values, "verify": _values(Verify, verify, path, "verify.")} if verify else values


def _refuse_other_versions(required: object, path: Path) -> None:
    """Raises ConfigError, before anything that another version may know is refused for being unknown."""
    if not isinstance(required, str):
        return
    try:
        allowed = is_allowed(required, __version__)
    except ValueError:
        return  # what it has to be is said with all other keys
    if not allowed:
        raise ConfigError(f"{path}: `required-version` is {_said(required)}, and this is torchdevlint {__version__}")


def _values(
    record: type[Settings] | type[Verify], table: Mapping[str, Any], path: Path, prefix: str, also: Iterable[str] = ()
) -> dict[str, Any]:
    known = {kebab(name): (name, key.kind) for name, key in keys_of(record).items()}
    values = {}
    for key, value in table.items():
        if key not in known:
            near = nearest(key, (*known, *also))
            raise ConfigError(f"{path}: unknown key `{prefix}{key}`; did you mean `{prefix}{near}`?")
        name, kind = known[key]
        try:
            values[name] = kind.read(value)
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
