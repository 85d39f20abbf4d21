"""The order of the stages, and what becomes of every kind of bad input."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.conftest import ROOT, needs_fork
from tests.forked import python
from torchdevlint import engine, jobs, rules
from torchdevlint.config import Settings
from torchdevlint.flow import analyse as inference
from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Diagnostic, FileResult, Note, Problem, Report, Severity, Span, run_of
from torchdevlint.project.modules import HELD, digest_of
from torchdevlint.rules import tdl309_pin_device_tensor
from torchdevlint.syntax.parse import parse

LOAD = b"import torch\n\nstate = torch.load(path)\n"


@pytest.fixture
def load_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inference that sees a checkpoint load in every line that says so."""

    def analyse(tree: object, *_: object) -> list[Fact]:
        loads = [node for node in tree.body if "load" in engine.ast.unparse(node)]  # type: ignore[attr-defined]
        return [
            CheckpointLoad(Span(n.lineno, 1, n.lineno, 2), "torch.load", "torch.load(path)", False, False)
            for n in loads
        ]

    monkeypatch.setattr("torchdevlint.flow.analyse.analyse", analyse)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(data: bytes, settings: Settings | None = None) -> FileResult:
    return engine.check_bytes(data, "case.py", settings or Settings())


def codes(result: FileResult) -> list[str]:
    return [diagnostic.code for diagnostic in result.diagnostics]


def with_rule(monkeypatch: pytest.MonkeyPatch, code: str, behave: object) -> None:
    """Replace what one rule does."""
    real = rules.subscribers

    def changed(codes: frozenset[str], kind: type) -> tuple[rules.Rule, ...]:
        return tuple(replace(each, check=behave) if each.code == code else each for each in real(codes, kind))

    monkeypatch.setattr(rules, "subscribers", changed)


@pytest.mark.usefixtures("load_facts")
def test_a_fact_becomes_a_diagnostic() -> None:
    (one,) = check(LOAD).diagnostics
    rule = rules.by_code()["TDL201"]
    assert (one.filename, one.span.row, one.code, one.name) == ("case.py", 3, "TDL201", rule.name)
    assert (one.url, one.noqa_row, one.cell) == (rule.url, 3, None)
    assert one.symptom
    assert one.help


@pytest.mark.usefixtures("load_facts")
def test_a_severity_comes_from_the_settings_then_the_report_then_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    severity: Severity | None = None

    def behave(fact: CheckpointLoad) -> Iterator[Report]:
        yield Report(fact.at, "m", "s", "h", severity=severity)

    with_rule(monkeypatch, "TDL201", behave)
    assert check(LOAD).diagnostics[0].severity is rules.by_code()["TDL201"].severity
    severity = Severity.ERROR
    assert check(LOAD).diagnostics[0].severity is Severity.ERROR
    assert check(LOAD, Settings(severity=(("TDL2", "advice"),))).diagnostics[0].severity is Severity.ADVICE


@pytest.mark.usefixtures("load_facts")
def test_findings_are_sorted_and_never_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    def behave(fact: CheckpointLoad) -> Iterator[Report]:
        for row in (9, fact.at.row, 9):
            yield Report(Span(row, 1, row, 2), "m", "s", "h", notes=(Note("there", Span(1, 1, 1, 2)),))

    with_rule(monkeypatch, "TDL201", behave)
    found = check(LOAD).diagnostics
    assert [one.span.row for one in found] == [3, 9]
    assert found[0].related[0].filename == "case.py"


@pytest.mark.usefixtures("load_facts")
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(ignore=("TDL201",)), []),
        (Settings(select=("TDL0",)), []),
        (Settings(select=("TDL2",)), ["TDL201"]),
        (Settings(per_file_ignores=(("case.py", ("TDL2",)),)), []),
        (Settings(per_file_ignores=(("other.py", ("TDL2",)),)), ["TDL201"]),
    ],
)
def test_rules_that_are_not_selected_say_nothing(settings: Settings, expected: list[str]) -> None:
    assert codes(check(LOAD, settings)) == expected


@pytest.mark.usefixtures("load_facts")
def test_suppressions_come_last_and_unused_ones_are_found() -> None:
    assert codes(check(LOAD.replace(b"(path)", b"(path)  # noqa: TDL201"))) == []
    unused = b"import torch  # noqa: TDL201\n"
    assert codes(check(unused)) == ["TDL900"]
    assert codes(check(unused, Settings(ignore=("TDL900",)))) == []
    assert codes(check(unused, Settings(ignore=("TDL201",)))) == [], "a rule that did not run suppresses nothing"
    assert codes(check(b"import torch  # noqa: TDL201, TDL900\n")) == []


