"""What is generated is fresh, what the README shows is real, and the scaffold writes files that load."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scripts import site
from scripts.docs import error_texts, errors, literal, navigation, pages, readme, stale, unconflicted
from scripts.new_rule import scaffold
from tests import forked
from tests.casefile import read_file
from tests.conftest import ROOT, python
from torchdevlint.cli import COMMANDS
from torchdevlint.model import Severity
from torchdevlint.rules import HEADINGS, all_rules, by_code
from torchdevlint.symptoms import GROUPS, symptoms

README = (ROOT / "README.md").read_text(encoding="utf-8")
SITE = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
WRITTEN = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])


@pytest.mark.slow
def test_generated_files_are_fresh() -> None:
    done = python("scripts/docs.py", "--check")
    assert (done.returncode, done.stdout) == (0, ""), "run: python scripts/docs.py"


def test_what_is_stale_is_named() -> None:
    fresh = pages()
    page = ROOT / "docs" / "rules" / "TDL001.md"
    assert stale({**fresh, page: "something else"}) == [page]
    without = {path: text for path, text in fresh.items() if path != page}
    assert stale(without) == [page], "a page whose rule is gone is stale"


def test_a_readme_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the markers"):
        readme("# no table here")


def test_a_linter_that_fails_does_not_empty_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, stdout="", stderr="SyntaxError: invalid syntax")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ValueError, match=r"examples/char_rnn\.py` ended with 1: SyntaxError"):
        readme(README)


@pytest.mark.parametrize("line", ["<<<<<<< HEAD", ">>>>>>> w-other"])
def test_nothing_is_written_in_the_middle_of_a_merge(line: str) -> None:
    page = ROOT / "docs" / "index.md"
    assert unconflicted({page: "a <<<<<<< b"}) == {page: "a <<<<<<< b"}
    with pytest.raises(ValueError, match=r"conflict markers in docs/index\.md"):
        unconflicted({page: f"mine\n{line}\ntheirs\n"})


def test_the_readme_lists_every_rule() -> None:
    assert re.findall(r"\| \[(TDL\d{3})\]", README) == [rule.code for rule in all_rules()]


def test_the_quick_start_is_two_blocks() -> None:
    section = README.split("## Quick start", 1)[1].split("\n## ", 1)[0]
    assert len(re.findall(r"^```sh$", section, re.MULTILINE)) == 2


def test_the_readme_shows_a_bug_and_what_it_raises() -> None:
    assert "error[TDL003]" in README
    assert "at run time: RuntimeError: " in README


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_files_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    listed = re.findall(r"(?:: |- )(\S+\.md)$", SITE, re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md"))


def test_a_site_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the markers"):
        navigation("nav:\n  - index.md\n")


def test_the_exceptions_that_a_rule_quotes() -> None:
    loading, jit = error_texts(by_code()["TDL201"])
    assert loading.startswith("RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_avail")
    assert loading.endswith(
        "If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )
    assert jit == "NotImplementedError: Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend"
    assert [text.partition(":")[0] for text in error_texts(by_code()["TDL012"])] == [
        "AssertionError", "RuntimeError", "RuntimeError",
    ]  # fmt: skip
    assert error_texts(by_code()["TDL011"]) == [], "it raises nothing"


def test_the_page_of_error_texts_has_every_wording_and_names_its_rules() -> None:
    page = errors()
    headings = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert len(set(headings)) == len(headings) == len(symptoms())
    assert re.findall(r'^<a id="([\w-]+)"></a>$', page, re.MULTILINE) == [
        one.name for group in GROUPS for one in symptoms() if one.group == group
    ]
    assert [w.example for one in symptoms() for w in one.wordings if literal(w.example) not in page] == []
    (section,) = [
        part for part in page.split("\n### ") if part.startswith("`AssertionError: Torch not compiled with CUDA")
    ]
    assert re.findall(r"\[(TDL\d+)\]", section) == ["TDL501", "TDL012", "TDL305"]


def test_a_rule_cannot_quote_an_exception_that_is_no_symptom_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.docs.error_texts", lambda rule: ["RuntimeError: no such text"])
    with pytest.raises(ValueError, match="TDL001 quotes what torchdevlint/symptoms has not"):
        errors()


@pytest.mark.parametrize("fact", [None, "DiscardedMove"])
def test_the_scaffold_writes_a_rule_that_loads_and_cases_that_are_read(fact: str | None, tmp_path: Path) -> None:
    files = scaffold("TDL699", "slow-and-wrong", fact, Severity.ADVICE)
    module, cases = files
    assert module == "torchdevlint/rules/tdl699_slow_and_wrong.py"
    namespace: dict[str, object] = {"__name__": "scaffolded"}
    exec(compile(files[module], module, "exec"), namespace)
    assert namespace["SEVERITY"] is Severity.ADVICE
    assert callable(namespace["check"])
    assert re.findall(r"^## (.+)$", str(namespace["__doc__"]), re.MULTILINE) == list(HEADINGS)
    path = tmp_path / Path(cases).name
    path.write_text(files[cases])
    first, second = read_file(path)
    assert {code for _, code in first.want} == {"TDL699"}
    assert first.fixed
    assert not second.want


@pytest.mark.parametrize(
    ("code", "name", "fact", "message"),
    [
        ("TDL69", "slow-and-wrong", "DiscardedMove", "three digits"),
        ("TDL699", "Slow", "DiscardedMove", "lower-case"),
        ("TDL699", "slow-and-wrong", "DiscardedMoves", "no such fact"),
        ("TDL699", "slow-and-wrong", "Span", "no such fact"),
        ("TDL001", "slow-and-wrong", "DiscardedMove", "there already"),
        ("TDL699", "unassigned-tensor-move", "DiscardedMove", "there already"),
    ],
)
def test_the_scaffold_refuses_what_cannot_be_a_rule(code: str, name: str, fact: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scaffold(code, name, fact, Severity.WARNING)


def test_the_numbers_of_verify_are_those_that_are_stored() -> None:
    done = python("scripts/verified.py", "table", "--check")
    assert done.returncode == 0, done.stderr


def test_the_simulated_run_on_the_first_page_is_real() -> None:
    program = f"python {site.EXAMPLE}"
    done = forked.python("-m", "torchdevlint", "run", "--color", "always", "--", *program.split())
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert site.between(page, "run") == site.simulated(program, done.stdout + done.stderr), (
        "run: python scripts/docs.py --run"
    )


def test_a_program_without_a_report_is_refused() -> None:
    with pytest.raises(ValueError, match="reported nothing: No module named 'torch'"):
        site.simulated("python x.py", "No module named 'torch'")


def test_a_terminal_is_html_that_says_what_it_says() -> None:
    shown = site.terminal("x > y", "\x1b[1;31merror\x1b[0m: <a> & [b]\n\x1b[34m |\x1b[0m\n\n")
    assert shown == (
        '<pre class="terminal"><code><span class="ansi-dim">$</span> x &gt; y\n'
        '<span class="ansi-bold ansi-red">error</span>: &lt;a&gt; &amp; [b]\n'
        '<span class="ansi-blue"> |</span></code></pre>'
    )
    css = (ROOT / "docs" / "site.css").read_text(encoding="utf-8")
    assert all(f".terminal .ansi-{color} " in css for color in site.COLORS[1:])


def test_the_tests_are_run_as_the_pages_say() -> None:
    """The same command everywhere; what a change has to pass adds the slow ones to what the configuration selects."""
    command = "pytest -q -n 2 --dist loadgroup"
    (left_out,) = re.findall(
        r"^addopts = .* -m '(.+)'\"$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert left_out.endswith(" and not slow")
    assert f"\n{command}\n```" in README
    assert f"\n{command}  " in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    passed = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert passed.endswith(f"\n{command} -m '{left_out.removesuffix(' and not slow')}'\n")


def test_every_command_and_option_is_on_the_page() -> None:
    page = site.command_line()
    sections = dict(re.findall(r"^## `(.+?)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == [
        *(f"torchdevlint {name}" for name in COMMANDS), "python -m torchdevlint.integrations.dask",
    ]  # fmt: skip
    said = forked.python("-m", "torchdevlint", "check", "--help").stdout
    options = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", said, re.MULTILINE)) - {"--help"}
    assert len(options) > 30
    assert options == set(re.findall(r"^- `(?:-\w, )?(--[\w-]+)", sections["torchdevlint check"], re.MULTILINE))


def test_the_numbers_of_the_first_page_are_those_that_are_stored() -> None:
    """The tables of the other pages are made of the same data by other code."""
    ecosystem = (ROOT / "docs" / "ecosystem.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in row.split("|")] for row in site.between(ecosystem, "draws").splitlines()]
    draws = [row for row in cells if row[4].endswith(" repositories")][-site.LAST_DRAWS :]
    found, true, harmless = (sum(int(row[column]) for row in draws) for column in (6, 7, 8))
    number, text = site.drawn()
    assert number == f"{(true + harmless) * 100 // found} %"
    assert f"of {found} findings hold" in text
    second = ecosystem.split("### The second set", 1)[1]
    assert f"| torchdevlint 0.1.0 | {site.fixes_found()[0]} | " in second
    assert site.speed()[0].endswith(" times")


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the markers <!-- numbers:begin -->"):
        site.marked("# nothing here", "numbers", "1")
