"""The script that scores linters on real fixes, here offline on a tiny git repository and with a stand-in linter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.realbugs_place import BAD_LINE_2, FAKE_LINTER, QUIET, REALBUGS, Workplace

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_update_clones_checks_out_scores_and_stores(place: Workplace) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    place.bug("stays", BAD_LINE_2, BAD_LINE_2, [2])
    place.bug("silent", QUIET, QUIET, [2])
    place.lookalike("neg", "load()  # TDL201\n", [1])
    done = place.run("update")
    assert done.returncode == 0, done.stderr
    assert (place.files / "fixed" / "pre" / "pkg" / "fixed.py").read_text(encoding="utf-8") == BAD_LINE_2
    assert (place.files / "fixed" / "post" / "pkg" / "fixed.py").read_text(encoding="utf-8") == QUIET
    assert place.stored() == {
        "linter": "torchdevlint",
        "version": "9.1",
        "found": ["fixed", "stays"],
        "quiet": ["fixed"],
        "alarms": ["neg"],
        "noise": {"stays": 1},
    }
    assert "load yes 3 2 / 1" in " ".join(done.stdout.split())
    assert "1 findings in 27 lines after the fix, 37.04 per 1,000; look-alikes: 1 of 1" in done.stdout
    assert " s of CPU" in done.stdout


def test_a_clone_holds_only_the_commits_that_are_needed_and_files_when_they_are_read(place: Workplace) -> None:
    place.commit("early.py", QUIET)
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    assert place.run("fetch").returncode == 0
    clone = place.root / "clones" / "some" / "repo"

    def objects(kind: str) -> int:
        listed = subprocess.run(
            ["git", "cat-file", "--batch-check=%(objecttype)", "--batch-all-objects"],
            cwd=clone,
            capture_output=True,
            text=True,
            check=True,
        )
        return listed.stdout.split().count(kind)

    assert (objects("commit"), objects("blob")) == (2, 0)
    assert place.run("checkout").returncode == 0
    assert objects("blob") == 2


@pytest.mark.parametrize("name", ["some/repo", "some/repo.git", "some+repo", "some+repo/inner"])
def test_clones_that_exist_are_used(place: Workplace, name: str) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    target = place.root / "clones" / name
    subprocess.run(["git", "clone", "--quiet", "--bare", str(place.remote), str(target)], check=True)
    place.remote.rename(place.root / "gone")
    assert place.run("update").returncode == 0
    assert place.stored()["quiet"] == ["fixed"]


def test_what_cannot_be_had_is_named_scored_without_and_not_stored(place: Workplace) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    place.bug("lost", BAD_LINE_2, QUIET, [2], repo="no/where")
    done = place.run("score")
    assert done.returncode == 0
    assert "lost: no clone of no/where" in done.stderr
    assert "lost/pre/pkg/lost.py" in done.stderr
    assert "load yes 1 1 / 1" in " ".join(done.stdout.split())
    done = place.run("update")
    assert (done.returncode, "2 files lack" in done.stderr) == (2, True)
    assert not (place.data / "results.jsonl").exists()


def test_a_record_whose_size_is_wrong_is_named(place: Workplace) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2], post_lines=4)
    place.run("fetch")
    done = place.run("checkout")
    assert (done.returncode, done.stderr.strip()) == (2, "fixed: post_lines is 4, the file has 9")


@pytest.mark.parametrize(
    ("line", "text", "found"),
    [
        (4, BAD_LINE_2, True),
        (5, BAD_LINE_2, False),
        (9, BAD_LINE_2.replace("201", "201 @9"), True),
        (9, BAD_LINE_2.replace("201", "201 @5"), False),
    ],
    ids=["two lines off", "three lines off", "related place", "related place elsewhere"],
)
def test_a_hit_lies_near_a_labelled_line(place: Workplace, line: int, text: str, found: bool) -> None:
    place.bug("fixed", text, QUIET, [line])
    place.run("update")
    assert bool(place.stored()["found"]) is found


def test_each_version_of_a_record_is_a_project_of_its_own(place: Workplace) -> None:
    """A linter that is silent where it sees more than one file."""
    place.bug("a", BAD_LINE_2, QUIET, [2])
    place.bug("b", BAD_LINE_2, BAD_LINE_2, [2])
    place.linter_is(
        FAKE_LINTER.replace("print(json", 'rows = rows * (len([*pathlib.Path().rglob("*.py")]) == 1)\nprint(json')
    )
    place.run("update")
    assert place.stored()["found"] == ["a", "b"]
    assert place.stored()["noise"] == {"b": 1}


def test_quiet_counts_the_reports_of_the_code_in_the_file(place: Workplace) -> None:
    place.bug("moved", BAD_LINE_2, BAD_LINE_2.replace("pass\nload", "pass\n\nload"), [2])
    place.bug("fewer", BAD_LINE_2 + BAD_LINE_2, BAD_LINE_2 + QUIET, [2])
    place.bug("other", BAD_LINE_2, BAD_LINE_2.replace("TDL201", "TDL003"), [2])
    place.run("update")
    assert place.stored()["found"] == ["fewer", "moved", "other"]
    assert place.stored()["quiet"] == ["fewer", "other"]


def test_a_look_alike_counts_only_reports_on_its_own_lines(place: Workplace) -> None:
    place.lookalike("near", BAD_LINE_2, [3])
    place.lookalike("related", BAD_LINE_2.replace("201", "201 @7"), [7])
    place.lookalike("struck", BAD_LINE_2, [2])
    place.run("update")
    assert place.stored()["alarms"] == ["struck"]


def test_score_stores_nothing_and_says_what_changed(place: Workplace) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    place.bug("later", QUIET.replace("pass", "x  # TDL999", 1), QUIET, [1])
    place.run("update")
    before = place.stored()
    place.linter_is(FAKE_LINTER.replace('"TDL201", "TDL003"', '"TDL999", "TDL003"'))
    done = place.run("score")
    assert "against the stored score of torchdevlint: 1 new, 1 gone\n+ later\n- fixed\n" in done.stdout
    assert place.stored() == before


@pytest.mark.parametrize(
    "source",
    ["raise RuntimeError('a crash')", "print('not json')", "print('[]'); import sys; sys.exit(2)", "print([1])"],
    ids=["traceback", "no json", "exit 2", "no findings"],
)
def test_a_failing_linter_exits_2_and_stores_nothing(place: Workplace, source: str) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    place.linter_is(source)
    done = place.run("update")
    assert (done.returncode, "realbugs: torchdevlint" in done.stderr) == (2, True)
    assert not (place.data / "results.jsonl").exists()


def test_the_grep_baseline_reports_what_its_expressions_match(place: Workplace) -> None:
    place.bug("fixed", "x = torch.load(p)\n", "x = torch.load(p, map_location='cpu')\n", [1])
    place.bug("kept", "x = y.cpu().numpy()\n", "x.to(d)\n", [1])
    assert place.run("update", "--peers", "grep").returncode == 0
    (grep,) = [row for row in place.rows("results.jsonl") if row["linter"] == "grep"]
    assert (grep["found"], grep["quiet"], grep["noise"]) == (["fixed"], ["fixed"], {"kept": 1})


def test_peers_are_read_from_their_own_reports(place: Workplace) -> None:
    """Stand-ins for two peers print what the real ones print, as modules of an interpreter that is also a stand-in."""
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    peers = place.root / "python"
    fix = "fixed/pre/pkg/fixed.py:2:1: TOR102 [*] a message\n--- a/fixed.py\n+pass  # x.py:2:1: TOR102 \n"
    item = {"path": "fixed/post/pkg/fixed.py", "code": "TG001", "line": 1, "end_line": 3}
    source = f"""#!{sys.executable}