@pytest.mark.usefixtures("load_facts")
def test_inside_flake8_selection_and_noqa_are_flake8s() -> None:
    def found(text: str) -> list[str]:
        tree = parse(text)
        settings = Settings(ignore=("TDL2",))
        return codes(engine.check_tree(tree, text, "case.py", settings))

    assert found("torch.load(p)  # noqa: TDL201\n") == ["TDL201"]
    assert found("torch.load(p)  # torchdevlint: ignore[TDL201]\n") == []
    assert found("x = 1  # noqa: TDL201\n") == []


@pytest.mark.usefixtures("load_facts")
def test_files_that_flake8_has_read_from_the_disk_are_parsed_once(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    text, path = "import torch\ntorch.load(p)\n", tmp_path / "a.py"
    path.write_text(text)
    library = HELD.library
    typed = parse("import os\n" + text)
    engine.check_tree(typed, "import os\n" + text, str(path), Settings())
    assert library.held(str(path), digest_of(text.encode())) is None, "what is being typed is for nobody else"
    tree = parse(text)
    engine.check_tree(tree, text, str(path), Settings(), saved=True)
    held = library.get(str(path))
    assert held is not None
    assert held.tree is tree
    assert codes(engine.check_tree(parse(text), text, str(path), Settings(), saved=True)) == ["TDL201"]
    assert library.get(str(path)) is held


INVALID = {
    "syntax": (b"import os\ndef f(:\n", 2),
    "NUL bytes": (b"x = 1\ny = '\0'\n", 2),
    "wrong encoding": (b"x = 1\n\n# \xff\xfe\n", 3),
    "unknown encoding": (b"# coding: klingon\nx = 1\n", 1),
    "UTF-16": ("x = 1\n".encode("utf-16"), 1),
    "no torch in sight": (b"x = = 1\n", 1),
}


@pytest.mark.parametrize("kind", INVALID)
def test_what_is_no_python_is_a_finding(kind: str) -> None:
    data, row = INVALID[kind]
    result = check(data)
    assert [(one.code, one.span.row) for one in result.diagnostics] == [("TDL901", row)]
    assert result.problems == ()
    assert check(data, Settings(ignore=("TDL901",))) == FileResult("case.py")


def test_a_broken_file_has_no_unused_suppressions() -> None:
    assert codes(check(b"import torch  # noqa: TDL201\ndef f(:\n")) == ["TDL901"]


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"# only a comment", b"x = 1"])
def test_files_with_nothing_in_them(data: bytes) -> None:
    assert check(data) == FileResult("case.py")


DEEP = {
    "parentheses": b"import torch\nx = " + b"(" * 5000 + b")" * 5000,
    "a chain of operators": b"import torch\nx = " + b"1 + " * 100_000 + b"1\n",
    "attributes": b"import torch\nx" + b".a" * 100_000 + b"\n",
    "calls": b"import torch\nx" + b"()" * 100_000 + b"\n",
    "brackets": b"import torch\nx = " + b"[" * 150 + b"]" * 150 + b"\n" + b"y = " + b"-" * 100_000 + b"1\n",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_is_too_deep_is_a_problem(kind: str) -> None:
    result = check(DEEP[kind])
    assert result == FileResult("case.py", problems=(Problem("case.py", engine.TOO_DEEP),))


def test_many_elif_branches_and_a_long_chain_are_not_too_deep() -> None:
    branches = "import torch\nif x == 0:\n    y = 0\n" + "".join(f"elif x == {n}:\n    y = {n}\n" for n in range(150))
    chain = "import torch\ntext = " + " + ".join(["'a'"] * 150) + "\n"
    assert check((branches + chain).encode()).problems == ()


@pytest.mark.slow
def test_a_long_generated_file() -> None:
    text = "import torch\n" + "".join(f"v{row} = torch.zeros({row})\n" for row in range(50_000))
    assert check(text.encode()).problems == ()


@pytest.mark.usefixtures("load_facts")
def test_a_rule_that_raises_is_named_and_the_rest_is_done(monkeypatch: pytest.MonkeyPatch, in_folder: Path) -> None:
    def behave(fact: CheckpointLoad) -> Iterator[Report]:
        raise LookupError("no such thing")

    with_rule(monkeypatch, "TDL201", behave)
    result = check(LOAD + LOAD.replace(b"(path)", b"(path)  # noqa: TDL201"))
    assert result.diagnostics == (), "a suppression of a rule that failed is not unused"
    (problem,) = result.problems
    assert (problem.filename, problem.rule) == ("case.py", "TDL201")
    assert problem.message.startswith(
        "internal error in rule TDL201 (load-without-map-location): LookupError: no such thing (test_engine.py:"
    )
    (in_folder / "broken.py").write_bytes(b"def f(:")
    (in_folder / "load.py").write_bytes(LOAD)
    run = engine.check_paths(["load.py", "broken.py"], Settings())
    assert [one.code for one in run.diagnostics] == ["TDL901"]
    assert [one.filename for one in run.problems] == ["load.py"]


def test_a_rule_that_raises_while_it_looks_on_is_named_and_the_rest_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("no such thing")

    monkeypatch.setattr(tdl309_pin_device_tensor, "is_placed", broken)
    result = check(b"import torch\ntorch.device('gpu')\ntorch.zeros(2).cuda().pin_memory()\n")
    assert [one.code for one in result.diagnostics] == ["TDL303"]
    (problem,) = result.problems
    assert problem.rule == "TDL309"
    assert problem.message.startswith("internal error in rule TDL309 (pin-device-tensor): LookupError: no such thing")


def test_an_error_in_the_inference_costs_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def analyse(*_: object) -> list[Fact]:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("torchdevlint.flow.analyse.analyse", analyse)
    (problem,) = check(LOAD).problems
    assert problem.message.startswith("internal error in the inference: ZeroDivisionError: division")
    assert problem.rule is None


def test_an_error_anywhere_else_costs_its_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.suppress, "of", lambda *_, **__: None)
    (problem,) = check(LOAD).problems
    assert problem.message.startswith("internal error: AttributeError: ")


