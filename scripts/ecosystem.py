"""Lint pinned releases of real PyTorch packages and hold the findings against a stored snapshot and judgements.

    python scripts/ecosystem.py lint               fetch, lint, print findings per rule, time, what changed
    python scripts/ecosystem.py diff               only what changed; exit 1 if anything did
    python scripts/ecosystem.py update             lint and make the result the snapshot
    python scripts/ecosystem.py judge              findings nobody has judged yet, with their code
    python scripts/ecosystem.py judge ID.. --verdict true --reason "why"
    python scripts/ecosystem.py advice             lint with the rules that are off, draw a sample to judge
    python scripts/ecosystem.py gate               what is turned away unread must hold nothing; exit 1 if it does
    python scripts/ecosystem.py table              write the precision tables into docs/ecosystem.md (--check: compare)
    python scripts/ecosystem.py pin NAME==VERSION  add a release to the list

Releases come from the package index into a cache. Exit codes: 0, 1 (differences, a stale table), 2 (it did not work,
or the linter itself failed on a release).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import command
import corpus
import hidden
import measured
import tables
import verdicts
from corpus import CorpusError, Release
from verdicts import Finding, Verdict

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from torchdevlint.rules import all_rules  # noqa: E402

ADVICE = ("TDL5", "TDL6")
"""The rules that are off by default."""
MOST_DRAWN = 30


@dataclass(frozen=True)
class Linted:
    """One release after the linter ran on it; `problem` is what went wrong, empty if nothing did."""

    release: Release
    findings: tuple[Finding, ...]
    wall: float
    cpu: float
    problem: str


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("ecosystem", _parser().parse_args(arguments))


def lint(options: argparse.Namespace) -> int:
    results = _lint_all(options)
    judged = verdicts.load_verdicts(options.data)
    _print_times(results, options.jobs)
    _print_rules(results, judged)
    _print_difference(_difference(results, options), options.data)
    return _status(results)


def diff(options: argparse.Namespace) -> int:
    results = _lint_all(options)
    difference = _difference(results, options)
    _print_difference(difference, options.data)
    return _status(results) or int(bool(difference))


def update(options: argparse.Namespace) -> int:
    results = _lint_all(options)
    if _status(results):
        print("ecosystem: snapshot left as it is, since the linter failed", file=sys.stderr)
        return 2
    linted = {result.release.label for result in results}
    kept = [finding for finding in verdicts.load_snapshot(options.data) if finding.label in linted]
    others = [finding for finding in verdicts.load_snapshot(options.data) if finding.label not in linted]
    now = [finding for result in results for finding in result.findings]
    _print_difference(verdicts.compare(now, kept), options.data)
    verdicts.save_snapshot([*others, *now], options.data)
    return 0


def advice(options: argparse.Namespace) -> int:
    results = _lint_all(options, ["--select", ",".join(ADVICE)])
    if _status(results):
        return 2
    drawn = verdicts.draw((finding for result in results for finding in result.findings), options.draw)
    verdicts.save_drawn(drawn, options.data)
    for code, among in sorted({each.finding.code: each.among for each in drawn}.items()):
        print(f"{code}: {sum(each.finding.code == code for each in drawn)} of {among} drawn")
    return 0


def judge(options: argparse.Namespace) -> int:
    snapshot, judged = verdicts.load_snapshot(options.data), verdicts.load_verdicts(options.data)
    snapshot += [each.finding for each in verdicts.load_drawn(options.data)]
    if options.ids:
        return _record(options, snapshot, judged)
    if options.verdict or options.reason:
        raise CorpusError("--verdict and --reason need the ids of findings")
    chosen = {release.label: release for release in _chosen(options)}
    wanted = [
        finding
        for finding in snapshot
        if finding.label in chosen and (options.all or finding.key not in judged) and _has_code(finding, options.code)
    ]
    for finding in wanted:
        _print_finding(finding, chosen[finding.label], judged.get(finding.key), options)
    print(f"{'listed' if options.all else 'not judged'}: {len(wanted)}")
    return 0


def gate(options: argparse.Namespace) -> int:
    """Analyse what the gate turns away as if it stood open, with every rule."""
    print(f"{'release':34}{'files':>7}{'turned away':>13}{'lines':>9}{'found':>7}")
    total = Counter[str]()
    for release in _chosen(options):
        here = hidden.look(corpus.folder(release, options.cache))
        total.update(here)
        print(f"{release.label:34}{here['files']:7,}{here['turned away']:13,}{here['lines']:9,}{here['found']:7,}")
    print(f"{'all':34}{total['files']:7,}{total['turned away']:13,}{total['lines']:9,}{total['found']:7,}")
    return int(bool(total["found"]))


def table(options: argparse.Namespace) -> int:
    releases, judged = corpus.load(options.data), verdicts.load_verdicts(options.data)
    rules = [rule.code for rule in all_rules() if rule.default and not rule.preview]
    texts = {"ecosystem": tables.render(releases, verdicts.load_snapshot(options.data), judged, rules)}
    drawn = verdicts.load_drawn(options.data)
    if drawn:
        texts["advice"] = tables.render_drawn(drawn, judged)
    if options.check:
        command = "python scripts/ecosystem.py table"
        return max(tables.check(options.page, name, text, command) for name, text in texts.items())
    for name, text in texts.items():
        tables.refresh(options.page, name, text)
    return 0


def pin(options: argparse.Namespace) -> int:
    release = corpus.pin(options.requirement, options.set, options.cache)
    others = [other for other in corpus.load(options.data) if other.label != release.label]
    corpus.save([*others, release], options.data)
    print(f"{release.label}: {release.archive}, {release.files} files, {release.lines:,} lines, set {release.set}")
    return 0


def _lint_all(options: argparse.Namespace, more: Sequence[str] = ()) -> list[Linted]:
    chosen = _chosen(options)
    results = []
    for number, release in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {release.label}", file=sys.stderr)
        results.append(_lint_one(release, corpus.folder(release, options.cache), options, more))
    return results


def _lint_one(release: Release, root: Path, options: argparse.Namespace, more: Sequence[str]) -> Linted:
    command = [*shlex.split(options.linter), "check", "--output-format", "json", "--isolated", "--no-cache", *more]
    done = measured.run([*command, "--jobs", str(options.jobs), "."], cwd=root)
    try:
        raw: list[dict[str, Any]] = json.loads(done.stdout)
    except ValueError:
        raw = []
    problem = ""
    if done.returncode not in (0, 1) or bool(raw) != bool(done.returncode) or "Traceback" in done.stderr:
        problem = f"{release.label}: exit {done.returncode} with {len(raw)} findings\n{done.stderr.strip()[-2000:]}"
    return Linted(release, tuple(verdicts.keyed(raw, release, root)), done.wall, done.cpu, problem)


def _chosen(options: argparse.Namespace) -> list[Release]:
    return corpus.select(corpus.load(options.data), options.release, options.set)


def _difference(results: Iterable[Linted], options: argparse.Namespace) -> verdicts.Difference:
    results = list(results)
    linted = {result.release.label for result in results}
    before = [finding for finding in verdicts.load_snapshot(options.data) if finding.label in linted]
    return verdicts.compare([finding for result in results for finding in result.findings], before)


def _status(results: Iterable[Linted]) -> int:
    problems = [result.problem for result in results if result.problem]
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 2 if problems else 0


def _record(options: argparse.Namespace, snapshot: Sequence[Finding], judged: Mapping[str, Verdict]) -> int:
    if not (options.verdict and options.reason and options.reason.strip()):
        raise CorpusError("a judgement needs --verdict and --reason")
    new = {}
    for given in options.ids:
        matches = [finding for finding in snapshot if finding.key == given or finding.id.startswith(given)]
        if len(matches) != 1:
            raise CorpusError(f"{given} names {len(matches)} findings of the snapshot, not one")
        new[matches[0].key] = Verdict(matches[0].key, options.verdict, " ".join(options.reason.split()))
    verdicts.save_verdicts({**judged, **new}.values(), options.data)
    print(f"{len(new)} judged {options.verdict}")
    return 0


def _has_code(finding: Finding, prefix: str) -> bool:
    return finding.code.startswith(prefix)


def _print_times(results: Sequence[Linted], jobs: int) -> None:
    print(f"{'release':34}{'files':>7}{'lines':>11}{'findings':>10}{'wall s':>9}{'cpu s':>9}{'cpu us/line':>13}")
    for result in results:
        _print_time(result.release.label, [result])
    if len(results) > 1:
        _print_time(f"all, --jobs {jobs}", results)


def _print_time(title: str, results: Sequence[Linted]) -> None:
    files, lines = (sum(getattr(result.release, field) for result in results) for field in ("files", "lines"))
    wall, cpu = sum(result.wall for result in results), sum(result.cpu for result in results)
    found = sum(len(result.findings) for result in results)
    print(f"{title:34}{files:7}{lines:11,}{found:10}{wall:9.2f}{cpu:9.2f}{1e6 * cpu / max(lines, 1):13.1f}")


def _print_rules(results: Sequence[Linted], judged: Mapping[str, Verdict]) -> None:
    findings = [finding for result in results for finding in result.findings]
    print(f"\n{'rule':8}{'findings':>10}{'true':>7}{'harmless':>10}{'false':>7}{'not judged':>12}{'precision':>11}")
    for code in sorted({finding.code for finding in findings}):
        _print_rule(code, [finding for finding in findings if finding.code == code], judged)
    _print_rule("all", findings, judged)


def _print_rule(title: str, findings: Sequence[Finding], judged: Mapping[str, Verdict]) -> None:
    t = verdicts.tally(findings, judged)
    print(f"{title:8}{t.findings:10}{t.true:7}{t.harmless:10}{t.false:7}{t.unjudged:12}{t.precision:>11}")


def _print_difference(difference: verdicts.Difference, data: Path) -> None:
    judged = verdicts.load_verdicts(data)
    groups = (("new", "+", difference.added), ("gone", "-", difference.removed), ("reworded", "~", difference.reworded))
    print("\nagainst the snapshot:" if difference else "\nas in the snapshot")
    for _, sign, findings in groups:
        for finding in findings:
            known = f" [{judged[finding.key].verdict}]" if finding.key in judged else ""
            print(f"{sign} {finding.label}/{finding.path}:{finding.row}: {finding.code} {finding.message}{known}")
    if difference:
        print(", ".join(f"{len(findings)} {word}" for word, _, findings in groups))
        changed = Counter(finding.code for _, _, findings in groups for finding in findings)
        print("by rule: " + ", ".join(f"{code} {count}" for code, count in sorted(changed.items())))


def _print_finding(finding: Finding, release: Release, known: Verdict | None, options: argparse.Namespace) -> None:
    print(f"{finding.id}  {finding.label}/{finding.path}:{finding.row}: {finding.code} {finding.message}")
    if known:
        print(f"          {known.verdict}: {known.reason}")
    path = corpus.folder(release, options.cache) / finding.path
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    first = max(1, finding.row - options.context)
    for row, text in enumerate(lines[first - 1 : finding.row + options.context], start=first):
        print(f"{'>' if row == finding.row else ' '}{row:6} | {text}")
    print()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--data", type=Path, default=HERE / "ecosystem", help="folder of releases, snapshot, verdicts")
    common.add_argument("--cache", type=Path, default=corpus.default_cache(), help="archives and their unpacked code")
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--set", choices=(*corpus.SETS, "all"), default="gating", help="default: %(default)s")
    chosen.add_argument("--release", action="append", default=[], metavar="NAME[==VERSION]", help="instead of --set")
    linting = argparse.ArgumentParser(add_help=False)
    linting.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the linter; default: all cores")
    linting.add_argument("--linter", default=f"{shlex.quote(sys.executable)} -m torchdevlint", help="command to run")

    for run in (lint, diff, update):
        commands.add_parser(run.__name__, parents=[common, chosen, linting]).set_defaults(run=run)
    commands.add_parser("gate", parents=[common, chosen]).set_defaults(run=gate)
    drawing = commands.add_parser("advice", parents=[common, chosen, linting])
    drawing.add_argument("--draw", type=int, default=MOST_DRAWN, help="findings of each rule; default: %(default)s")
    drawing.set_defaults(run=advice)
    judging = commands.add_parser("judge", parents=[common, chosen])
    judging.add_argument("ids", nargs="*", metavar="ID", help="ids or keys of findings in the snapshot")
    judging.add_argument("--verdict", choices=tuple(verdicts.VERDICTS))
    judging.add_argument("--reason", help="one line")
    judging.add_argument("--code", default="", help="list only rules whose code starts like this")
    judging.add_argument("--all", action="store_true", help="list judged findings too")
    judging.add_argument("--context", type=int, default=6, help="lines shown on either side")
    judging.set_defaults(run=judge)
    rendering = commands.add_parser("table", parents=[common])
    rendering.add_argument("--page", type=Path, default=HERE.parent / "docs" / "ecosystem.md")
    rendering.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is stale")
    rendering.set_defaults(run=table)
    pinning = commands.add_parser("pin", parents=[common])
    pinning.add_argument("requirement", metavar="NAME==VERSION")
    pinning.add_argument("--set", choices=corpus.SETS, default="extended")
    pinning.set_defaults(run=pin)
    return parser


if __name__ == "__main__":
    sys.exit(main())
