"""``import torchdevlint``: what other programs rest on."""

from __future__ import annotations

import doctest
import inspect
import multiprocessing
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType

import pytest
from msgspec.structs import replace

import torchdevlint
from tests import conftest
from tests.casefile import read_cases
from tests.conftest import ROOT
from torchdevlint import ConfigError, Settings, check_paths, check_source, engine, fix_source, load_settings
from torchdevlint.model import Problem
from torchdevlint.project import modules

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
LOAD = "import torch\n\nstate = torch.load('a.pt')\n"

SIGNATURES = {
    "all_rules": "() -> tuple[RuleInfo, ...]",
    "check_paths": (
        "(paths: PathName | Iterable[PathName], settings: Settings | None = None, *, jobs: int = 1, cache_dir: PathName"
        " | None = None, progress: Callable[[int, int], object] | None = None) -> Iterator[FileResult]"
    ),
    "check_source": (
        "(text: str | bytes, filename: PathName | None = None, settings: Settings | None = None) -> FileResult"
    ),
    "fix_source": "(text: str, filename: PathName | None = None, settings: Settings | None = None) -> FixedSource",
    "reveal_source": (
        "(text: str | bytes, filename: PathName | None = None, settings: Settings | None = None, *, row: int | None ="
        " None, column: int | None = None, cell: int | None = None) -> tuple[Belief, ...]"
    ),
    "load_settings": "(path: PathName = '.', *, config: PathName | None = None) -> Settings",
}
FIELDS = {
    "Diagnostic": ("filename span code name message severity symptom help url noqa_row related fix cell cause also"),
    "Belief": ("span text kind description device dimensions notes alternatives unknown_because assigned when cell"),
    "Note": "message span",
    "Edit": "content span cell",
    "FileResult": "filename diagnostics problems silenced unread unasked",
    "Fix": "applicability message edits",
    "FixedSource": "text result applied",
    "Problem": "filename message rule",
    "Related": "message filename span cell",
    "RuleInfo": "code name package severity default preview summary url explanation",
    "Span": "row column end_row end_column file",
}
VALUES = {"Severity": "error warning advice", "Applicability": "safe unsafe display"}


def test_the_names_are_these() -> None:
    """One that goes, or changes what it takes, breaks the programs of others: add to these tables, take nothing out."""
    others = {"ConfigError", "Settings", "__version__"}
    assert set(torchdevlint.__all__) == {*SIGNATURES, *FIELDS, *VALUES, *others}
    assert set(torchdevlint.api.__all__) == set(torchdevlint.__all__) - {"__version__"}
    assert set(torchdevlint.__all__) <= set(dir(torchdevlint))


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_takes_and_gives_what_it_did(name: str) -> None:
    function = getattr(torchdevlint, name)
    assert isinstance(function, FunctionType)
    assert re.sub(r"(?<=: |> )'([^']*)'", r"\1", str(inspect.signature(function))) == SIGNATURES[name]
    assert f"\n{name}{SIGNATURES[name]}\n" in PAGE
    assert inspect.getdoc(function)


@pytest.mark.parametrize("name", FIELDS)
def test_a_record_has_the_fields_that_it_had(name: str) -> None:
    record = getattr(torchdevlint, name)
    assert " ".join(record.__struct_fields__) == FIELDS[name]
    assert f"| `{name}` | " + ", ".join(f"`{field}`" for field in FIELDS[name].split()) + " |" in PAGE


@pytest.mark.parametrize("name", VALUES)
def test_a_choice_has_the_values_that_it_had(name: str) -> None:
    assert " ".join(each.value for each in getattr(torchdevlint, name)) == VALUES[name]


def test_a_name_that_is_not_there_is_none() -> None:
    with pytest.raises(AttributeError, match="module 'torchdevlint' has no attribute 'check_sources'"):
        torchdevlint.check_sources  # noqa: B018
    names: dict[str, object] = {}
    exec("from torchdevlint import *", names)
    assert set(torchdevlint.__all__) <= names.keys()


def test_the_page_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its examples, in one session, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(PAGE, {}, "api.md", "docs/api.md", 0)
    said: list[str] = []
    assert len(session.examples) > 10
    assert doctest.DocTestRunner().run(session, out=said.append).failed == 0, "".join(said)


def test_importing_it_imports_nothing() -> None:
    code = "import sys; before = {*sys.modules}; import torchdevlint; print(sorted({*sys.modules} - before))"
    assert conftest.python("-c", code).stdout == "['torchdevlint']\n"


def test_using_it_imports_neither_torch_nor_libcst(tmp_path: Path) -> None:
    code = (
        "import sys, torchdevlint\n"
        f"torchdevlint.fix_source({LOAD!r}, settings=torchdevlint.Settings(unsafe_fixes=True))\n"
        "list(torchdevlint.check_paths('.')), torchdevlint.all_rules(), torchdevlint.load_settings()\n"
        "print([name for name in ('torch', 'libcst', 'numpy', 'click', 'rich') if name in sys.modules])\n"
    )
    (tmp_path / "a.py").write_text(LOAD)
    assert conftest.python("-c", code, cwd=tmp_path).stdout == "[]\n"


