"""The public interface: what other programs use of the linter. ``import torchdevlint`` gives each of these names.

Nothing here prints, ends the process, or executes what is linted. What is wrong with a file is a finding; what kept the
linter from its job there, a `Problem` of the result; a configuration that cannot be used raises `ConfigError`. Neither
torch nor, without syntax newer than the interpreter, libcst is imported.

All functions may be called from several threads at once, which run one after the other as far as the interpreter has
them do so; processes (`jobs`) are what makes it faster. A `Settings` is immutable and may be shared; an iterator of
`check_paths` belongs to one thread at a time.

A release keeps these names and their signatures; `docs/api.md` says what that promises.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from functools import lru_cache
from heapq import merge
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from torchdevlint import engine, rules, select
from torchdevlint.cache import Cache
from torchdevlint.config import ConfigError, Configuration, Settings, load
from torchdevlint.discover import Discovery, discover, reported
from torchdevlint.model import (
    Applicability,
    Belief,
    Diagnostic,
    Edit,
    FileResult,
    Fix,
    Note,
    Problem,
    Related,
    Severity,
    Span,
)
from torchdevlint.project.tree import forget
from torchdevlint.source.text import UndecodableError, decode, encoded
from torchdevlint.syntax.errors import InvalidSyntaxError, TooDeepError

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
    "all_rules",
    "check_paths",
    "check_source",
    "fix_source",
    "load_settings",
    "reveal_source",
]

PathName = str | os.PathLike[str]

NO_FILE = "-"
"""How a text is called in its results that is of no file, as on the command line."""


class FixedSource(Struct, frozen=True):
    """A text after its fixes: what it is now, what is left to report of it, and how often each rule was fixed."""

    text: str
    result: FileResult
    applied: dict[str, int]


class RuleInfo(Struct, frozen=True):
    """What is to be known of a rule, with the names that ``torchdevlint rule --output-format json`` has.

    `default` says whether it is on without being selected; `explanation` is its page in Markdown, and `package` who
    brings it.
    """

    code: str
    name: str
    package: str
    severity: Severity
    default: bool
    preview: bool
    summary: str
    url: str
    explanation: str


def check_source(text: str | bytes, filename: PathName | None = None, settings: Settings | None = None) -> FileResult:
    """What `torchdevlint check` finds in a file, were this its content.

    Bytes are decoded as those of a file are; a notebook is its JSON, under a `filename` that ends in ``.ipynb``. If a
    file of that name is there, its project is looked into as it is on disk; else the text is looked at alone.

    Without `settings` those hold that the command line would find for `filename`, and without both the defaults.
    Excludes and baselines are not asked. Raises ConfigError for settings that cannot be used.
    """
    name, settings = _named(filename), _settings_for(filename, settings)
    forget()
    return engine.check_bytes(text if isinstance(text, bytes) else encoded(text), name, settings)


def check_paths(
    paths: PathName | Iterable[PathName],
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    cache_dir: PathName | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[FileResult]:
    """What `torchdevlint check` finds in files and folders: a result for each file, in order of their names.

    Each is given as soon as it and those before it are done. A path that cannot be looked into is a result as well,
    whose problems say why. `progress` is called with the number of results that were given, this one among them, and
    of all that there will be.

    Without `settings` those of the nearest configuration hold for each file, as on the command line; one that cannot be
    used is a result without a name, with a problem in the place of its files. Raises ConfigError at once for `settings`
    that cannot be used, and for a configuration of the run.

    `jobs` is the number of processes, 0 for as many as the work is worth; they are gone when the iterator is exhausted
    or closed. With a `cache_dir`, results of files that have not changed are kept there from run to run.
    """
    names = [os.fspath(each) for each in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    of = Configuration(paths=names, finished=_usable) if settings is None else _usable(settings)
    found = discover(names, of)
    cache = None if cache_dir is None else Cache(Path(cache_dir).resolve())
    results = engine.each_checked(found.files, of, jobs, cache)
    return _in_order(results, found, cache, progress or _nothing)


def _in_order(
    results: Generator[FileResult, None, None],
    found: Discovery,
    cache: Cache | None,
    progress: Callable[[int, int], object],
) -> Iterator[FileResult]:
    """The results of files, and one for each path that could not be looked into."""
    failed = [FileResult(each.filename or "", problems=(each,)) for each in found.problems]
    total = len(found.files) + len(failed)
    with closing(results), nullcontext() if cache is None else cache:
        for number, result in enumerate(merge(failed, results, key=attrgetter("filename")), start=1):
            progress(number, total)
            yield result


def fix_source(text: str, filename: PathName | None = None, settings: Settings | None = None) -> FixedSource:
    """What ``torchdevlint check --fix`` makes of a file, were this its content; nothing is written.

    Fixes that are not safe are applied where the settings say ``unsafe-fixes``. All else is as for `check_source`; a
    text that was not changed is given as it came.
    """
    from torchdevlint.fix.text import fix_bytes

    name, settings = _named(filename), _settings_for(filename, settings)
    forget()
    data = encoded(text)
    fixed = fix_bytes(data, name, settings)
    new = text if fixed.content == data else ("\ufeff" if text.startswith("\ufeff") else "") + decode(fixed.content)
    return FixedSource(new, fixed.result, dict(sorted(fixed.applied.items())))


def reveal_source(
    text: str | bytes,
    filename: PathName | None = None,
    settings: Settings | None = None,
    *,
    row: int | None = None,
    column: int | None = None,
    cell: int | None = None,
) -> tuple[Belief, ...]:
    """What `torchdevlint reveal` tells of a file, were this its content: of every expression, in the order of the text.

    With a `row`, of the outermost ones that begin there; with a `column` as well, of all that are at that place, the
    innermost first. In a notebook a row is one of a `cell`. All count from 1.

    Raises ValueError, which says where, for a text that cannot be analysed, and ConfigError as `check_source` does.
    """
    from torchdevlint import beliefs

    name, settings = _named(filename), _settings_for(filename, settings)
    forget()
    try:
        held = beliefs.of_bytes(text if isinstance(text, bytes) else encoded(text), name, settings)
        return held.all if row is None else held.at(row, column, cell)
    except (UndecodableError, InvalidSyntaxError) as error:
        raise ValueError(f"line {error.row}: {error.reason}") from error
    except (TooDeepError, RecursionError, MemoryError) as error:
        raise ValueError(engine.TOO_DEEP) from error


def load_settings(path: PathName = ".", *, config: PathName | None = None) -> Settings:
    """The settings that the command line would find for a file or folder: those of the nearest configuration.

    With `config` they are what that file says, wherever `path` is. ``Settings()`` are the defaults, and
    ``msgspec.structs.replace(settings, select=("TDL2",))`` gives others. Raises ConfigError.
    """
    return _usable(load(Path(path), config=None if config is None else Path(config)))


def all_rules() -> tuple[RuleInfo, ...]:
    """Every rule, those of installed rule packages among them, sorted by code.

    Raises ConfigError for packages that exclude each other; those that cannot be used are left out.
    """
    return tuple(map(_told, rules.all_rules()))


def _nothing(done: int, total: int) -> None:
    pass


def _told(rule: rules.Rule) -> RuleInfo:
    return RuleInfo(
        code=rule.code,
        name=rule.name,
        package=rule.package.distribution,
        severity=rule.severity,
        default=rule.default and not rule.preview,
        preview=rule.preview,
        summary=rule.summary,
        url=rule.url,
        explanation=rule.doc,
    )


def _named(filename: PathName | None) -> str:
    return NO_FILE if filename is None else reported(os.fspath(filename))


def _settings_for(filename: PathName | None, settings: Settings | None) -> Settings:
    if settings is None and filename is not None:
        settings = load(Path(filename))
    return _usable(settings or Settings())


@lru_cache(maxsize=64)
def _usable(settings: Settings) -> Settings:
    """The same settings. Raises ConfigError for a code that no rule has, or a pattern that cannot be read."""
    select.check(settings)
    return settings
