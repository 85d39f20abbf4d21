"""The shape of the package, read from its imports: layers, where torch and libcst may appear, module length."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import torchdevlint
from tests.conftest import python
from torchdevlint.rules import all_rules

PACKAGE = Path(torchdevlint.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS: dict[str, int] = {
    "__init__": 0,
    "model": 1,
    "symptoms": 1,
    "keys": 2,
    "config": 3,
    "source": 3,
    "discover": 4,
    "rule_packages": 4,
    "files": 1,
    "patterns": 1,
    "frames": 1,
    "jobs": 1,
    "pool": 2,
    "garbage": 1,
    "index": 1,
    "syntax": 4,
    "functions": 1,
    "deferred": 4,
    "project": 5,
    "cache": 6,
    "flow": 6,
    "rules": 7,
    "rule_api": 8,
    "suppress": 8,
    "select": 8,
    "baseline": 8,
    "joined": 8,
    "findings": 9,
    "engine": 10,
    "beliefs": 11,
    "fix": 11,
    "report": 11,
    "api": 12,
    "explain": 12,
    "libcst": 12,
    "codemods": 13,
    "integrations": 13,
    "cli": 14,
    "__main__": 15,
}
"""A unit imports itself and what is below it; units on one level do not know each other."""

RUNTIME_MAY_IMPORT = {"__init__", "model", "symptoms", "config", "rules", "engine", "report", "runtime"}
"""`report` for the code frames in the account of a program that was run."""
MAY_IMPORT_RUNTIME = {"cli", "integrations", "runtime"}
"""`integrations` for the pytest plugin, which runs tests on the backends; it does so inside functions."""
RUNTIME_LAYERS: dict[str, int] = {
    "kinds": 0,
    "importing": 0,
    "modules": 0,
    "record": 1,
    "simulated": 2,
    "tell": 2,
    "start": 3,
}
"""The same for the parts of the runtime; what is not named here verifies the rules, and none of these knows of it."""
FLOW_LAYERS: dict[str, int] = {
    "__init__": 0,
    "knowledge": 1,
    "facts": 1,
    "scope": 2,
    "state": 3,
    "kinds": 4,
    "vouch": 4,
    "events": 4,
    "run": 5,
    "recording": 4,
    "telling": 5,
    "checks": 6,
    "observers": 7,
    "verdicts": 7,
    "programs": 7,
    "grading": 8,
    "analyse": 9,
}
"""The same for the rooms of the inference: no check is known to the interpreter, which runs code and emits events."""
DATA_TABLES = {
    "flow/knowledge/torch_api.py": "what torch's functions do, one line a function",
    "index.py": "what each check and rule looks on at, as a script writes it",
    "functions.py": "the public functions of each module, as a script writes it",
}
BASES = ("torchdevlint", "torchdevlint.flow", "torchdevlint.runtime")
"""Packages from which modules are imported as well as names."""
LONGEST = 350


def unit(module: str) -> str:
    """The part of the package that a dotted module name belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@cache
