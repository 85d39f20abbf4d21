"""Which rules run on which file, and how severe they are: `Settings` and codes in, codes out.

A selector is a code, a prefix of codes, or ``ALL``. For one rule the longest selector that fits decides, and between
equally long ones ``ignore`` does. Advice rules are off unless a selector of ``select`` or ``extend-select`` fits them,
rules in preview without ``preview``, whatever is selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from torchdevlint.config import ConfigError, Settings, nearest
from torchdevlint.discover import Patterns, are_patterns, excluding, including, relative
from torchdevlint.model import Diagnostic, Severity
from torchdevlint.rules import Identity, identities

ALL = "ALL"


class UnknownCodeError(ConfigError):
    """A selector that fits no rule."""


def check(settings: Settings) -> None:
    """Raises UnknownCodeError for the first selector anywhere in `settings` that fits no rule, and ConfigError for a
    pattern that cannot be read. The message begins with the configuration file, if there is one.
    """
    source = f"{settings.config_file}: " if settings.config_file is not None else ""
    if settings.config_file is not None and settings.extend is not None:
        source = f"{settings.config_file} or what it extends: "
    try:
        _check(settings)
        excluding(settings)
        including(settings)
    except UnknownCodeError as error:
        raise UnknownCodeError(f"{source}{error}") from None
    except ConfigError as error:
        raise ConfigError(f"{source}{error}") from None


def _check(settings: Settings) -> None:
    for pattern, _ in settings.per_file_ignores:
        if not are_patterns((pattern.removeprefix("!"),)):
            raise ConfigError(f"`{pattern}` in `per-file-ignores` is not a pattern")
    for key, selector in _selectors(settings):
        if not any(fits(selector, rule.code) for rule in identities()):
            raise UnknownCodeError(f"unknown code `{selector}` in `{key}`; did you mean `{_nearest_code(selector)}`?")


def fits(selector: str, code: str) -> bool:
    return selector == ALL or (bool(selector) and code.startswith(selector))


def selected(settings: Settings, rules: Sequence[Identity] | None = None) -> tuple[str, ...]:
    """The codes of the rules that run on a file without ``per-file-ignores``, sorted."""
    candidates = identities() if rules is None else tuple(rules)
    return _selected(candidates, settings.preview, settings.select, settings.extend_select, settings.ignore)


def selected_for(settings: Settings, filename: str) -> frozenset[str]:
    """The codes of the rules that run on a file; its name is relative to the current folder, or absolute."""
    ignored = tuple(ignored_for(settings, filename)) if settings.per_file_ignores else ()
    return _without(selected(settings), ignored)


@lru_cache(maxsize=256)
def _without(codes: tuple[str, ...], ignored: tuple[str, ...]) -> frozenset[str]:
    return frozenset(code for code in codes if not any(fits(selector, code) for selector in ignored))


def ignored_for(settings: Settings, filename: str) -> Iterator[str]:
    """The selectors of every ``per-file-ignores`` entry that holds for a file."""
    path = relative(filename, settings)
    for pattern, selectors in settings.per_file_ignores:
        negated = pattern.startswith("!")
        if _patterns(pattern.removeprefix("!")).covers(path) is not negated:
            yield from selectors


def is_fixable(settings: Settings, code: str) -> bool:
    """Whether the user lets fixes of a rule be applied."""
    return _longest(settings.fixable, code) > _longest(settings.unfixable, code)


def is_asked_for(settings: Settings, code: str) -> bool:
    """Whether a rule is selected by a selector, and not only for being on by default."""
    return _longest((*(settings.select or ()), *settings.extend_select), code) >= 0


def severities(settings: Settings) -> dict[str, Severity]:
    """The severities that the user has set, by code; the longest selector decides."""
    longest_last = sorted(settings.severity, key=lambda item: _length(item[0]))
    return {
        rule.code: Severity(severity)
        for selector, severity in longest_last
        for rule in identities()
        if fits(selector, rule.code)
    }


def fails(settings: Settings, diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any of the findings is as severe as ``fail-on`` asks for."""
    if settings.fail_on == "never":
        return False
    worst_first = list(Severity)
    counting = worst_first[: worst_first.index(Severity(settings.fail_on)) + 1]
    return any(diagnostic.severity in counting and not diagnostic.is_answer for diagnostic in diagnostics)


@lru_cache(maxsize=8)
def _selected(
    rules: tuple[Identity, ...],
    preview: bool,
    select: tuple[str, ...] | None,
    extend: tuple[str, ...],
    ignore: tuple[str, ...],
) -> tuple[str, ...]:
    stable = (rule for rule in rules if preview or not rule.preview)
    return tuple(sorted(rule.code for rule in stable if _on(rule, select, extend, ignore)))


def _on(rule: Identity, select: tuple[str, ...] | None, extend: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    wanted = _longest((*(select or ()), *extend), rule.code)
    if wanted < 0 and select is None and rule.default:
        wanted = 0
    return wanted >= 0 and wanted > _longest(ignore, rule.code)


def _longest(selectors: Iterable[str], code: str) -> int:
    """The length of the longest selector that fits; -1 if none does."""
    return max((_length(selector) for selector in selectors if fits(selector, code)), default=-1)


def _length(selector: str) -> int:
    return 0 if selector == ALL else len(selector)


@lru_cache(maxsize=256)
def _patterns(pattern: str) -> Patterns:
    return Patterns((pattern,))


def _selectors(settings: Settings) -> Iterator[tuple[str, str]]:
    yield from (("select", one) for one in settings.select or ())
    yield from (("extend-select", one) for one in settings.extend_select)
    yield from (("ignore", one) for one in settings.ignore)
    yield from (("fixable", one) for one in settings.fixable)
    yield from (("unfixable", one) for one in settings.unfixable)
    yield from (("per-file-ignores", one) for _, codes in settings.per_file_ignores for one in codes)
    yield from (("severity", one) for one, _ in settings.severity)


def _nearest_code(selector: str) -> str:
    codes = {name: rule.code for rule in identities() for name in (rule.code, rule.name)}
    return codes[nearest(selector, codes)]
