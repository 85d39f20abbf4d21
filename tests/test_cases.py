"""Every literate case: exact findings, a fixed block that is clean, programs that do what the case says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

import pytest
from msgspec.structs import replace

from tests.casefile import ALL, COMPARED, Case, further_lines, lint, read_cases, sampled, settings_for
from tests.conftest import HoldAll, Program, Programs, python
from torchdevlint.config import Settings
from torchdevlint.fix.choice import is_applicable
from torchdevlint.fix.text import Fixed, fix_bytes
from torchdevlint.model import Diagnostic
from torchdevlint.rules import Rule, all_rules
from torchdevlint.runtime.verify.probe import read

CASES = read_cases()
HITS = [case for case in CASES if case.want]
RUNNING = [case for case in CASES if case.run]
ABOUT_TWO_DEVICES = ("TDL003", "TDL004", "TDL005", "TDL006", "TDL014", "TDL101")
ILL = sorted({case.rule for case in RUNNING if case.want and case.run and case.run.symptom != "ok"})
UNFIXED = frozenset(
    "TDL105 TDL106 TDL107 TDL307 TDL308 TDL309 TDL402 TDL404 TDL502 TDL503 TDL602 TDL603 TDL604 TDL605".split()
)
"""Rules of which no case that runs has all its findings fixed."""
NOT_SIMULATED = {
    "TDL201: a scripted model with a place: keyword or second argument": "Saving a module that torch.jit compiled",
}
"""Programs that use what the simulated backend refuses, and what it then says."""


def each(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """The cases of a rule are one test: thousands of tests cost more than what they hold.

    They are one worker's as well: their programs share a process, and what is asked of them its answers.
    """
    params = [
        pytest.param([case for case in cases if case.rule == rule], id=rule, marks=together(rule))
        for rule in sorted({case.rule for case in cases})
    ]
    return pytest.mark.parametrize("cases", params)


def together(rule: str) -> pytest.MarkDecorator:
    return pytest.mark.xdist_group(f"cases of {rule}")


def places(findings: Iterable[Diagnostic]) -> set[tuple[int, str]]:
    return {(one.span.row, one.code) for one in findings}


@each(CASES)
def test_exactly_the_wanted_lines_are_reported(cases: list[Case], hold_all: HoldAll) -> None:
    hold_all(cases, exactly_the_wanted_lines_are_reported)


def exactly_the_wanted_lines_are_reported(case: Case) -> None:
    findings = lint(case.code, settings_for(case.rule))
    reported = places(findings)
    closed = case.gaps & reported
    assert not closed, f"{case.file}:{case.row}: a gap is closed, mark it `want`: {sorted(closed)}"
    assert reported == case.want, f"{case.file}:{case.row}: {case.why}"
    named = [further_lines(one) for one in findings]
    assert frozenset().union(*named) == case.also, f"{case.file}:{case.row}: {case.why}"
    silent = [one.message for one in findings if one.code in ABOUT_TWO_DEVICES and not one.related]
    assert not silent, "a report on two devices says where each side got its own"
    if case.fixed:
        assert places(lint(case.fixed, settings_for(case.rule))) == set(), "the fixed block is not clean"


@each(HITS)
def test_fixes_converge_and_leave_nothing_that_they_fix(cases: list[Case], hold_all: HoldAll) -> None:
    """Where nothing is reported there is nothing to fix."""
    hold_all(cases, fixes_converge_and_leave_nothing_that_they_fix)


def fixes_converge_and_leave_nothing_that_they_fix(case: Case) -> None:
    once = repaired(case)
    assert not once.result.problems, once.result.problems
    left = {one.code for one in once.result.diagnostics if is_applicable(one, fixing(case))}
    assert not left, once.content.decode()
    if once.content != case.code.encode():
        assert fix_bytes(once.content, "case.py", fixing(case)).content == once.content


def fixing(case: Case) -> Settings:
    """The settings of a case, with all fixes but those of suppressions."""
    return replace(settings_for(case.rule), unsafe_fixes=True, unfixable=("TDL9",))


@cache
def repaired(case: Case) -> Fixed:
    """The block of a case after all fixes."""
    return fix_bytes(case.code.encode(), "case.py", fixing(case))


def is_repaired(case: Case) -> bool:
    """Whether a case has a symptom, and fixes leave none of its findings."""
    if case.run is None or case.run.symptom == "ok" or not case.want or case.gaps:
        return False
    left = {one.code for one in repaired(case).result.diagnostics}
    return bool(repaired(case).applied) and left.isdisjoint(code for _, code in case.want)


@pytest.mark.parametrize("most", [COMPARED, pytest.param(ALL, marks=pytest.mark.slow)])
def test_the_hash_seed_decides_nothing(most: int) -> None:
    runs = [python("-m", "tests.casefile", str(most), PYTHONHASHSEED=seed) for seed in ("1", "2")]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    first, second = (json.loads(run.stdout) for run in runs)
    assert first.keys() == {case.id for case in sampled(most)}
    assert {name: found for name, found in first.items() if found != second[name]} == {}


@cache
def programs(rule: str) -> tuple[str, ...]:
    """The blocks of the rule's cases that run, as they stand and fixed, but for what cannot be simulated."""
    return blocks(case for case in RUNNING if case.rule == rule and case.id not in NOT_SIMULATED)