def import_statements(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """Those of a file, wherever in it, and whether only annotations need them."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    guarded = [node for node in nodes if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"]
    aside = {each for node in guarded for statement in node.body for each in ast.walk(statement)}
    return tuple((node, node in aside) for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Dotted names of everything that a file imports, wherever in the file."""
    return tuple(sorted(set(_names(node for node, _ in import_statements(path)))))


def _names(statements: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, "relative imports hide the layer"
            base = node.module or ""
            for alias in node.names:
                yield f"{base}.{alias.name}" if base in BASES else base


def own(path: Path) -> list[str]:
    return [
        name for name in imports(path) if name.split(".")[0] == "torchdevlint" and name != "torchdevlint.__version__"
    ]


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def unit_of(path: Path) -> str:
    return Path(relative(path).split("/")[0]).stem


def out_of_bounds(path: Path) -> set[str]:
    """The units that a module imports and may not."""
    here = unit_of(path)
    targets = {unit(name) for name in own(path)} - {here}
    if here == "__init__":
        return targets - {"api"}
    if here == "runtime":
        return targets - RUNTIME_MAY_IMPORT
    upward = {target for target in targets - {"runtime"} if LAYERS[target] >= LAYERS[here]}
    return upward | (targets & {"runtime"} - {"runtime" if here in MAY_IMPORT_RUNTIME else ""})


def test_imports_go_down() -> None:
    found = {relative(path): sorted(out_of_bounds(path)) for path in MODULES if out_of_bounds(path)}
    assert not found, "these reach up or sideways"


def part(module: str) -> str:
    """The part of the runtime that a dotted module name belongs to."""
    return module.removeprefix("torchdevlint.runtime").strip(".").split(".")[0] or "__init__"


def part_of(path: Path) -> str:
    return Path(relative(path).split("/")[1]).stem if unit_of(path) == "runtime" else ""


def test_the_table_of_the_design_has_every_layer() -> None:
    page = (Path(__file__).parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    named = {name.strip(" `") for row in rows for name in row.split("|")[1].split(",")}
    assert set(LAYERS) - {"__init__", "__main__"} <= named


def test_imports_inside_the_runtime_go_down() -> None:
    for path in (path for path in MODULES if part_of(path) in RUNTIME_LAYERS):
        here = part_of(path)
        targets = {part(name) for name in own(path) if unit(name) == "runtime"} - {here}
        below = {target for target, layer in RUNTIME_LAYERS.items() if layer < RUNTIME_LAYERS[here]}
        assert targets <= below, f"{relative(path)} reaches up or sideways to {sorted(targets - below)}"


def test_imports_inside_the_inference_go_down() -> None:
    for path in (path for path in MODULES if unit_of(path) == "flow"):
        here = Path(relative(path).split("/")[1]).stem
        targets = {room(name) for name in own(path) if unit(name) == "flow"} - {here}
        below = {target for target, layer in FLOW_LAYERS.items() if layer < FLOW_LAYERS[here]}
        assert targets <= below, f"{relative(path)} reaches up or sideways to {sorted(targets - below)}"


@pytest.mark.parametrize("room", ["checks", "programs"])
def test_the_families_of_a_room_import_in_one_direction(room: str) -> None:
    start = f"torchdevlint.flow.{room}."
    below: dict[str, set[str]] = {}
    for path in sorted((PACKAGE / "flow" / room).glob("*/*.py")):
        families = {name.removeprefix(start).split(".")[0] for name in own(path) if name.startswith(start)}
        below.setdefault(path.parent.name, set()).update(families - {path.parent.name})
    assert len(below) > 1
    TopologicalSorter(below).prepare()  # raises a CycleError that names the circle


MUTUAL_TYPES = {"classes", "near", "others", "records", "touch", "values"}
"""The files of `flow.state` whose types name each other: an object has a class, and a class holds values.

They do so in annotations alone; what is run imports in one direction.
"""


def test_no_files_of_the_inference_import_each_other() -> None:
    assert in_import_circles(annotations=True) == {f"torchdevlint.flow.state.{name}" for name in MUTUAL_TYPES}
    assert not in_import_circles(annotations=False)


def in_import_circles(*, annotations: bool) -> set[str]:
    """The files of the inference that import each other, directly or not; with what only annotations need, or without.

    What imports nothing else of them is in no circle, nor is what nothing else imports: both are taken away until all
    that is left has an import into it and one out of it.
    """
    flow = [path for path in MODULES if unit_of(path) == "flow"]
    names = {f"torchdevlint.{relative(path).removesuffix('.py').replace('/', '.')}": path for path in flow}
    left = {name: imported_by(path, annotations) & set(names) for name, path in names.items()}
    before = len(left) + 1
    while len(left) < before:
        before = len(left)
        imported = set().union(*left.values())
        left = {name: below & set(left) for name, below in left.items() if below & set(left) and name in imported}
    return set(left)


def imported_by(path: Path, annotations: bool) -> set[str]:
    """The modules, and the names in them, that a file imports."""
    nodes = [node for node, for_annotations in import_statements(path) if annotations or not for_annotations]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {*_names(nodes), *(f"{node.module}.{alias.name}" for node in froms for alias in node.names)}


def room(module: str) -> str:
    """The room of the inference that a dotted module name belongs to."""
    return module.removeprefix("torchdevlint.flow").strip(".").split(".")[0] or "__init__"


def test_only_what_tells_knows_the_linter() -> None:
    texts = {"__init__", "runtime", "symptoms"}
    knowing = {part_of(path) for path in MODULES if {unit(name) for name in own(path)} - texts}
    assert knowing & set(RUNTIME_LAYERS) == {"tell"}


def test_what_is_bound_is_asked_where_fixes_are_vouched_for() -> None:
    asking = {relative(path) for path in MODULES if "torchdevlint.flow.vouch.bound" in imports(path)}
    others = {each for each in asking if "/vouch/" not in each}
    assert {each.rpartition("/")[2] for each in others} == {"batches.py", "reordering.py"}


@pytest.mark.parametrize(
    ("library", "homes"),
    [("torch", {"runtime"}), ("libcst", {"syntax", "libcst", "codemods", "integrations"}), ("fixit", {"integrations"})],
)
def test_a_library_that_takes_long_to_load_has_its_homes(library: str, homes: set[str]) -> None:
    importing = [path for path in MODULES if library in {name.split(".")[0] for name in imports(path)}]
    assert {unit_of(path) for path in importing} == homes
    if library == "libcst":
        assert {relative(path) for path in importing if unit_of(path) == "integrations"} == {"integrations/fixit.py"}


def test_what_is_for_users_of_libcst_is_known_to_nothing_else() -> None:
    above = {"libcst", "codemods", "integrations"}
    for path in (path for path in MODULES if {unit(name) for name in own(path)} & {"libcst", "codemods"}):
        assert unit_of(path) in above, relative(path)
        assert unit_of(path) != "integrations" or relative(path) == "integrations/fixit.py"


RULES_MAY_IMPORT = {"model", "rules", "source", "flow", "patterns"}
BEHIND_RULES = {"analyse", "grading", "observers", "programs", "verdicts"}
"""What goes through a file and judges facts, which no rule knows."""


def test_rules_see_the_rooms_of_the_inference_and_what_rules_share() -> None:
    for path in sorted((PACKAGE / "rules").glob("tdl*.py")):
        assert {unit(name) for name in own(path)} <= RULES_MAY_IMPORT, relative(path)
        assert not {room(name) for name in own(path) if unit(name) == "flow"} & BEHIND_RULES, relative(path)
        assert not {name for name in own(path) if name.startswith("torchdevlint.rules.tdl")}, relative(path)
        outside = {name.split(".")[0] for name in imports(path)} - {"torchdevlint"}
        assert outside <= {*sys.stdlib_module_names, "msgspec"}, relative(path)
        assert not outside & {"os", "pathlib", "sys", "subprocess"}, relative(path)


def lines_of(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    return lines - (ast.parse(text).body[0].end_lineno or 0) if path.parent.name == "rules" else lines


def test_patterns_are_compiled_when_they_are_first_used() -> None:
    """See `torchdevlint.patterns`; what a run imports with torch may take its time."""
    paths = [path for path in MODULES if unit_of(path) not in ("runtime", "symptoms", "patterns")]
    assert [relative(path) for path in paths if compiles_when_imported(path)] == []


def compiles_when_imported(path: Path) -> bool:
    """Whether a statement of the top level that defines nothing calls ``re.compile``."""
    text, defined = path.read_text(encoding="utf-8"), (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if "re.compile" not in text:
        return False
    statements = (each for each in ast.parse(text).body if not isinstance(each, defined))
    calls = (node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func) == "re.compile" for call in calls)


def test_one_module_calls_the_parser() -> None:
    """See `torchdevlint.source.python`; the runtime is not used from several threads."""
    calling = [path for path in MODULES if {"parse", "literal_eval"} & set(called_of_ast(path))]
    assert [relative(path) for path in calling if unit_of(path) != "runtime"] == ["source/python.py"]


def called_of_ast(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if re.search(r"\bast\s*\.\s*(parse|literal_eval)", text) else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ast":
            yield node.attr


def test_a_module_is_read_in_one_sitting() -> None:
    """The documentation of a rule, which is its docstring, is a page of its own."""
    lines = {relative(path): lines_of(path) for path in MODULES}
    assert {path: each for path, each in lines.items() if each > LONGEST and path not in DATA_TABLES} == {}


ONLY_OURS = """
def only_ours():
    'Hides other plugins of flake8, which may import what they like.'
    from importlib import metadata
    real, wanted = metadata.distributions, {'flake8', 'pycodestyle', 'pyflakes', 'mccabe', 'torchdevlint'}
    metadata.distributions = lambda **kw: (one for one in real(**kw) if one.metadata['name'].lower() in wanted)
"""
COMMANDS = {
    "check": "from torchdevlint.cli import main; main(['check', '--isolated', '--no-cache', 'linted.py'])",
    "rule": f"from torchdevlint.cli import main; main(['rule', {all_rules()[0].code if all_rules() else ''!r}])",
    "explain": "from torchdevlint.cli import main; main(['explain', '--isolated', 'job.log'])",
    "server": "from torchdevlint.cli import main; main(['server'])",
    "version": "from torchdevlint.cli import main; main(['--version'])",
    "flake8": (
        "only_ours(); from flake8.main.cli import main; "
        "sys.exit(main(['--isolated', '-j1', '--select=TDL', 'linted.py']))"
    ),
}
WATCHED = ("torch", "libcst", "numpy")
NOT_FOR_ONE_FILE = (
    "_hashlib", "asyncio", "click", "difflib", "email", "importlib.metadata", "logging", "multiprocessing", "rich",
    "shutil", "socket", "subprocess", "tempfile", "xml",
)  # fmt: skip
"""Of the standard library and of what is installed with the linter: what `check` begins without, as it takes long."""


@pytest.mark.parametrize("command", COMMANDS)
def test_linting_loads_neither_torch_nor_libcst(command: str, tmp_path: Path) -> None:
    watched = (*WATCHED, *NOT_FOR_ONE_FILE) if command == "check" else WATCHED
    (tmp_path / "linted.py").write_text("import torch\n\nstate = torch.load('model.pt')\n")
    (tmp_path / "job.log").write_text(
        "  File \"linted.py\", line 3, in <module>\n    state = torch.load('model.pt')\n"
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.\n"
    )
    code = (
        f"import sys\n{ONLY_OURS}\n"
        f"try:\n    {COMMANDS[command]}\n"
        "except SystemExit as end:\n    print('exit', end.code or 0)\n"
        f"print('loaded', [name for name in {watched} if name in sys.modules])\n"
    )
    done = python("-c", code, cwd=tmp_path, stdin="")
    said = done.stdout + done.stderr  # the server leaves standard output to the protocol
    assert "loaded []" in said, said
    expected = "exit 1" if command in {"check", "flake8"} else "exit 0"
    assert expected in said, said


@pytest.mark.skipif(sys.version_info < (3, 11), reason="msgspec needs typing_extensions before Python 3.11")
def test_check_does_without_what_msgspec_can_do_without(tmp_path: Path) -> None:
    """`typing_extensions` and `inspect` take a tenth of a run over a small file; afterwards all of it is to be had."""
    (tmp_path / "linted.py").write_text("import torch\n\nstate = torch.load('model.pt')\n")
    code = (
        f"import os, sys\n{ONLY_OURS}\n"
        "from torchdevlint.cli import script\n"
        "def end(code):\n"
        "    print('loaded', [name for name in ('typing_extensions', 'inspect') if name in sys.modules])\n"
        "    import msgspec, inspect\n"
        "    print('exit', code)\n"
        "    sys.stdout.flush()\n"
        "    exit_at_once(code)\n"
        "exit_at_once, os._exit = os._exit, end\n"
        "sys.argv = ['torchdevlint', 'check', '--isolated', 'linted.py']\n"
        "script()\n"
    )
    done = python("-c", code, cwd=tmp_path, stdin="")
    assert "loaded []\nexit 1" in done.stdout, done.stdout + done.stderr


IMPORTED_BY_A_LOAD = """
from torchdevlint.cli import main
try:
    main(["check", "--isolated", "--no-cache", "linted.py"])
except SystemExit:
    print([name for name in sys.modules if name.startswith(("torchdevlint.rules.tdl", "torchdevlint.flow.checks."))])
"""


def test_checks_and_rules_are_imported_for_what_they_look_on_at(tmp_path: Path) -> None:
    """See `torchdevlint.index`: a file with one load needs what looks on at loads, and few others."""
    (tmp_path / "linted.py").write_text("import torch\n\nstate = torch.load('model.pt')\n")
    said = python("-c", f"import sys\n{IMPORTED_BY_A_LOAD}", cwd=tmp_path).stdout
    loaded = {name.rpartition(".")[2] for name in ast.literal_eval(said.splitlines()[-1])}
    assert {"checkpoints", "tdl201_load_without_map_location"} <= loaded
    idle = {"collectives", "one_placed_of_two", "tdl004_mixed_device_operands", "tdl312_generator_on_another_device"}
    assert not loaded & idle
    there = len([*PACKAGE.glob("rules/tdl*.py"), *PACKAGE.glob("flow/checks/*/*.py")])
    assert len(loaded) < there / 3
