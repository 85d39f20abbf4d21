"""`torchdevlint rule`: pages of rules in the terminal, as plain text, as JSON."""

from __future__ import annotations

import json

import pytest

from tests.forked import python
from torchdevlint.rules import HEADINGS, all_rules, by_code

RULE = by_code()["TDL201"]


@pytest.mark.parametrize("key", ["TDL201", "tdl201", "load-without-map-location"])
def test_a_rule_is_found_by_code_and_name(key: str) -> None:
    done = python("-m", "torchdevlint", "rule", key)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# TDL201 load-without-map-location\n\nSeverity: warning, on by default\n")
    for heading in HEADINGS:
        assert f"\n## {heading}\n" in done.stdout


def test_on_a_terminal_it_is_rendered() -> None:
    done = python("-m", "torchdevlint", "rule", "TDL201", "--color", "always")
    assert "\x1b[" in done.stdout
    assert "## " not in done.stdout
    assert "Why is this bad?" in done.stdout


def test_as_json() -> None:
    one = json.loads(python("-m", "torchdevlint", "rule", "TDL201", "--output-format", "json").stdout)
    assert one["explanation"].startswith(one["summary"])
    assert {key: one[key] for key in ("code", "name", "severity", "default", "url")} == {
        "code": "TDL201",
        "name": RULE.name,
        "severity": "warning",
        "default": True,
        "url": RULE.url,
    }
    every = json.loads(python("-m", "torchdevlint", "rule", "--all", "--output-format", "json").stdout)
    assert [rule["code"] for rule in every] == [rule.code for rule in all_rules()]
    assert one in every


def test_every_page_at_once() -> None:
    text = python("-m", "torchdevlint", "rule", "--all").stdout
    assert [line.split()[1] for line in text.splitlines() if line.startswith("# TDL")] == [r.code for r in all_rules()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["TDL2O1"], ["TDL2O1", "`TDL201`", "load-without-map-location"]),
        (["load-without-maplocation"], ["`TDL201`"]),
        ([], ["--all"]),
        (["TDL201", "--all"], ["--all"]),
    ],
)
def test_what_is_not_a_rule(arguments: list[str], words: list[str]) -> None:
    done = python("-m", "torchdevlint", "rule", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    for word in words:
        assert word in done.stderr