def blocks(cases: Iterable[Case]) -> tuple[str, ...]:
    """As they stand, and fixed."""
    return tuple(block for case in cases for block in (case.code, case.fixed) if block)


def ends_well(answer: dict[str, str]) -> bool:
    return answer["outcome"] == "ok"


def shows(case: Case, answer: dict[str, str]) -> bool:
    """Whether `answer` is the symptom that the case names."""
    assert case.run is not None
    if case.run.symptom == "wrong" and not answer["text"].startswith("AssertionError: "):
        return False
    return answer["outcome"] == "raises" and case.run.text in answer["text"]


@each(RUNNING)
def test_the_program_on_the_cpu(cases: list[Case], run_program: Programs, hold_all: HoldAll) -> None:
    hold_all(cases, partial(runs_on_the_cpu, run_program))


def runs_on_the_cpu(run_program: Programs, case: Case) -> None:
    assert case.run is not None
    right = partial(shows, case) if case.run.anywhere else ends_well
    own = (case.code, *filter(None, [case.fixed])) if case.id in NOT_SIMULATED else programs(case.rule)
    assert right(answer := run_program.among(own, right)(case.code, "cpu")), answer
    if case.fixed:
        assert ends_well(answer := run_program.among(own, ends_well)(case.fixed, "cpu")), answer


def hold(case: Case, device: str, flagged: Program, fixed: Program) -> None:
    """What the case says of an accelerator is what happens on `device`, and is gone from the fixed block."""
    assert right_of(case)(answer := flagged(case.code, device)), answer
    if case.fixed:
        assert ends_well(answer := fixed(case.fixed, device)), answer


def right_of(case: Case) -> Callable[[dict[str, str]], bool]:
    """Tells whether an answer is what the case says of an accelerator."""
    assert case.run is not None
    return ends_well if case.run.symptom == "ok" else partial(shows, case)


@pytest.mark.accelerator
@each(RUNNING)
def test_the_program_on_an_accelerator(
    cases: list[Case], run_program: Programs, accelerator: str, hold_all: HoldAll
) -> None:
    there = int(run_program("", "?")["count"])
    fitting = [case for case in cases if case.run is not None and case.run.accelerators <= there]
    if not fitting:
        pytest.skip(f"the programs take more accelerators than the {there} here")
    fixed = run_program.among(blocks(fitting), ends_well)
    hold_all(fitting, lambda case: hold(case, accelerator, run_program.among(blocks(fitting), right_of(case)), fixed))


@each([case for case in RUNNING if case.id not in NOT_SIMULATED])
def test_the_program_on_a_simulated_accelerator(
    cases: list[Case], run_simulated: Programs, hold_all: HoldAll
) -> None:
    own = programs(cases[0].rule)
    fixed = run_simulated.among(own, ends_well)
    hold_all(cases, lambda case: hold(case, "cuda", run_simulated.among(own, right_of(case)), fixed))


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=together(rule)) for rule in ILL])
def test_the_symptoms_are_gone_after_the_fixes(rule: str, run_program: Programs, run_simulated: Programs) -> None:
    """A fix that names CUDA, as for "gpu", is for machines that have it."""
    own = [case for case in RUNNING if case.rule == rule and is_repaired(case) and case.id not in NOT_SIMULATED]
    assert bool(own) == (rule not in UNFIXED)
    texts = tuple(repaired(case).content.decode() for case in own)
    for case, text in zip(own, texts, strict=True):
        if '"cuda' in case.code or '"cuda' not in text:
            assert ends_well(run_program.among(texts, ends_well)(text, "cpu")), text
        answer = run_simulated.among(texts, ends_well)(text, "cuda")
        assert ends_well(answer), f"{answer}\n{text}"


@each([case for case in RUNNING if case.id in NOT_SIMULATED])
def test_what_cannot_be_simulated_is_refused_in_so_many_words(cases: list[Case], run_simulated: Programs) -> None:
    for case in cases:
        answer = run_simulated(case.code, "cuda")
        assert answer["text"].startswith(f"NotSimulated: {NOT_SIMULATED[case.id]}"), answer


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_hits_near_misses_and_programs(rule: Rule) -> None:
    """Advice about what happens where no accelerator is has its probe only: programs run with and without one."""
    own = [case for case in CASES if case.rule == rule.code]
    assert {case.file for case in own} == {f"{rule.code}-{rule.name}.md"}
    kinds = Counter(
        "hit" if (any(code == rule.code for _, code in case.want)) else "miss" for case in own if not case.gaps
    )
    assert kinds["hit"] >= 5, kinds
    assert kinds["miss"] >= 5, kinds
    if rule.probe is not None and (rule.default or read(rule.probe).needs != "cpu"):
        symptoms = {case.run.symptom for case in own if case.run}
        assert symptoms & {"raises", "wrong"}, f"{rule.code} has no case that shows its symptom"
