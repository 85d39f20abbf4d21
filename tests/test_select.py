"""Which rules run: prefixes, ALL, precedence, files, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from torchdevlint.config import ConfigError, Settings
from torchdevlint.model import Severity
from torchdevlint.rules import Identity, all_rules
from torchdevlint.select import UnknownCodeError, check, selected, selected_for, severities


def rule(code: str, severity: Severity = Severity.ERROR) -> Identity:
    return Identity(code, f"name-{code.lower()}", severity, preview=False)


RULES = (
    rule("TDL001"), rule("TDL002"), rule("TDL201"), rule("TDL501", Severity.ADVICE), rule("TDL502", Severity.ADVICE),
    rule("TDL900", Severity.WARNING),
)  # fmt: skip


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "expected"),
    [
        (None, [], [], "001 002 201 900"),
        (["TDL"], [], [], "001 002 201 501 502 900"),
        (["ALL"], [], [], "001 002 201 501 502 900"),
        (["TDL"], [], ["TDL9"], "001 002 201 501 502"),
        (["TDL5"], [], [], "501 502"),
        ([], [], [], ""),
        ([], ["TDL501"], [], "501"),
        (None, ["TDL501"], [], "001 002 201 501 900"),
        (None, [], ["TDL0"], "201 900"),
        (None, [], ["ALL"], ""),
        (["TDL0"], [], ["TDL001"], "002"),
        (["TDL001"], [], ["TDL0"], "001"),
        (["TDL001"], [], ["TDL001"], ""),
        (["ALL"], [], ["ALL"], ""),
        (None, ["TDL001"], ["TDL0"], "001 201 900"),
        (["TDL0", "TDL502"], [], ["TDL5", "TDL00"], "502"),
    ],
)
def test_the_longest_selector_decides(
    select: list[str] | None, extend: list[str], ignore: list[str], expected: str
) -> None:
    settings = Settings(
        select=None if select is None else tuple(select), extend_select=tuple(extend), ignore=tuple(ignore)
    )
    assert selected(settings, RULES) == tuple(f"TDL{number}" for number in expected.split())


def test_the_default_is_every_rule_that_is_not_advice() -> None:
    assert selected(Settings()) == tuple(
        one.code for one in all_rules() if one.severity is not Severity.ADVICE and not one.preview
    )


@pytest.mark.parametrize(
    ("pattern", "filename", "ignored"),
    [
        ("tests/*", "tests/test_a.py", True),
        ("tests/*", "tests/deep/test_a.py", True),
        ("tests", "tests/deep/test_a.py", True),
        ("tests/*", "src/tests/test_a.py", False),
        ("tests", "src/tests/test_a.py", True),
        ("__init__.py", "src/pkg/__init__.py", True),
        ("*_gen.py", "src/a_gen.py", True),
        ("src/**/a.py", "src/x/y/a.py", True),
        ("!src/*", "src/a.py", False),
        ("!src/*", "lib/a.py", True),
        ("src/a.py", "./src/a.py", True),
        ("src/a.py", "src/b.py", False),
    ],
)
def test_files_can_be_let_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, filename: str, ignored: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(per_file_ignores=((pattern, ("TDL0", "TDL900")),))
    for name in (filename, str(tmp_path / filename)):
        codes = selected_for(settings, name)
        assert ("TDL001" not in codes, "TDL900" not in codes) == (ignored, ignored)
        assert "TDL201" in codes


def test_patterns_are_relative_to_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").mkdir()
    monkeypatch.chdir(tmp_path / "tests")
    settings = Settings(root=tmp_path, per_file_ignores=(("tests/*", ("ALL",)),))
    assert not selected_for(settings, "test_a.py")
    assert selected_for(settings, "../other.py") == set(selected(settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(select=("TDL0O1",)), "unknown code `TDL0O1` in `select`; did you mean `TDL001`?"),
        (Settings(extend_select=("tdl001",)), "unknown code `tdl001` in `extend-select`; did you mean `TDL001`?"),
        (Settings(ignore=("TDL4711",)), "unknown code `TDL4711` in `ignore`"),
        (Settings(per_file_ignores=(("a", ("E501",)),)), "unknown code `E501` in `per-file-ignores`"),
        (Settings(severity=(("TDL20l", "error"),)), "unknown code `TDL20l` in `severity`; did you mean `TDL201`?"),
        (Settings(select=("unused-suppression",)), "did you mean `TDL900`?"),
        (Settings(select=("",)), "unknown code `` in `select`"),
    ],
)
def test_a_selector_without_a_rule_is_refused(settings: Settings, message: str) -> None:
    with pytest.raises(UnknownCodeError) as caught:
        check(settings)
    assert message in str(caught.value)


def test_selectors_with_rules_are_accepted() -> None:
    check(Settings(select=("ALL",), extend_select=("TDL",), ignore=("TDL9",), severity=(("TDL2", "error"),)))


def test_the_longest_selector_sets_the_severity() -> None:
    found = severities(Settings(severity=(("TDL201", "error"), ("TDL2", "advice"), ("ALL", "warning"))))
    assert (found["TDL201"], found["TDL202"]) == (Severity.ERROR, Severity.ADVICE)
    assert found["TDL001"] is Severity.WARNING
    assert severities(Settings()) == {}


def test_rules_in_preview_run_on_request_only() -> None:
    new = replace(rule("TDL998"), preview=True)
    assert selected(Settings(), [new]) == ()
    assert selected(Settings(select=("TDL998",)), [new]) == ()
    assert selected(Settings(preview=True), [new]) == ("TDL998",)


@pytest.mark.parametrize("pattern", ["!!", "*a" * 30 + "b.py"])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="in `per-file-ignores` is not a pattern"):
        check(Settings(per_file_ignores=((pattern, ("TDL001",)),)))
