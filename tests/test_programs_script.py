"""``benchmarks/programs``: how a suite under simulation is compared and judged, and the table of what was measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [str(ROOT / "benchmarks" / "programs"), str(ROOT / "scripts")]
NAMES = ("run", "table", "stored", "compared", "suites", "chosen", "execute", "parts", "real")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """`run.py`, imported with the modules beside it; other benchmarks have modules of the same names."""
    hidden = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    monkeypatch.setattr(sys, "path", [*FOLDERS, *sys.path])
    import run

    yield run
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(hidden)


@pytest.fixture
def verdicts(tmp_path: Path) -> Path:
    path = tmp_path / "judged.jsonl"
    rows = [
        {"suite": "lib", "test": "tests.a::", "verdict": "bug", "reason": "a.py:1 leaves it on the CPU"},
        {"suite": "lib", "test": "tests.a::saves", "verdict": "limit", "reason": "it says so"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _ran(script: Any, **results: str) -> Any:
    suite = next(iter(script.SUITES))
    outcomes = {name: script.suites_of.Outcome(result, 1.0, "why") for name, result in results.items()}
    return script.Ran(suite, None, 1.0, outcomes)


def test_what_says_something_of_the_simulation(script: Any) -> None:
    plain = _ran(script, same="passed", broken="failed", gpu="skipped", dies="passed", cpu_only="passed")
    simulated = _ran(script, same="passed", broken="failed", gpu="failed", dies="error", cpu_only="skipped")
    one = script.compared.compare(plain, simulated)
    assert (one.gained, one.lost, one.alarmed, one.both) == (("gpu",), ("cpu_only",), ("dies", "gpu"), ("broken",))
    assert one.run == 4


def test_a_test_with_another_device_is_the_same_test(script: Any) -> None:
    suite = script.Suite("lib", "1.0", "", ("tests",), twin=("cuda", "cpu"))
    plain = _ran(script, **{"a::x[3-cpu]": "passed", "a::y[cpu]": "failed", "a::cpu": "passed", "a::z[cpu2]": "passed"})
    simulated = _ran(script, **{"a::x[3-cuda]": "failed", "a::y[cuda]": "failed", "a::cuda": "failed"})
    one = script.compared.compare(replace(plain, suite=suite), replace(simulated, suite=suite))
    assert (one.alarmed, one.both) == (("a::cuda", "a::x[3-cuda]"), ("a::y[cuda]",))
    assert (one.gained, one.lost) == (("a::cuda",), ("a::cpu", "a::z[cpu2]"))


@pytest.mark.slow
def test_parts_of_a_suite_that_ran_on_both_are_one_result(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = script.suites_of.command  # without pytest-timeout, which tests of this package do not bring
    without = lambda *given: [one for one in whole(*given) if not one.startswith("--timeout")]  # noqa: E731
    monkeypatch.setattr(script.suites_of, "command", without)
    home, results = tmp_path / "lib-1.0", tmp_path / "results"
    suite = script.Suite("lib", "1.0", "", ("tests",))
    for part, body in {"one": "pass", "two": "assert 'CUDA_VISIBLE_DEVICES' in os.environ", "three": "pass"}.items():
        (home / "tests" / part).mkdir(parents=True)
        text = f"import os\ndef test_{part}():\n    {body}\n"
        (home / "tests" / part / f"test_{part}.py").write_text(text, encoding="utf-8")

    def run(part: str, accelerators: int | None) -> None:
        place = script.parts.folder(results, part)
        paths = script.parts.paths(part)
        script.suites_of.run(suite, tmp_path, sys.executable, accelerators, place, ROOT, paths)

    for part in ("tests/one", "tests/two"):
        run(part, None)
        run(part, 2)
    run("tests/three", None)
    plain, simulated = script.parts.together(suite, 2, results)
    assert plain.files == simulated.files == {"tests/one/test_one.py", "tests/two/test_two.py"}
    assert (plain.paths, plain.among, round(plain.share, 2)) == (("tests/one", "tests/two"), 3, 0.67)
    one = script.compared.compare(plain, simulated)
    assert (one.run, one.alarmed) == (2, ("tests.two.test_two::test_two",))
    assert simulated.cpu == sum(part.cpu for part in script.parts.stored(suite, 2, results).values())


def test_a_part_that_breaks_stops_no_other(script: Any) -> None:
    done, told = [], []

    def run_one(part: str) -> None:
        if part == "b":
            raise script.CorpusError("crashed")
        done.append(part)

    script.parts.run("abc", run_one, told.append)
    assert (done, told) == (["a", "c"], ["b: crashed"])


def test_the_longest_verdict_that_fits_holds(script: Any, verdicts: Path) -> None:
    judged = script.compared.judge(
        "lib", ["tests.a::moves", "tests.a::saves", "tests.b::runs"], script.compared.load(verdicts)
    )
    assert (judged["bug"], judged["limit"], judged[""]) == (["tests.a::moves"], ["tests.a::saves"], ["tests.b::runs"])
    other = script.compared.judge("other", ["tests.a::moves"], script.compared.load(verdicts))
    assert other[""] == ["tests.a::moves"]


def test_a_verdict_has_a_reason(script: Any, verdicts: Path) -> None:
    verdicts.write_text('{"suite": "lib", "test": "a", "verdict": "bug", "reason": " "}\n', encoding="utf-8")
    with pytest.raises(script.CorpusError, match="a reason"):
        script.compared.load(verdicts)


def test_results_are_replaced_one_by_one(script: Any, tmp_path: Path) -> None:
    stored = script.stored
    path = tmp_path / stored.PROGRAMS
    first, second = (stored.StoredProgram(name, "", "", "2.13.0", "works", 0) for name in "ab")
    stored.merge(path, [second, first], "name", [])
    timed = stored.StoredProgram("b", "", "", "2.13.0", "works", 0, stored.Seconds(1.0, 2.0))
    stored.merge(path, [timed], "name", stored.load_programs(tmp_path))
    assert stored.load_programs(tmp_path) == [first, timed]


def test_the_table_of_a_page(
    script: Any, verdicts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = script.stored
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    alarmed = {"tests.a::moves": "RuntimeError", "tests.b::runs": "TypeError"}
    suite = stored.StoredSuite("lib", "1.0", "2.13.0", 1200, 3, 0, alarmed, 0.5, stored.Seconds(10.0, 25.0))
    part = replace(suite, run=20, alarmed={}, share=0.25, paths=("tests/a", "tests/b"))
    stored.merge(tmp_path / stored.SUITES, [part], "row", [])
    stored.merge(tmp_path / stored.SUITES, [suite], "row", stored.load_suites(tmp_path))
    assert stored.load_suites(tmp_path) == [suite, part]
    stored.merge(
        tmp_path / stored.PROGRAMS,
        [stored.StoredProgram("working/mlp", "", "", "2.13.0", "works", 0)],
        "name",
        [],
    )
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- programs:begin -->\n<!-- programs:end -->\nafter\n", encoding="utf-8")
    command = ["table", "--verdicts", str(verdicts)]
    assert script.main([*command, "--check", str(page)]) == 1
    assert script.main([*command, "--write", str(page)]) == 0
    assert script.main([*command, "--check", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| lib 1.0 (sampled) | 1,200 | 3 | 2.5 | 1 | 0 | 0 | 0 | 0 | 1 |" in text
    assert "| lib 1.0 (parts: 25% of its test files) | 20 |" in text
    assert "\nParts of lib: `tests/a`, `tests/b`.\n" in text
    assert "| `working/mlp` | torch | works | 0 |" in text
    assert "- lib, `tests.a::` (1 test), bug: a.py:1 leaves it on the CPU" in text
    one_cause = [script.compared.Verdict("lib", f"tests.{name}::", "bug", "a condition on the CPU") for name in "ab"]
    told = script.table.page([], [suite], [], one_cause)
    assert "- lib, `tests.a::` and 1 more place (2 tests), bug: a condition on the CPU" in told
    assert "plain CPU" not in text
    assert "is stale" in capsys.readouterr().err


def test_a_gpu_is_held_against_what_was_simulated(script: Any, tmp_path: Path) -> None:
    suite = script.Suite("lib", "1.0", "", ("tests",))
    moved = "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'"
    outcomes = {
        "both": ["failed", 0.1, moved],
        "jit": ["passed", 0.1, ""],
        "away": ["skipped", 0.0, "no faiss"],
        "missed": ["error", 0.1, moved],
        "network": ["failed", 0.1, "ConnectionError: no route to host"],
        "fine": ["passed", 0.1, ""],
    }
    ran = {"cpu": 1.0, "paths": [], "files": [], "among": 1, "outcomes": outcomes}
    (tmp_path / "lib-1.0.real.json").write_text(json.dumps(ran), encoding="utf-8")
    machine = {"torch": "2.11.0", "gpu": "A GPU"}
    (tmp_path / "lib-1.0.machine.json").write_text(json.dumps(machine), encoding="utf-8")
    of = partial(script.StoredSuite, "lib", torch="2.13.0", run=6, gained=0, both=0)
    alarmed = {"both": moved, "jit": "limit", "away": "limit"}
    rows = [of("1.0", alarmed=alarmed), of("0.9", alarmed={"fine": "old"})]
    row = script.real.compare(suite, script.real.load(suite, tmp_path), rows)
    assert (row.run, row.alarmed, row.failed, row.others) == (5, 3, 1, 1)
    assert (row.passed, row.only) == ({"jit": "limit"}, {"missed": moved})
    page = script.table.of_real([row])
    assert "| lib 1.0 | 5 | 3 | 1 | 1 | 1 | 1 |" in page
    assert "- lib, `jit`, only simulated: limit\n- lib, `missed`, only on the GPU: RuntimeError" in page
    script.stored.merge(tmp_path / script.stored.REAL, [row], "library", [])
    assert script.stored.load_real(tmp_path) == [row]


def test_a_part_of_many_files_has_a_folder_of_its_own(script: Any, tmp_path: Path) -> None:
    files = [f"tests/attributions/test_number_{number}.py" for number in range(30)]
    one, other = (script.parts.folder(tmp_path, ",".join(each)) for each in (files, files[:-1]))
    one.mkdir(parents=True)
    assert one != other
    assert script.parts.folder(tmp_path, "tests/losses").name == "tests.losses"


def test_of_a_long_suite_the_same_files_run_each_time(script: Any, tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / "tests" / f"part{number % 2}").mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / f"part{number % 2}" / f"test_{number}.py").touch()
    (tmp_path / "tests" / "helper.py").touch()
    suite = script.Suite("lib", "1.0", "", ("tests", "--device=all"), share=0.3)
    *files, option = suite.drawn(tmp_path)
    assert option == "--device=all"
    assert len(files) == 3
    assert files == sorted(files)
    assert all(Path(file).name.startswith("test_") and (tmp_path / file).is_file() for file in files)
    assert suite.drawn(tmp_path) == [*files, option]
    assert script.Suite("lib", "1.0", "", ("tests", "-x")).drawn(tmp_path) == ["tests", "-x"]
    part = script.Suite("lib", "1.0", "", ("tests/part0", "--ignore=tests/part0/test_2.py"))
    assert part.files(tmp_path) == [f"tests/part0/test_{number}.py" for number in (0, 4, 6, 8)]


def test_a_suite_is_written_from_its_commit(script: Any, tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(command, cwd=origin, check=True, capture_output=True, text=True).stdout.strip()

    origin = tmp_path / "clones" / "owner" / "lib"
    (origin / "tests").mkdir(parents=True)
    (origin / "tests" / "test_it.py").write_text("assert True\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", "tests")
    git("commit", "--quiet", "-m", "first")
    commit = git("rev-parse", "HEAD")
    suite = script.Suite("lib", "1.0", "", ("tests",), repository="owner/lib", commit=commit)
    script.suites_of.fetch(suite, tmp_path / "suites", sys.executable, tmp_path / "clones", "nowhere")
    assert (tmp_path / "suites" / "lib-1.0" / "tests" / "test_it.py").read_text(encoding="utf-8") == "assert True\n"


def test_a_suite_that_cannot_be_collected_is_no_result(script: Any, tmp_path: Path) -> None:
    junit = tmp_path / "lib.xml"
    junit.write_text('<testsuite><testcase classname="" name="a"><error message="no"/></testcase></testsuite>', "utf-8")
    suite = script.Suite("lib", "1.0", "", ("tests",))
    one, two = (script.suites_of.Finished(code, "1 error during collection", "", 1.0, 1.0, 0) for code in (1, 2))
    assert script.suites_of._read(junit, suite, one)["::a"].result == "error"
    with pytest.raises(script.CorpusError, match="1 error during collection"):
        script.suites_of._read(junit, suite, two)


def test_a_test_with_a_failed_subtest_has_failed(script: Any, tmp_path: Path) -> None:
    junit = tmp_path / "lib.xml"
    cases = '<testcase classname="" name="a"><failure message="no"/></testcase><testcase classname="" name="a"/>'
    junit.write_text(f"<testsuite>{cases}</testsuite>", "utf-8")
    done = script.suites_of.Finished(1, "", "", 1.0, 1.0, 0)
    told = script.suites_of._read(junit, script.Suite("lib", "1.0", "", ("tests",)), done)
    assert told["::a"].text == "no"
