"""Wheels with compiled modules: which modules those are, and that they find and say what the sources do."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

sys.path.append(str(ROOT))

import hatch_build

WORKER = ROOT / "tests" / "compiled_worker.py"
Told = dict[str, Any]


def packages() -> list[str]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    configured = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named: list[str] = configured["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["packages"]
    return named


def test_what_takes_the_time_is_compiled() -> None:
    modules = hatch_build.compiled_modules(ROOT, packages())
    hot = "run/calls run/functions scope/uses state/conditions state/joins state/machine state/point run/expressions"
    assert {f"torchdevlint/flow/{name}.py" for name in hot.split()} <= set(modules)


@pytest.mark.parametrize(
    "code",
    [
        "class A(Struct, frozen=True):\n    x: int",
        "class A(Struct):\n    x: list[int] = field(default_factory=list)",
        "class A:\n    @cached_property\n    def x(self): ...",
        "a in map(str, b)",
        "a not in (b, *c)",
        "def b(c) -> Iterator[int]:\n    yield c\n\na in b(c)",
        "class A(str):\n    pass",
    ],
)
def test_what_mypyc_would_change_is_not_compiled(code: str) -> None:
    assert [*hatch_build.stays_interpreted(ast.parse(code))]


def test_an_imported_function_that_gives_an_iterator_holds_nothing() -> None:
    code = "from torchdevlint.{} import b as d\na in d(c)"
    iterators = {"torchdevlint.one.b"}
    assert [*hatch_build.stays_interpreted(ast.parse(code.format("one")), iterators)]
    assert not [*hatch_build.stays_interpreted(ast.parse(code.format("other")), iterators)]


def test_what_it_compiles_as_it_stands_is() -> None:
    text = "class A(Frozen, frozen=True):\n    x: int\n"
    text += "class B(Struct):\n    x: int\nclass C(dict):\n    pass\na in (b, c)\n"
    assert not [*hatch_build.stays_interpreted(ast.parse(text))]


def test_set_operations_take_a_mapping_by_a_method() -> None:
    """``a - b.keys()`` is a set, whatever `a` is, and compiled code expects another frozenset of one."""
    trees = ((path, ast.parse((ROOT / path).read_bytes())) for path in hatch_build.compiled_modules(ROOT, packages()))
    operations = ((path, each) for path, tree in trees for each in ast.walk(tree) if isinstance(each, ast.BinOp))
    assert [f"{path}:{each.lineno}" for path, each in operations if _of_keys(each.right)] == []


def test_constants_are_written_in_one_piece() -> None:
    """A tuple has as many items, for compiled code, as its first assignment gives it."""
    trees = ((path, ast.parse((ROOT / path).read_bytes())) for path in hatch_build.compiled_modules(ROOT, packages()))
    grown = ((path, each) for path, tree in trees for each in tree.body if isinstance(each, ast.AugAssign))
    assert [f"{path}:{each.lineno}" for path, each in grown] == []


def test_no_parameter_is_a_float_that_may_be_an_int() -> None:
    """Compiled code makes a float of an int that is given for one, so that ``isinstance(number, int)`` is False."""
    trees = ((path, ast.parse((ROOT / path).read_bytes())) for path in hatch_build.compiled_modules(ROOT, packages()))
    functions = ((path, each) for path, tree in trees for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
    assert [f"{path}:{each.name}" for path, each in functions if _tells_floats_from_ints(each)] == []


def test_objects_are_made_by_their_constructor() -> None:
    """``object.__new__(State)`` raises where `State` is compiled, and ``State.__new__(State)`` calls ``__init__``."""
    trees = ((path, ast.parse((ROOT / path).read_bytes())) for path in hatch_build.compiled_modules(ROOT, packages()))
    calls = ((path, each) for path, tree in trees for each in ast.walk(tree) if isinstance(each, ast.Call))
    assert [f"{path}:{each.lineno}" for path, each in calls if ast.unparse(each.func).endswith(".__new__")] == []


@pytest.mark.slow
def test_mypyc_takes_the_modules(tmp_path: Path) -> None:
    """It writes C of them; that C is compiled, and run, by the tests that are marked ``compiled``."""
    modules = hatch_build.compiled_modules(ROOT, packages())
    call = "import json, sys, mypyc.build as b; b.mypycify(json.loads(sys.argv[1]), target_dir=sys.argv[2])"
    done = subprocess.run(
        [sys.executable, "-c", call, json.dumps(modules), str(tmp_path / "c")],
        cwd=ROOT,
        env={**os.environ, "MYPY_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [each for each in (done.stdout + done.stderr).splitlines() if "error" in each]
    assert done.returncode == 0, said or done.stderr[-3000:]


def _tells_floats_from_ints(function: ast.FunctionDef) -> bool:
    floats = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg) and _is_float(each.annotation)}
    asked = (each for each in ast.walk(function) if isinstance(each, ast.Call) and len(each.args) == 2)
    return any(ast.unparse(each.func) == "isinstance" and ast.unparse(each.args[0]) in floats for each in asked)


def _is_float(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "float"


def _of_keys(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"


def run(linter: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The worker in a process of its own, which imports the linter below a folder."""
    environment = {**os.environ, "PYTHONPATH": str(linter), "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, str(WORKER), *arguments],
        cwd=linter,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a compiled wheel holds. It is built with the least optimisation, which takes the least time."""
    folder = tmp_path_factory.mktemp("compiled")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        env={**os.environ, "HATCH_BUILD_HOOKS_ENABLE": "1", "MYPYC_OPT_LEVEL": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def pure() -> Told:
    return told(ROOT)


@pytest.fixture(scope="module")
def compiled(site: Path) -> Told:
    return told(site)


def told(linter: Path) -> Told:
    done = run(linter)
    assert done.returncode == 0, done.stderr
    found: Told = json.loads(done.stdout)
    assert found["machine"].startswith(str(linter))
    return found


@pytest.mark.compiled
def test_compiled_modules_are_used(pure: Told, compiled: Told) -> None:
    assert pure["machine"].endswith(".py")
    assert not compiled["machine"].endswith(".py")


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["snippets", "changed", "nested"])
def test_the_findings_are_the_same(pure: Told, compiled: Told, kind: str) -> None:
    """Those of all test cases, of a seeded sample of changed files, and of files that are nested deeply."""
    assert {name: one for name, one in compiled[kind].items() if one != pure[kind][name]} == {}
    assert compiled[kind].keys() == pure[kind].keys()


@pytest.mark.compiled
def test_a_failure_is_a_problem_of_its_file(site: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import torch\n\nf = lambda x: torch.zeros(3)\n", encoding="utf-8")
    (tmp_path / "good.py").write_text("import torch\n\nx = torch.load('model.pt')\n", encoding="utf-8")
    arguments = ["check", "--isolated", "--no-cache", "--jobs", "1", "--output-format", "concise", str(tmp_path)]
    said, expected = run(site, *arguments), run(ROOT, *arguments)
    assert said.returncode == expected.returncode == 2
    assert said.stdout == expected.stdout
    assert "good.py:3" in said.stdout
    assert "bad.py" in said.stderr
    assert "ZeroDivisionError: a lambda" in said.stderr