USER = """
from pathlib import Path

import torchdevlint
from torchdevlint import Diagnostic, Settings, Severity


def errors(folder: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    settings: Settings = torchdevlint.load_settings(folder)
    for result in torchdevlint.check_paths([folder, "more"], settings, jobs=2, progress=lambda done, total: None):
        each: Diagnostic
        for each in result.diagnostics:
            if each.severity is Severity.ERROR and each.fix is not None:
                found.setdefault(result.filename, []).append(each.span.row)
    return found


def fixed(text: str) -> tuple[str, int]:
    new = torchdevlint.fix_source(text, "a.py")
    return new.text, sum(new.applied.values())


names: list[str] = [rule.name for rule in torchdevlint.all_rules()]
torchdevlint.check_source(1)  # WRONG: arg-type
torchdevlint.check_source("", jobs=1)  # WRONG: call-arg
torchdevlint.check_sources("")  # WRONG: attr-defined
"""


@pytest.mark.slow
def test_a_program_that_uses_it_is_type_checked(tmp_path: Path) -> None:
    """With the cache that checking the linter itself has filled, if that was done."""
    program = tmp_path / "user.py"
    program.write_text(USER)
    done = conftest.python("-m", "mypy", "--no-error-summary", "--config-file", "pyproject.toml", str(program))
    wrong = {row: line.split()[-1] for row, line in enumerate(USER.splitlines(), 1) if "# WRONG: " in line}
    found = [line.rpartition("/")[2] for line in done.stdout.splitlines()]
    told = {int(line.split(":")[1]): line.rpartition("[")[2].rstrip("]") for line in found if ": error: " in line}
    assert told == wrong, done.stdout + done.stderr


def test_bytes_and_texts_are_read_as_files_are(tmp_path: Path) -> None:
    latin = "# coding: latin-1\nname = 'é'; import torch; state = torch.load('a.pt')\n"
    for data in (latin, latin.encode("latin-1"), "\ufeff" + LOAD, LOAD.replace("\n", "\r\n"), LOAD.encode()):
        assert [each.code for each in check_source(data).diagnostics] == ["TDL201"]
    assert [each.code for each in check_source(b"\xff").diagnostics] == ["TDL901"]
    assert [each.code for each in check_source("def f(:").diagnostics] == ["TDL901"]


@pytest.mark.parametrize("text", ["\ufeff" + LOAD, LOAD.replace("\n", "\r\n"), "# coding: latin-1\né = 'é'\n" + LOAD])
def test_a_fix_keeps_what_a_text_is_written_in(text: str) -> None:
    fixed = fix_source(text, settings=Settings(unsafe_fixes=True))
    assert fixed.text == text.replace("'a.pt'", "'a.pt', map_location=\"cpu\"")
    assert fixed.applied == {"TDL201": 1}
    assert fix_source(text).text is text, "it is not safe"