PIECES = [
    "torch",
    "nn",
    ".",
    "(",
    ")",
    "[",
    "]",
    ":",
    "=",
    "\n",
    "    ",
    "x",
    "def f",
    "if",
    "for x in",
    "with",
    "*",
    ",",
]
PIECES += [
    "class A",
    "return",
    "lambda",
    "f'{x}'",
    "'",
    "#",
    "# noqa: TDL001",
    ".to(d)",
    "\\",
    "\r",
    "\x0c",
    "é",
    "\0",
    "@",
]


@given(st.one_of(st.binary(), st.lists(st.sampled_from(PIECES)).map(lambda pieces: "".join(pieces).encode())))
@tried(max_examples=300, deadline=None)
def test_any_bytes_give_a_result_and_no_problem(data: bytes) -> None:
    result = check(b"import torch\n" + data)
    assert result.problems == ()
    assert {one.code for one in result.diagnostics} <= set(rules.by_code())


def test_files_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, in_folder: Path) -> None:
    def refuse(_: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    run = engine.check_paths(["gone.py"], Settings())
    assert run.problems == (Problem("gone.py", "the file has vanished"),)
    monkeypatch.setattr(engine, "content", refuse)
    run = engine.check_paths(["gone.py"], Settings())
    assert run.problems == (Problem("gone.py", "cannot be read: Permission denied"),)
    assert (run.files, run.diagnostics) == (1, ())


@needs_fork
@pytest.mark.usefixtures("load_facts")
def test_the_number_of_processes_changes_nothing(in_folder: Path) -> None:
    for number in range(70):
        (in_folder / f"m{number}.py").write_bytes(b"def f(:" if number % 7 == 0 else LOAD)
    names = [path.name for path in in_folder.iterdir()] + ["gone.py"]
    one = engine.check_paths(names, Settings(), jobs=1)
    assert len(one.diagnostics) == 70
    assert [result.filename for result in one.results] == sorted(names)
    assert engine.check_paths(names[::-1], Settings(), jobs=3) == one


@needs_fork
@pytest.mark.usefixtures("load_facts")
def test_a_dead_worker_costs_its_file(monkeypatch: pytest.MonkeyPatch, in_folder: Path) -> None:
    gentle = inference.analyse

    def analyse(tree: object, *rest: object) -> list[Fact]:
        if "killer" in engine.ast.unparse(tree):  # type: ignore[call-overload]
            os._exit(7)
        return gentle(tree, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("torchdevlint.flow.analyse.analyse", analyse)
    for number in range(40):
        (in_folder / f"m{number:02}.py").write_bytes(LOAD + b"killer = 1\n" * (number in (5, 6, 33)))
    done = []
    run = engine.check_paths(
        [path.name for path in in_folder.iterdir()], Settings(), jobs=2, done=lambda: done.append(1)
    )
    assert [(one.filename, one.message) for one in run.problems] == [
        (f"m{number:02}.py", "the process that analysed this file died") for number in (5, 6, 33)
    ]
    assert len(run.diagnostics) == 37
    assert len(done) == run.files == 40


def test_little_work_is_done_in_this_process(in_folder: Path) -> None:
    (in_folder / "a.py").write_bytes(LOAD)
    assert jobs.automatic_jobs(["a.py"] * 500) == 1
    assert jobs.automatic_jobs([]) == 1
    (in_folder / "b.py").write_bytes(b"#" * jobs.SMALL_BYTES)
    assert jobs.automatic_jobs(["b.py"]) == 1
    assert jobs.automatic_jobs(["b.py", *["gone.py"] * 10]) >= 1


INTERRUPTED = """\
import os, sys, time
from torchdevlint import cli
from torchdevlint.flow import analyse as inference

def analyse(*_):
    os.write(1, b"working\\n")
    time.sleep(60)

inference.analyse = analyse
cli.main(["check", "--jobs", sys.argv[1], "."])
"""


@needs_fork
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_everything_at_once(jobs: str, in_folder: Path) -> None:
    for number in range(20):
        (in_folder / f"m{number}.py").write_bytes(LOAD)
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, jobs],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for _ in range(int(jobs)):
        assert process.stdout.readline() == "working\n"
    started = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 10
    assert process.returncode == 130
    assert errors.split() == ["interrupted"]


def test_the_diagnostics_of_a_run_are_those_of_its_files() -> None:
    one = Diagnostic("a.py", Span(1, 1, 1, 2), "TDL001", "n", "m", Severity.ERROR, "s", "h", "u", 1)
    run = run_of([FileResult("a.py", (one,), (Problem("a.py", "p"),)), FileResult("b.py")], [Problem(None, "q")])
    assert run.diagnostics == (one,)
    assert run.files == 2
    assert run.problems == (Problem(None, "q"), Problem("a.py", "p"))


TESTING = "def test(model, loader): ...\n"
"""What evaluates a model is no test."""


def test_what_is_advice_of_a_graver_rule_is_reported_where_the_rule_is_selected(tmp_path: Path) -> None:
    """Published weights, and loads of tests; a comment that silences one is not unused by default either."""
    text = "import torch\n\nx = torch.load('a.pt')  # noqa: TDL201\ny = torch.load('b.pt')\n"
    text += "z = torch.hub.load_state_dict_from_url('https://example.org/c.pt')\n"
    asking = Settings(root=tmp_path, extend_select=("TDL2",))
    for name, default, asked in (
        ("a.py", [(4, "warning")], [(4, "warning"), (5, "advice")]),
        ("tests/a.py", [], [(4, "advice"), (5, "advice")]),
        ("pkg/test_a.py", [], [(4, "advice"), (5, "advice")]),
        ("pkg/clip_test.py", [(4, "warning")], [(4, "warning"), (5, "advice")]),
        ("pkg/model_test.py", [(4, "warning")], [(4, "warning"), (5, "advice")]),
        ("latest/a.py", [(4, "warning")], [(4, "warning"), (5, "advice")]),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + {"test_a.py": "def test_load(): ...\n", "model_test.py": TESTING}.get(file.name, ""))
        for settings, expected in ((Settings(root=tmp_path), default), (asking, asked)):
            found = engine.check_file(str(file), settings).diagnostics
            assert [(each.span.row, each.severity.value) for each in found] == expected, name


def test_a_file_is_too_deep_only_if_it_is_with_all_modules_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """To import a check takes some of the stack: which files came before must not show."""
    runs: list[bool] = []
    observer = "torchdevlint.flow.checks.processes.collectives"

    def runs_out(*_: object) -> list[Fact]:
        runs.append(observer in sys.modules)
        raise RecursionError

    rules.observers(frozenset(rules.by_code())).import_all()
    monkeypatch.setattr("torchdevlint.flow.analyse.analyse", runs_out)
    monkeypatch.delitem(sys.modules, observer)
    assert [each.message for each in check(LOAD).problems] == [engine.TOO_DEEP]
    assert runs == [False, True]


BYTES = b"import torch\n\n# caf\xe9\nsize = 3\n"


def test_bytes_of_another_encoding_in_comments_of_what_is_imported_are_read_by_python(in_folder: Path) -> None:
    (in_folder / "sizes.py").write_bytes(BYTES)
    (in_folder / "main.py").write_text("from sizes import size\n\nprint(size)\n")
    run = python("main.py", cwd=in_folder)
    result = engine.check_file("sizes.py", Settings())
    assert run.stdout == "3\n"
    assert (codes(result), result.unread) == ([], True)


@pytest.mark.parametrize(
    ("data", "importer"),
    [(b'import torch\nname = "caf\xe9"\n', "from sizes import name\n"), (BYTES, "import torch\n")],
    ids=["in a text", "of what nobody imports"],
)
def test_bytes_of_another_encoding_are_refused_elsewhere(in_folder: Path, data: bytes, importer: str) -> None:
    (in_folder / "sizes.py").write_bytes(data)
    (in_folder / "main.py").write_text(importer)
    run = python("-c", "import runpy; runpy.run_path('sizes.py')", cwd=in_folder)
    assert run.returncode or data == BYTES
    assert codes(engine.check_file("sizes.py", Settings())) == ["TDL901"]
