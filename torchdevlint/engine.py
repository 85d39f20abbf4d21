"""The one place that orders the stages: bytes, text, tree, facts, reports, diagnostics, suppression.

Whatever a file holds, checking it gives a `FileResult` and never raises: what is wrong with the file is a finding, what
kept the tool from its job is a `Problem`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torchdevlint import rule_packages, rules, select, suppress
from torchdevlint.cache import Cache, Entry, Kept
from torchdevlint.config import ConfigError, Settings, SettingsOf
from torchdevlint.files import absolute, content
from torchdevlint.findings import Reports, describe, judged, of_reports, of_rule
from torchdevlint.flow.facts.files import InvalidSyntax
from torchdevlint.frames import in_one_piece
from torchdevlint.jobs import automatic_jobs
from torchdevlint.model import FileResult, Problem, Run, Span, run_of
from torchdevlint.project.aside import is_aside, is_for_old_python, is_read_when_imported
from torchdevlint.project.modules import HELD, LARGEST, ModuleFile, digest_of
from torchdevlint.project.reach import may_import_findings
from torchdevlint.project.tree import forget
from torchdevlint.project.uses import Project, around
from torchdevlint.source.gate import may_hold_findings
from torchdevlint.source.notebook import NOTEBOOK, Content, content_of
from torchdevlint.source.text import Source, UndecodableError
from torchdevlint.suppress import Suppressions
from torchdevlint.syntax.document import Document, parsed
from torchdevlint.syntax.errors import TooDeepError

if TYPE_CHECKING:
    from torchdevlint.flow.recording import Recording

_APPLE_DOUBLE = b"\x00\x05\x16\x07"
"""What macOS puts beside a file where it cannot keep its attributes, under its name after ``._``, starts so."""
REVEALED = "TDL903"
"""The rule that answers comments, whichever rules are selected."""
ITS_OWN = frozenset({"TDL900", "TDL901", "TDL902", REVEALED})
"""Rules about suppressions and broken files, which inside flake8 are flake8's business, and about our own comments."""
Worth = Callable[[], Entry] | None
"""Gives what is worth keeping of an analysis: its digests take a hundredth of the time, and not every run keeps any."""
TOO_DEEP = "too deeply nested to be analysed"


@in_one_piece
def check_paths(
    files: Sequence[str],
    settings: SettingsOf,
    jobs: int = 1,
    done: Callable[[], None] = lambda: None,
    cache: Cache | None = None,
) -> Run:
    """Check `files` in `jobs` processes (0: as many as the work is worth) and call `done` after each.

    The outcome depends neither on `jobs`, nor on the order of `files`, nor on what is in the `cache`. A file whose
    configuration cannot be used is a problem.
    """
    results = []
    for result in each_checked(files, settings, jobs, cache):
        results.append(result)
        done()
    return run_of(results)


def each_checked(
    files: Sequence[str], settings: SettingsOf, jobs: int = 1, cache: Cache | None = None
) -> Generator[FileResult, None, None]:
    """The result for each of `files`, in order of their names, as soon as it and those before it are there."""
    forget()
    ordered = sorted(files)
    work: list[tuple[str, Settings]] = []
    kept: dict[str, FileResult] = {}
    for file in ordered:
        try:
            own = settings.of(file)
            known = None if cache is None else _from_cache(cache, file, own)
        except ConfigError as error:
            known = _failed(file, str(error))
        if known is None:
            work.append((file, own))
        else:
            kept[file] = known
    missing = iter(work)
    with closing(_stream(work, jobs or automatic_jobs([file for file, _ in work]), cache is not None)) as stream:
        for file in ordered:
            result = kept.get(file)
            if result is None:
                (_, own), (result, entry) = next(missing), next(stream)
                if cache is not None and entry is not None:
                    cache.put(absolute(file), entry, own)
            yield result


def _from_cache(cache: Cache, file: str, settings: Settings) -> FileResult | None:
    """The result for a file whose analysis is known to hold."""
    codes = select.selected_for(settings, file)
    kept = cache.get(absolute(file), codes, settings)
    if kept is None or not (kept.reports or kept.pragmas):
        return None if kept is None else FileResult(file)
    try:
        data = content(file)
        if digest_of(data) != kept.digest:
            return None
        decoded = content_of(data, file)
        suppressions = suppress.of(decoded, kept.joined, settings.ignore_noqa)
        return of_reports(kept.reports, decoded, file, settings, codes, suppressions, ran=codes)
    except (OSError, UndecodableError, RecursionError):
        return None


def _stream(
    files: Sequence[tuple[str, Settings]], jobs: int, keeping: bool
) -> Generator[tuple[FileResult, Entry | None], None, None]:
    check = partial(_check_file, keeping=keeping)
    if jobs == 1:
        yield from map(check, files)
        return
    from torchdevlint import pool
    from torchdevlint.flow import analyse  # noqa: F401 (forks have what was imported before them)

    yield from pool.each(check, _lost, files, jobs)


