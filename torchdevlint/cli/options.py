"""What the flags that `check` shares with other commands that lint make of the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from torchdevlint import select
from torchdevlint.cache import folder_of
from torchdevlint.cli.refused import Misused, Refused
from torchdevlint.config import ConfigError, Configuration, Settings, inline, laid, placed
from torchdevlint.files import exists


def configuration_from(
    flags: dict[str, Any],
    start: str = "./",
    paths: Sequence[str] = (),
    further: Callable[[Settings], Settings] = lambda settings: settings,
) -> Configuration:
    """The settings under the flags of `selection`, and under `further` flags of a command; those win over ``--config``.

    `start` and `paths` are those of `Configuration`. ``--select`` stands in for everything that a configuration selects
    or ignores; ``--ignore`` and the ``--extend`` flags add to it, and the others replace their keys. Raises
    Refused for a configuration or a code that is refused.
    """
    _per_file(flags["per_file_ignores"])

    def finished(settings: Settings) -> Settings:
        select.check(settings)
        overlaid = further(_overlaid(with_inline(settings, flags), flags))
        select.check(replace(overlaid, config_file=None))
        return overlaid

    return loaded(flags, start, paths, finished)


def loaded(
    flags: dict[str, Any],
    start: str = "./",
    paths: Sequence[str] = (),
    finished: Callable[[Settings], Settings] | None = None,
) -> Configuration:
    """The settings under ``--isolated`` and ``--config``; see `Configuration`. Raises Refused.

    What is `finished` has to lay the keys of ``--config`` over the settings itself (`with_inline`).
    """
    file = config_file(flags)
    if flags["isolated"] and file:
        raise Misused("--isolated cannot be combined with a file for --config")
    try:
        Path.cwd()
        finished = finished or partial(with_inline, flags=flags)
        return Configuration(start, paths, flags["isolated"], file, finished)
    except OSError as error:
        raise Refused(f"the current folder cannot be used: {error.strerror}") from error
    except ConfigError as error:
        raise Refused(str(error)) from error


def config_file(flags: dict[str, Any]) -> Path | None:
    """The file that ``--config`` names. Raises Refused."""
    files = [each for each in flags["config"] if exists(each)]
    if len(files) > 1:
        raise Misused(f"--config takes one file, and there are {len(files)}: {', '.join(files)}")
    return Path(files[0]) if files else None


def with_inline(settings: Settings, flags: dict[str, Any]) -> Settings:
    """The settings under the keys that ``--config`` sets. Raises ConfigError."""
    here = Path.cwd()
    for each in flags["config"]:
        if not exists(each):
            settings = laid(settings, placed(inline(each), here), here)
    return settings


def _overlaid(settings: Settings, flags: dict[str, Any]) -> Settings:
    codes = {name: words(flags[name]) for name in ("select", "extend_select", "ignore", "exclude", "extend_exclude")}
    given = {
        **codes,
        "per_file_ignores": _per_file(flags["per_file_ignores"]),
        "respect_gitignore": flags["respect_gitignore"],
        "force_exclude": flags["force_exclude"] or None,
        "ignore_noqa": flags["ignore_noqa"] or None,
        "preview": flags["preview"] or None,
    }
    return laid(settings, {name: value for name, value in given.items() if value not in (None, ())}, Path.cwd())


def cache_folder(given: Path | None, settings: Settings) -> Path:
    """Where results are kept. What the user names may lead over links."""
    return folder_of(settings) if given is None else given.resolve()


def words(values: Iterable[str]) -> tuple[str, ...]:
    """The comma-separated words of a repeatable flag."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _per_file(values: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Pairs of a pattern and codes from ``a.py:TDL001,TDL002,b/*:TDL003``."""
    pairs: list[tuple[str, list[str]]] = []
    for value in values:
        open_pair = False
        for word in words([value]):
            pattern, colon, code = word.rpartition(":")
            if colon and pattern and code.strip():
                pairs.append((pattern.strip(), [code.strip()]))
                open_pair = True
            elif not colon and open_pair:
                pairs[-1][1].append(word)
            else:
                raise Misused(f"Invalid value for --per-file-ignores: {value!r} is not of the form GLOB:CODES")
    return tuple((pattern, tuple(codes)) for pattern, codes in pairs)
