"""Rules of other people: the example package in an environment of its own, and packages that cannot be used."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests import conftest
from tests.conftest import ROOT
from tests.forked import python
from torchdevlint import rule_api
from torchdevlint.rule_packages import GROUP

EXAMPLE = ROOT / "examples" / "rule-package"
LINTED = """\
import acme_tracking
import torch
from torch import nn


def step(model: nn.Module, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    acme_tracking.log_metric("loss", loss)
    w = torch.zeros(3)
    w.cuda()


def evaluate(model: nn.Module, loader, device):
    for x, y in loader:
        model(x.to(device))
        torch.cuda.empty_cache()
"""
FOUND = [("ACM201", 8), ("TDL001", 10), ("ACM101", 16)]

RULE = '''
"""Says something of every call of `{function}`.

## What it does
Nothing that is of use.
"""
from collections.abc import Iterator

from torchdevlint.rule_api import Fact, Report, Severity

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = None


class Called(Fact, frozen=True):
    """The function was called at `at`."""


def _note(frame, state, node, name, arguments, given):
    frame.machine.record(("called", node), lambda: Called(frame.machine.span_of(node)), state)


FUNCTIONS = {{"{function}": _note}}


def check(fact: Called) -> Iterator[Report]:
    yield Report(fact.at, "{function} is called", "", "")
'''


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the example package, the linter from here, and what the linter needs; its Python."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    interpreter = folder / "bin" / "python"
    site = site_of(interpreter)
    base = Path(pytest.__file__).parent.parent
    (site / "base.pth").write_text(f"{ROOT}\n{base}\n")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target", str(site)]
    source = shutil.copytree(EXAMPLE, folder / "source")
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return interpreter


def site_of(interpreter: Path) -> Path:
    return next((interpreter.parent.parent / "lib").glob("python*/site-packages"))


@pytest.fixture(scope="module")
def installed(environment: Path) -> str:
    """The folder that the example package is installed in, for the import path."""
    return str(site_of(environment))


@pytest.fixture
def linted(tmp_path: Path) -> Path:
    folder = tmp_path / "linted"
    folder.mkdir()
    (folder / "steps.py").write_text(LINTED)
    return folder


def package(folder: Path, prefix: str, module: str, files: dict[str, str], version: str = "1.0") -> str:
    """A distribution as pip leaves one behind, in a folder for the import path."""
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{prefix} = {module}\n")
    for name, text in files.items():
        path = folder / module / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return str(folder)


def check(*arguments: str, cwd: Path, packages: str | None, cache: bool = False) -> subprocess.CompletedProcess[str]:
    path = str(ROOT) if packages is None else f"{ROOT}:{packages}"
    kept = [] if cache else ["--no-cache"]
    return python("-m", "torchdevlint", "check", *kept, *arguments, cwd=cwd, PYTHONPATH=path)


def found(*arguments: str, cwd: Path, packages: str | None, cache: bool = False) -> list[tuple[str, int]]:
    """Codes and rows of the findings; nothing else may be said."""
    done = check("--output-format", "json", *arguments, cwd=cwd, packages=packages, cache=cache)
    assert done.stderr == ""
    return [(one["code"], one["location"]["row"]) for one in json.loads(done.stdout)]


def test_in_an_environment_of_its_own(environment: Path, linted: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(environment), "-m", *arguments]
        return subprocess.run(command, check=False, cwd=linted, capture_output=True, text=True, timeout=120)

    text = run("torchdevlint", "--output-format", "concise")
    assert [line.split()[1] for line in text.stdout.splitlines()[:3]] == [code for code, _ in FOUND], text
    assert text.returncode == 1
    page = run("torchdevlint", "rule", "ACM101").stdout
    assert "# ACM101 cache-emptied-in-loop" in page
    assert "on by default; of acme-device-rules 1.0" in page


def test_the_cases_of_the_example_hold(installed: str) -> None:
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    done = python(*arguments, PYTHONPATH=f"{ROOT}:{installed}")
    assert done.returncode == 0, done.stdout


def test_the_example_needs_what_is_public_only() -> None:
    for path in (EXAMPLE / "src").rglob("*.py"):
        imported = [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        assert {name for name in imported if name and name.startswith("torchdevlint")} <= {"torchdevlint.rule_api"}


def test_nothing_is_found_where_it_is_not_installed(linted: Path) -> None:
    assert found(cwd=linted, packages=None) == [("TDL001", 10)]


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["--select", "ACM"], {"ACM201", "ACM101"}),
        (["--select", "ACM1"], {"ACM101"}),
        (["--ignore", "ACM2"], {"ACM101", "TDL001"}),
        (["--select", "TDL"], {"TDL001", "TDL501"}),
        (["--per-file-ignores", "steps.py:ACM101"], {"ACM201", "TDL001"}),
    ],
)
def test_selectors_reach_them(arguments: list[str], codes: set[str], linted: Path, installed: str) -> None:
    assert {code for code, _ in found(*arguments, cwd=linted, packages=installed)} == codes


def test_settings_reach_them(linted: Path, installed: str) -> None:
    (linted / "torchdevlint.toml").write_text('severity = { ACM101 = "error" }\nfail-on = "error"\nselect = ["ACM101"]')
    done = check("--output-format", "json", cwd=linted, packages=installed)
    assert [one["severity"] for one in json.loads(done.stdout)] == ["error"]
    assert done.returncode == 1


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: ACM101",
        "# noqa: ACM",
        "# torchdevlint: ignore[ACM101]",
        "# torchdevlint: ignore[cache-emptied-in-loop]",
    ],
)
def test_comments_silence_them(comment: str, linted: Path, installed: str) -> None:
    (linted / "steps.py").write_text(LINTED.replace("empty_cache()", f"empty_cache()  {comment}"))
    assert found(cwd=linted, packages=installed) == FOUND[:2]


def test_an_unused_comment_for_them_is_reported(linted: Path, installed: str) -> None:
    """Also in a file that has nothing else to do with PyTorch, but not where the rule is not installed."""
    (linted / "steps.py").write_text("x = 1  # noqa: ACM101\n")
    assert found(cwd=linted, packages=installed) == [("TDL900", 1)]
    assert found(cwd=linted, packages=None) == []


def test_a_code_of_their_prefix_that_no_rule_has_is_reported(linted: Path, installed: str) -> None:
    """Also when the result is kept, of a file of no other interest; not where they are not installed."""
    (linted / "steps.py").write_text("x = 1  # noqa: ACM999\ny = 1  # torchdevlint: ignore[ACM999]\n")
    assert found(cwd=linted, packages=None) == []
    for _ in range(2):
        assert found(cwd=linted, packages=installed) == [("TDL902", 1), ("TDL902", 2)]


def test_every_output_format_takes_them(linted: Path, installed: str) -> None:
    sarif = json.loads(check("--output-format", "sarif", cwd=linted, packages=installed).stdout)
    (run,) = sarif["runs"]
    rules = {one["id"]: one for one in run["tool"]["driver"]["rules"]}
    assert rules["ACM101"]["helpUri"] == "https://docs.acme.example/device-rules/ACM101/"
    assert {one["ruleId"] for one in run["results"]} == {code for code, _ in FOUND}
    counted = check("--statistics", cwd=linted, packages=installed).stdout
    assert "ACM101" in counted


def test_fixes_and_baselines_take_them(linted: Path, installed: str) -> None:
    done = check("--fix", "--unsafe-fixes", "--select", "ACM201", cwd=linted, packages=installed)
    assert done.returncode == 0, done
    assert 'log_metric("loss", loss.item())' in (linted / "steps.py").read_text()
    check("--write-baseline", "known.json", cwd=linted, packages=installed)
    assert found("--baseline", "known.json", cwd=linted, packages=installed) == []


def test_processes_find_what_one_finds(linted: Path, installed: str) -> None:
    for number in range(12):
        (linted / f"more_{number}.py").write_text(LINTED)
    one, two = (check("-j", jobs, "--output-format", "concise", cwd=linted, packages=installed) for jobs in ("1", "2"))
    assert (one.stdout, one.returncode) == (two.stdout, 1)
    assert one.stdout.count("py:16:9: ACM101") == 13


def test_flake8_shows_them_by_our_one_plugin(linted: Path, installed: str) -> None:
    def flake8(*arguments: str) -> list[tuple[str, int]]:
        done = python(
            "-m",
            "flake8",
            "--isolated",
            "--format=%(code)s %(row)d",
            *arguments,
            cwd=linted,
            PYTHONPATH=f"{ROOT}:{installed}",
        )
        assert done.stderr == ""
        rows = [line.split() for line in done.stdout.splitlines()]
        return [(code, int(row)) for code, row in rows if code.startswith(("ACM", "TDL"))]

    assert flake8() == FOUND
    assert flake8("--select", "ACM1") == FOUND[2:]
    assert flake8("--extend-ignore", "ACM") == FOUND[1:2]
    (linted / "steps.py").write_text(LINTED.replace("empty_cache()", "empty_cache()  # noqa: ACM101"))
    assert flake8() == FOUND[:2]


def test_an_editor_shows_them(linted: Path, installed: str) -> None:
    code = (
        "from pathlib import Path\n"
        "from torchdevlint.integrations.lsp.document import Page, Shown, lint\n"
        "from torchdevlint.integrations.lsp.findings import diagnostics\n"
        "page = Page('steps', Path('steps.py').read_text())\n"
        "for each in diagnostics(lint(Shown('steps.py', (page,))), page, 'utf-16'):\n"
        "    print(each.code, each.range.start.line + 1, each.code_description.href)\n"
    )
    done = python("-c", code, cwd=linted, PYTHONPATH=f"{ROOT}:{installed}")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [(code, int(row)) for code, row, _ in lines] == FOUND, done.stderr
    assert lines[2][2] == "https://docs.acme.example/device-rules/ACM101/"


CALLED = {"pre101_function_is_called.py": RULE.format(function="acme.put")}
"""A package with one rule, for files that need not name PyTorch."""


def test_a_file_that_does_not_name_torch_is_looked_into(tmp_path: Path, linted: Path) -> None:
    (linted / "steps.py").write_text("import acme\n\nacme.put(1)\n")
    packages = package(tmp_path / "site", "PRE", "pre_rules", {"__init__.py": "", **CALLED})
    assert found(cwd=linted, packages=packages) == [("PRE101", 3)]


WARM = """
import sys
from torchdevlint.cli import main
try:
    main(["check"])
except SystemExit:
    print([name for name in sys.modules if "pre_rules" in name])
"""


def test_kept_results_hold_until_a_package_changes(tmp_path: Path, linted: Path) -> None:
    (linted / "steps.py").write_text("import acme\n\nacme.put(1)\nacme.take(1)\n")
    site = tmp_path / "site"
    assert found(cwd=linted, packages=None, cache=True) == []
    packages = package(site, "PRE", "pre_rules", {"__init__.py": "", **CALLED})
    assert found(cwd=linted, packages=packages, cache=True) == [("PRE101", 3)], "one was added"
    warm = python("-c", WARM, cwd=linted, PYTHONPATH=f"{ROOT}:{packages}").stdout
    assert "PRE101" in warm
    assert warm.splitlines()[-1] == "[]", "what is kept needs no rule"
    (site / "pre_rules" / "pre101_function_is_called.py").write_text(RULE.format(function="acme.take"))
    assert found(cwd=linted, packages=packages, cache=True) == [("PRE101", 4)], "it was edited"
    shutil.rmtree(site / "pre_rules-1.0.dist-info")
    assert found(cwd=linted, packages=packages, cache=True) == [], "it was removed"


@pytest.mark.parametrize(
    ("prefix", "files", "words"),
    [
        ("TDL", {}, "`TDL`, the prefix of the rule package `bad_rules` of bad_rules 1.0, cannot be told from `TDL`"),
        ("T", {}, "cannot be told from `TDL`, that of torchdevlint"),
        ("acm", {}, "declares `acm = bad_rules` in the group `torchdevlint.rules`: the name has to be one to three"),
        ("AC1", {}, "one to three capital letters"),
        (
            "BAD",
            {"xyz101_of_others.py": ""},
            "has a module `xyz101_of_others`, but the codes of its rules begin with `BAD`",
        ),
        (
            "BAD",
            {"bad101_one.py": "", "bad101_two.py": ""},
            "has two rules of the code BAD101: `bad101_one` and `bad101_two`",
        ),
    ],
)
def test_a_package_that_cannot_be_is_refused(
    prefix: str, files: dict[str, str], words: str, tmp_path: Path, linted: Path
) -> None:
    packages = package(tmp_path / "site", prefix, "bad_rules", {"__init__.py": "", **files})
    for arguments in (["check"], ["rule", "TDL001"]):
        done = python("-m", "torchdevlint", *arguments, cwd=linted, PYTHONPATH=f"{ROOT}:{packages}")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    flake8 = python("-m", "flake8", "--isolated", cwd=linted, PYTHONPATH=f"{ROOT}:{packages}")
    assert words in flake8.stdout + flake8.stderr
    assert "Traceback" not in flake8.stdout + flake8.stderr


def test_two_packages_with_one_prefix_are_refused(tmp_path: Path, linted: Path) -> None:
    for name in ("one", "two"):
        packages = package(tmp_path / "site", "PRE", f"{name}_rules", {"__init__.py": "", **CALLED})
    done = check(cwd=linted, packages=packages)
    assert done.returncode == 2
    assert "of two_rules 1.0, cannot be told from `PRE`, that of one_rules 1.0" in done.stderr


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"__init__.py": "1 / 0", **CALLED},
            "the rule package `bad_rules` of bad_rules 1.0 cannot be imported: ZeroDivisionError: division by zero",
        ),
        ({"__init__.py": "raise SystemExit(0)", **CALLED}, "cannot be imported: SystemExit: 0"),
        (
            {
                "__init__.py": "",
                "pre101_called.py": "import nowhere",
                "pre102_called.py": CALLED["pre101_function_is_called.py"],
            },
            "rule PRE101 (called) of bad_rules 1.0 cannot be used: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (
            {"__init__.py": "", "pre101_called.py": "'Says.'"},
            "cannot be used: ValueError: pre101_called lacks SEVERITY,",
        ),
        ({"__init__.py": ""}, "has no module named as a rule is"),
        ({}, "cannot be found: there is no module `bad_rules`"),
    ],
)
def test_a_package_that_cannot_be_used_is_named_and_the_rest_runs(
    files: dict[str, str], words: str, tmp_path: Path, linted: Path, installed: str
) -> None:
    packages = f"{package(tmp_path / 'site', 'PRE', 'bad_rules', files)}:{installed}"
    (linted / "more.py").write_text("import acme\nacme.put(1)  # noqa: PRE101\n")
    for round_ in ("cold", "warm"):
        done = check("--output-format", "concise", cwd=linted, packages=packages, cache=True)
        assert done.returncode == 2, round_
        assert words in done.stderr
        assert done.stderr.count("\n") == 1, "it is told once for all files"
        codes = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("steps.py")]
        assert codes == [code for code, _ in FOUND]
        assert "TDL900" not in done.stdout, "whether a comment for such a rule is needed, nobody knows"
    every = python("-m", "torchdevlint", "rule", "--all", PYTHONPATH=f"{ROOT}:{packages}")
    assert every.returncode == 2
    assert words in every.stderr
    assert "# ACM101 " in every.stdout


def test_a_rule_that_cannot_be_used_has_no_page(tmp_path: Path) -> None:
    packages = package(tmp_path / "site", "PRE", "bad_rules", {"__init__.py": "1 / 0", **CALLED})
    done = python("-m", "torchdevlint", "rule", "PRE101", PYTHONPATH=f"{ROOT}:{packages}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be imported: ZeroDivisionError: division by zero" in done.stderr


def test_a_rule_that_raises_on_a_file_is_named_with_it(tmp_path: Path, linted: Path, installed: str) -> None:
    looking = RULE.format(function="torch.zeros")
    files = {
        "pre101_raises_looking.py": looking.replace("    frame.machine", "    1 / 0; frame.machine"),
        "pre102_raises_saying.py": looking.replace("    yield", "    1 / 0; yield"),
    }
    packages = f"{package(tmp_path / 'site', 'PRE', 'bad_rules', {'__init__.py': '', **files})}:{installed}"
    done = check("--output-format", "concise", cwd=linted, packages=packages)
    assert done.returncode == 2
    for code in ("PRE101 (raises-looking)", "PRE102 (raises-saying)"):
        assert f"error: steps.py: internal error in rule {code}: ZeroDivisionError" in done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()[:3]] == [code for code, _ in FOUND]


def test_looking_for_packages_does_not_slow_the_start(linted: Path) -> None:
    """A process of its own: `importlib.metadata` takes forty milliseconds to import."""
    code = (
        "import sys; from torchdevlint.cli import main\n"
        "try:\n    main(['check', '--isolated', '--no-cache'])\n"
        "except SystemExit:\n    print('importlib.metadata' in sys.modules)\n"
    )
    assert conftest.python(
        "-S", "-c", code, cwd=linted, PYTHONPATH=f"{ROOT}:{Path(pytest.__file__).parent.parent}"
    ).stdout.endswith("False\n")


def test_what_a_rule_may_import_is_what_is_listed() -> None:
    assert sorted(rule_api.__all__) == sorted(PUBLIC.split())
    assert [name for name in rule_api.__all__ if not hasattr(rule_api, name)] == []
    page = (ROOT / "docs" / "writing-a-rule.md").read_text()
    assert [name for name in rule_api.__all__ if f"`{name}`" not in page] == []


PUBLIC = """
Applicability Edit Fix Note Report Severity Span
CheckpointLoad Creation DiscardedMove Fact MixedDevices Operand ReadOnHost
AttributeAssigned AttributeRead Branched FileEnded FileStarted FunctionCalled FunctionEnded LibraryCalled
LibraryReturned Looped MethodCalled ModuleCalled Operated Placed
Arguments Frame Machine State
UNKNOWN Const Dev Library Map Obj Ref Seq Tensor Unknown Value alternatives is_module only
CPU DEFAULT MODEL TOP Device Origin Relation literal on_cpu relation
parameter_names dotted_path inside is_inside nodes_in
added_after added_before argument_added argument_removed argument_replaced attribute_renamed call_added code cut_after
edit fix inserted operand replaced
"""
"""The names that rules of other people rest on: one that goes breaks them."""