def check_file(filename: str, settings: Settings) -> FileResult:
    """Check one file of the file system."""
    return _check_file((filename, settings), keeping=False)[0]


def _check_file(of: tuple[str, Settings], keeping: bool) -> tuple[FileResult, Entry | None]:
    """The result for a file, with what is worth keeping of its analysis, if anything is kept."""
    filename, settings = of
    try:
        data = content(filename)
    except FileNotFoundError:
        return _failed(filename, "the file has vanished"), None
    except OSError as error:
        return _failed(filename, f"cannot be read: {error.strerror or error}"), None
    result, worth = _check(data, filename, settings, saved=True)
    return result, worth() if keeping and worth is not None else None


@in_one_piece
def check_bytes(data: bytes, filename: str, settings: Settings, recording: Recording | None = None) -> FileResult:
    """Check a file whose content is at hand; `filename` need not exist, and what imports it sees what is saved.

    A `recording` remembers what the inference held each expression to be. With one, a file is analysed also if it
    cannot hold a finding; it has no machine if the file is none that can be analysed.
    """
    return _check(data, filename, settings, saved=False, recording=recording)[0]


def _check(
    data: bytes, filename: str, settings: Settings, saved: bool, recording: Recording | None = None
) -> tuple[FileResult, Worth]:
    try:
        result, worth = _check_bytes(data, filename, settings, saved, recording)
    except Exception as error:  # noqa: BLE001 (one file must not end the run)
        return _failed(filename, f"internal error: {describe(error)}"), None
    unusable = rules.unusable()
    return (replace(result, problems=(*unusable, *result.problems)), None) if unusable else (result, worth)


def _check_bytes(
    data: bytes, filename: str, settings: Settings, saved: bool, recording: Recording | None
) -> tuple[FileResult, Worth]:
    path, digest = absolute(filename), digest_of(data)
    module = None if filename.endswith(NOTEBOOK) else HELD.library.held(path, digest)  # cells say where they are
    codes = rules.usable(select.selected_for(settings, filename))
    try:
        if module is None:
            document = parsed(content_of(data, filename))
        else:
            document = Document(Content(module.source.text), module.tree)
    except UndecodableError as error:
        part = "notebook" if filename.endswith(NOTEBOOK) else "file"
        aside = saved and is_read_when_imported(filename, data)
        facts = [InvalidSyntax(Span(*2 * (error.row, 1)), error.reason, part, hurts_nobody=aside)]
        reports, problems = judged([] if data.startswith(_APPLE_DOUBLE) else facts, filename, codes)
        return of_reports(reports, Content(""), filename, settings, codes, suppress.read(""), problems), None
    except (TooDeepError, RecursionError, MemoryError):
        return _failed(filename, TOO_DEEP), None
    return _check_document(document, module, data, filename, settings, codes, saved, recording)


def _check_document(
    document: Document,
    module: ModuleFile | None,
    data: bytes,
    filename: str,
    settings: Settings,
    codes: frozenset[str],
    saved: bool,
    recording: Recording | None,
) -> tuple[FileResult, Worth]:
    """The result for a file that is Python; `module` is what the library has of it, to which a `saved` one is added."""
    content, tree = document.content, document.tree
    part = "file" if content.notebook is None else "cell"
    shown = document.errors if part == "file" or b"torch" in data else ()
    old = [is_for_old_python(filename, data, each.reason, part == "cell") for each in shown]
    aside = bool(shown) and saved and is_aside(filename, data)
    errors = [
        InvalidSyntax(Span(*2 * (each.row, each.column)), each.reason, part, known, each.remedy, hurts_nobody=aside)
        for each, known in zip(shown, old, strict=True)
    ]
    reports, problems = judged(errors, filename, codes)
    suppressions = suppress.of(content, ignore_noqa=settings.ignore_noqa)
    worth = None
    if tree is not None:
        if module is None:
            module = ModuleFile(absolute(filename), Source(content.text, tree), tree, digest_of(data))
            if saved and (content.notebook is None or len(data) > LARGEST):
                HELD.library.keep(module, len(data))
        text = data if content.notebook is None else content.text.encode("utf-8", "surrogatepass")
        revealed = suppressions.revealed
        if revealed and recording is None:
            from torchdevlint.flow import recording as seen

            recording = seen.Recording()
        found = _analysed(text, module, filename, settings, codes, suppressions, recording, revealed)
        if isinstance(found, Problem):
            return FileResult(filename, problems=(found,)), None
        (more, further), worth = found
        reports, problems = reports + more, problems + further
    ran = codes if not errors else frozenset()
    result = of_reports(reports, content, filename, settings, codes, suppressions, problems, ran)
    return result, None if result.problems or errors else worth