import sys
reports = {{"torchfix": {fix!r}, "torch_preflight": {json.dumps({"diagnostics": [item]})!r}}}
print("0.7" if "--version" in sys.argv else reports[sys.argv[2]])
"""
    peers.write_text(source, encoding="utf-8")
    peers.chmod(0o755)
    done = place.run("update", "--peers", "torch-preflight,torchfix", "--python", str(peers))
    assert done.returncode == 0, done.stderr
    rows = [(row["linter"], row["version"], row["quiet"], row["noise"]) for row in place.rows("results.jsonl")]
    assert rows[1:] == [("torchfix", "0.7", ["fixed"], {}), ("torch-preflight", "0.7", [], {"fixed": 1})]


def test_an_unknown_peer_is_refused(place: Workplace) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    done = place.run("score", "--peers", "nosuch")
    assert (done.returncode, "unknown peer nosuch" in done.stderr) == (2, True)


def test_misses_are_listed_with_code_and_explained(place: Workplace) -> None:
    place.bug("one", QUIET + "x = wrong\n", QUIET, [10], note="the other branch stays")
    place.bug("two", BAD_LINE_2, BAD_LINE_2, [2])
    place.run("update")
    listed = place.run("misses", "--unexplained").stdout
    assert ">    10 | x = wrong" in listed
    assert "pkg/one.py:10: because (the other branch stays)" in listed
    assert "two  load, one file: yes, found but not quiet after the fix" in listed
    assert "not explained: 2" in listed
    done = place.run("explain", "on", "--reason", "  computed \n elsewhere ")
    assert done.stdout == "1 explained, 1 of 2 to go\n"
    assert place.rows("misses.jsonl") == [{"id": "one", "reason": "computed elsewhere"}]
    assert "missed because: computed elsewhere" in place.run("misses").stdout
    assert "one  load" not in place.run("misses", "--unexplained").stdout


@pytest.mark.parametrize(("given", "message"), [("o", "names 2"), ("nosuch", "names 0")])
def test_only_one_missed_bug_is_explained_by_a_name(place: Workplace, given: str, message: str) -> None:
    place.bug("one", QUIET, QUIET, [2])
    place.bug("two", QUIET, QUIET, [2])
    place.run("update")
    done = place.run("explain", given, "--reason", "x")
    assert (done.returncode, message in done.stderr) == (2, True)
    assert place.run("explain", "one", "--reason", " ").returncode == 2


def test_a_reason_goes_when_the_bug_is_found(place: Workplace) -> None:
    place.bug("one", QUIET.replace("pass", "x  # TDL999", 1), QUIET, [1])
    place.run("update")
    place.run("explain", "one", "--reason", "too deep")
    place.linter_is(FAKE_LINTER.replace("TDL201", "TDL999"))
    done = place.run("update")
    assert "no longer missed, reason dropped: one: too deep" in done.stdout
    assert "missed: 0, not explained: 0" in done.stdout
    assert place.rows("misses.jsonl") == []


def test_a_record_that_is_left_out_is_not_scored_but_shown(place: Workplace) -> None:
    place.bug("fixed", BAD_LINE_2, QUIET, [2])
    place.bug("wrong", QUIET, QUIET, [2], left_out="the label is on a comment")
    place.run("update")
    page = place.root / "page.md"
    page.write_text("# x\n<!-- realbugs:begin -->\n<!-- realbugs:end -->\n", encoding="utf-8")
    assert place.run("table", "--page", str(page), "--check").returncode == 1
    assert place.run("table", "--page", str(page)).returncode == 0
    assert place.run("table", "--page", str(page), "--check").returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "1 fixes in 1 repositories, 9 lines after the fix, 0 look-alikes." in text
    assert "| torchdevlint 9.1 | 1 of 1 | 1 | 100 % | 0 of 0 | 0 | - | 0.00 | 0 of 0 |" in text
    assert "- some/repo `pkg/wrong.py:2`: the label is on a comment" in text
    assert "If the fixes that are left out (1) were bugs, all missed: 50 % of `yes`, - of `maybe`." in text
    assert "misses" not in text


def test_each_set_has_its_own_results_and_reasons(place: Workplace) -> None:
    place.bug("a", BAD_LINE_2, QUIET, [2])
    one, other = place.data, place.root / "other"
    other.mkdir()
    for name in ("bugs", "lookalikes"):
        (one / f"{name}.jsonl").rename(other / f"{name}.jsonl")
    place.bugs = []
    place.bug("b", QUIET, QUIET, [2])
    assert place.run("update", "--data", str(other)).returncode == 0
    assert place.stored()["quiet"] == []
    assert json.loads((other / "results.jsonl").read_text(encoding="utf-8"))["quiet"] == ["a"]
    explained = place.run("explain", "b", "--reason", "too deep", "--data", str(other))
    assert explained.stdout == "1 explained, 0 of 1 to go\n"
    assert (place.rows("misses.jsonl"), (other / "misses.jsonl").read_text(encoding="utf-8")) == (
        [{"id": "b", "reason": "too deep"}],
        "",
    )
    page = place.root / "page.md"
    page.write_text("<!-- realbugs:begin -->\n<!-- realbugs:end -->\n", encoding="utf-8")
    place.run("table", "--page", str(page), "--data", str(other))
    headings = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert headings == ["### The data set", "### The other set"]


def test_the_page_lists_misses_by_reason_the_frequent_ones_first(place: Workplace) -> None:
    for name in ("a", "b", "c", "d"):
        place.bug(name, QUIET, QUIET, [2])
    place.run("update")
    place.run("explain", "a", "--reason", "a rare reason")
    place.run("explain", "b", "c", "--reason", "one that recurs")
    page = place.root / "page.md"
    page.write_text("<!-- realbugs:begin -->\n<!-- realbugs:end -->\n", encoding="utf-8")
    place.run("table", "--page", str(page))
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
    assert lines == [
        "- one that recurs (2): some/repo `pkg/b.py:2`, some/repo `pkg/c.py:2`",
        "- a rare reason (1): some/repo `pkg/a.py:2`",
        "- not explained yet, load (1): some/repo `pkg/d.py:2`",
    ]


@pytest.mark.parametrize(
    "row",
    [{"id": "a"}, {"id": "a", "reason": " "}, {"id": "a", "reason": "x", "more": 1}],
    ids=["none", "empty", "more"],
)
def test_a_reason_that_says_nothing_is_refused(place: Workplace, row: dict[str, object]) -> None:
    place.bug("a", QUIET, QUIET, [2])
    (place.data / "misses.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = place.run("misses")
    assert (done.returncode, "misses.jsonl" in done.stderr) == (2, True)


def test_two_records_with_one_id_are_refused(place: Workplace) -> None:
    place.bug("a", QUIET, QUIET, [2])
    place.bug("a", QUIET, QUIET, [2])
    done = place.run("misses")
    assert (done.returncode, "two records have one id" in done.stderr) == (2, True)


SETS = {"first": (196, 45), "second": (206, 42)}
"""How many fixes and look-alikes each set has."""


def _stored(of_set: str, name: str) -> list[dict[str, Any]]:
    lines = (REALBUGS / of_set / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("of_set", SETS)
def test_the_records_of_the_repository_are_sound(of_set: str) -> None:
    bugs, alike = _stored(of_set, "bugs.jsonl"), _stored(of_set, "lookalikes.jsonl")
    assert (len(bugs), len(alike)) == SETS[of_set]
    assert [row["id"] for row in bugs] == sorted(row["id"] for row in bugs)
    for row in [*bugs, *alike]:
        commits = [row["commit"]] if "commit" in row else [row["parent_commit"], row["fix_commit"]]
        assert all(len(commit) == 40 and int(commit, 16) for commit in commits)
        assert row["path"].endswith(".py")
        assert not row["path"].startswith("/")
        assert ".." not in row["path"].split("/")


def test_no_record_is_in_two_sets() -> None:
    ids = [row["id"] for of_set in SETS for name in ("bugs", "lookalikes") for row in _stored(of_set, f"{name}.jsonl")]
    assert len(set(ids)) == len(ids) == sum(map(sum, SETS.values()))


@pytest.mark.parametrize("of_set", SETS)
def test_the_stored_scores_name_records_and_every_miss_of_the_first_set_has_a_reason(of_set: str) -> None:
    """A reason that is not needed any more is stale; `run.py update` drops it, `run.py explain` records a new one."""
    bugs = {row["id"] for row in _stored(of_set, "bugs.jsonl")}
    scored = {row["id"] for row in _stored(of_set, "bugs.jsonl") if not row.get("left_out")}
    alike = {row["id"] for row in _stored(of_set, "lookalikes.jsonl")}
    results = {row["linter"]: row for row in _stored(of_set, "results.jsonl")}
    for row in results.values():
        assert set(row["quiet"]) <= set(row["found"]) <= bugs
        assert set(row["noise"]) <= bugs
        assert set(row["alarms"]) <= alike
    missed = scored - set(results["torchdevlint"]["quiet"])
    reasons = {row["id"] for row in _stored(of_set, "misses.jsonl")}
    assert reasons <= missed
    assert of_set != "first" or reasons == missed


def test_the_page_agrees_with_the_stored_scores() -> None:
    line = [sys.executable, str(REALBUGS / "run.py"), "table", "--check"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