def test_what_other_files_say_counts_where_the_file_is_there(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("import torch\n\ndef make():\n    return torch.zeros(2)\n")
    text = "from helpers import make\n\nx = make()\nx.cuda()\n"
    assert check_source(text, tmp_path / "new.py").diagnostics == ()
    (tmp_path / "new.py").write_text("")
    assert [each.code for each in check_source(text, tmp_path / "new.py").diagnostics] == ["TDL001"]
    (tmp_path / "helpers.py").write_text("def make():\n    return 1\n")
    assert check_source(text, tmp_path / "new.py").diagnostics == (), "each call looks anew"


def test_the_nearest_settings_hold_unless_some_are_given(tmp_path: Path) -> None:
    (tmp_path / "torchdevlint.toml").write_text("ignore = ['TDL201']")
    file = tmp_path / "a.py"
    file.write_text(LOAD)
    assert check_source(LOAD, file).diagnostics == ()
    assert len(check_source(LOAD).diagnostics) == len(check_source(LOAD, file, Settings()).diagnostics) == 1
    assert [result.diagnostics for result in check_paths(tmp_path)] == [()]
    assert [len(result.diagnostics) for result in check_paths(tmp_path, Settings())] == [1]
    assert load_settings(file).ignore == load_settings("/", config=tmp_path / "torchdevlint.toml").ignore == ("TDL201",)


def test_each_of_many_files_has_its_nearest_configuration(tmp_path: Path) -> None:
    for name, text in (("quiet", "ignore = ['TDL201']"), ("loud", ""), ("wrong", "selct = []")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "torchdevlint.toml").write_text(text)
        (tmp_path / name / "a.py").write_text(LOAD)
    found = list(check_paths([tmp_path / name / "a.py" for name in ("quiet", "loud", "wrong")]))
    assert [(result.filename[-9:], len(result.diagnostics)) for result in found] == [
        ("", 0),
        ("loud/a.py", 1),
        ("uiet/a.py", 0),
    ]
    assert ["wrong/torchdevlint.toml: unknown key `selct`" in one.message for one in found[0].problems] == [True]


def test_settings_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    unknown = replace(Settings(), select=("TDL201", "XYZ1"))
    for use in (lambda: check_source(LOAD, settings=unknown), lambda: check_paths(tmp_path, unknown)):
        with pytest.raises(ConfigError, match="unknown code `XYZ1` in `select`"):
            use()
    (tmp_path / "torchdevlint.toml").write_text("selct = []")
    for path in (tmp_path, tmp_path / "a.py"):
        with pytest.raises(ConfigError, match="unknown key `selct`; did you mean `select`"):
            load_settings(path)
    with pytest.raises(ConfigError, match="unknown key"):
        check_source(LOAD, tmp_path / "a.py")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(config=tmp_path / "nowhere.toml")


def test_paths_are_walked_in_order_whatever_is_wrong_with_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b/2.py", "b/10.py", "a.py", "c.txt"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(LOAD)
    os.mkfifo("pipe.py")
    told: list[tuple[int, int]] = []
    found = list(check_paths(["b", Path("a.py"), "nowhere", "pipe.py"], progress=lambda *done: told.append(done)))
    assert [result.filename for result in found] == ["a.py", "b/10.py", "b/2.py", "nowhere", "pipe.py"]
    assert [len(result.diagnostics) for result in found] == [1, 1, 1, 0, 0]
    assert found[3].problems == (Problem("nowhere", "no such file or folder"),)
    assert found[4].problems == (Problem("pipe.py", "cannot be read: not a regular file"),)
    assert told == [(number, 5) for number in range(1, 6)]
    assert list(check_paths([])) == []


def test_results_come_as_they_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(LOAD)
    checked: list[str] = []
    real = engine._check

    def spy(data: bytes, filename: str, *rest: object, **more: object) -> object:
        checked.append(Path(filename).name)
        return real(data, filename, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "_check", spy)
    results = check_paths(tmp_path)
    assert checked == []
    assert Path(next(results).filename).name == "a.py"
    assert checked == ["a.py"]


def test_processes_give_the_same_and_are_gone_when_it_is_closed(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}.py").write_text(LOAD)
    alone = list(check_paths(tmp_path))
    assert list(check_paths(tmp_path, jobs=2)) == alone
    before = set(multiprocessing.active_children())
    results = check_paths(tmp_path, jobs=2)
    assert next(results) == alone[0]
    results.close()  # type: ignore[attr-defined]
    assert not {each for each in multiprocessing.active_children() if each.is_alive()} - before


def test_results_are_kept_where_a_folder_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, kept = tmp_path / "a.py", tmp_path / "kept"
    file.write_text(LOAD)
    first = list(check_paths(file, cache_dir=kept))
    monkeypatch.setattr(engine, "_check", None)
    assert list(check_paths(file, cache_dir=kept)) == first
    assert len(first[0].diagnostics) == 1


MODULE = """
import torch
from {} import make as other


def make():
    return torch.zeros(2)


x = other()
x.cuda()
"""


def test_threads_do_not_disturb_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, and files of one project, whose trees each thread keeps for itself and has to give up all the time."""
    monkeypatch.setattr(
        modules._Held, "__init__", lambda self: setattr(self, "library", modules.Library(most_bytes=200))
    )
    names = [f"m{number}" for number in range(8)]
    for name in names:
        (tmp_path / f"{name}.py").write_text(MODULE.format(names[int(name[1:]) - 1]))
    texts = [case.code for case in read_cases()[::100]]

    def all_of(_: int) -> list[object]:
        return [check_source(text) for text in texts] + list(check_paths(tmp_path))

    alone = all_of(0)
    assert sum(len(result.diagnostics) for result in alone) > len(names)  # type: ignore[attr-defined]
    before, stack = sys.getswitchinterval(), threading.stack_size(16 * 1024 * 1024)
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(all_of, range(4)):
                assert found == alone
    finally:
        sys.setswitchinterval(before)
        threading.stack_size(stack)


def test_rules_are_told_as_the_command_line_tells_them() -> None:
    rules = torchdevlint.all_rules()
    assert [rule.code for rule in rules] == sorted(rule.code for rule in rules)
    assert {rule.package for rule in rules} == {"torchdevlint"}
    one = next(rule for rule in rules if rule.code == "TDL201")
    assert one.explanation.startswith(one.summary)
    assert (one.default, one.preview, one.name) == (True, False, "load-without-map-location")


def test_what_is_believed_is_told_as_the_command_line_tells_it() -> None:
    text = "import torch\n\nx = torch.zeros(2, device='cuda')\n"
    (target, *_) = torchdevlint.reveal_source(text, row=3, column=1)
    assert (target.text, target.kind, target.device) == ("x", "tensor", "cuda")
    assert target in torchdevlint.reveal_source(text)
    with pytest.raises(ValueError, match="line 1: "):
        torchdevlint.reveal_source("def f(:")
    with pytest.raises(ValueError, match="too deeply nested"):
        torchdevlint.reveal_source("x = " + "-" * 5000 + "1")