def _analysed(
    data: bytes,
    module: ModuleFile,
    filename: str,
    settings: Settings,
    codes: frozenset[str],
    suppressions: Suppressions,
    recording: Recording | None = None,
    revealed: tuple[int, ...] = (),
) -> tuple[Reports, Worth] | Problem:
    """What the rules `codes` say of a file that was parsed, and what is worth keeping of it if it is on disk.

    A file that cannot hold a finding, for what it says itself or for what it imports, is not analysed, unless that is
    to be recorded, as for rows that are to be `revealed`. Nothing of those is kept: the comments do not stay.
    """
    project = around(filename, HELD.library)
    passes = may_hold_findings(data, rules.words(codes))
    passes = passes or (project is not None and may_import_findings(module, project))
    found: Reports | Problem = ([], [])
    if passes or recording is not None:
        found = _reports(module.tree, module.source, filename, settings, codes, project, recording, revealed)
    if isinstance(found, Problem):
        return found
    reports, problems = found
    if project is None or problems or revealed:
        return found, None

    def worth() -> Entry:
        joined = suppressions.joined_at(report.span.row for _, report in reports) if reports else ()
        pragmas = (passes or bool(rule_packages.installed())) and suppressions.may_be_unused
        return Entry(Kept(module.bytes_digest, pragmas, tuple(reports), joined), codes, project.uses())

    return found, worth


@in_one_piece
def check_tree(
    tree: ast.Module,
    text: str,
    filename: str,
    settings: Settings,
    shown: Callable[[str], bool] = lambda _code: True,
    cache: Cache | None = None,
    saved: bool = False,
) -> FileResult:
    """Check a file that flake8 has parsed, and that others of its project see too if it is `saved`: read from disk.

    Selection and ``# noqa`` are left to flake8, and the rules of `ITS_OWN` are not asked; nor need one be whose code
    would not be `shown`. What is new goes into the `cache` at once.
    """
    stable = (rule.code for rule in rules.identities() if settings.preview or not rule.preview)
    codes = frozenset(filter(shown, stable)) - ITS_OWN
    data = text.encode("utf-8", "surrogatepass")
    module = ModuleFile(absolute(filename), Source(text, tree), tree, digest_of(data))
    suppressions = suppress.read(text, noqa=False)
    kept = None if cache is None else cache.get(module.path, codes, settings)
    if kept is not None and kept.digest == module.bytes_digest:
        return of_reports(kept.reports, Content(text), filename, settings, codes, suppressions)
    if unusable := rules.unusable():
        return FileResult(filename, problems=unusable)
    shared = HELD.library.instead_of(module) if saved else module
    found = _analysed(data, shared, filename, settings, codes, suppressions)
    if isinstance(found, Problem):
        return FileResult(filename, problems=(found,))
    (reports, problems), worth = found
    if cache is not None and worth is not None:
        cache.put(module.path, worth(), settings)
        cache.save()
    return of_reports(reports, Content(text), filename, settings, codes, suppressions, problems)


def _reports(
    tree: ast.Module,
    source: Source,
    filename: str,
    settings: Settings,
    codes: frozenset[str],
    project: Project | None,
    recording: Recording | None,
    revealed: tuple[int, ...],
) -> Reports | Problem:
    """What the rules `codes` say of a file, by code, and which of them raised; or what kept all of them from it."""
    from torchdevlint.flow.analyse import analyse
    from torchdevlint.flow.vouch.releases import with_what_is_there

    try:
        facts = analyse(tree, source, settings, rules.facts_of(codes), project, rules.observers(codes), recording)
        if revealed and recording is not None:
            from torchdevlint.flow.telling import revealed as told

            facts += told.revealed(recording, revealed)
    except (RecursionError, MemoryError):
        if rules.observers(codes).import_all():  # which takes some of the stack where it is done on the way
            return _reports(tree, source, filename, settings, codes, project, recording, revealed)
        return Problem(filename, TOO_DEEP)
    except Exception as error:  # noqa: BLE001 (one file must not end the run)
        rule = rules.raising(error)
        if rule is None or rule.code not in codes:
            return Problem(filename, f"internal error in the inference: {describe(error)}")
        found = _reports(tree, source, filename, settings, codes - {rule.code}, project, recording, revealed)
        return found if isinstance(found, Problem) else (found[0], [of_rule(rule, filename, error), *found[1]])
    reports, problems = judged(facts, filename, codes | {REVEALED} if revealed else codes)
    return [(code, with_what_is_there(each, source.text, project)) for code, each in reports], problems


def _failed(filename: str, message: str) -> FileResult:
    return FileResult(filename, problems=(Problem(filename, message),))


def _lost(of: tuple[str, Settings]) -> tuple[FileResult, None]:
    return _failed(of[0], "the process that analysed this file died"), None
