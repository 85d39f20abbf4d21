"""The JSON schema of the configuration, held against what reads one; `torchdevlint config`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import torchdevlint
from tests.forked import python
from torchdevlint.config import ConfigError, Settings, Verify, load, options
from torchdevlint.config.schema import schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

VALIDATOR = jsonschema.Draft7Validator(schema())
RIGHT = """
select = ["TDL0", "ALL"]
select = []
extend = "../base.toml"
required-version = ""
required-version = "0.1"
required-version = "0.1.0"
required-version = ">=0.0.1, <2"
required-version = "~=0.1"
required-version = "==0.*"
required-version = ">=0.1.dev3,!=0.2rc1"
per-file-ignores = { "tests/*" = ["TDL201"], "!src/*" = [] }
per-file-ignores = {}
severity = { TDL201 = "error", TDL5 = "warning" }
fail-on = "never"
fix = true
baseline = "known.json"
cache-dir = "~/kept"
include = ["*.py", "*.pyw"]
target-torch = "2.4"
target-torch = "2.4.1"
module-bases = ["a.Base"]
output-format = "concise"
verify = { timeout = 5, with-command = "pytest", examples = { "a:B" = "c:d" } }
verify.timeout = 0.5
"""
WRONG = """
selekt = []
select = "TDL001"
select = [1]
select = {}
extend = ["base.toml"]
required-version = 1
required-version = "new"
required-version = ">="
required-version = ">=0.1,0.2"
required-version = "=0.1"
per-file-ignores = ["a"]
per-file-ignores = { a = "TDL201" }
severity = { TDL201 = "fatal" }
severity = "error"
fail-on = "info"
fail-on = true
fix = 1
fix = "yes"
cache-dir = false
include = "*.py"
target-torch = 2.4
target-torch = "2"
target-torch = "2.4rc1"
module-bases = [["a"]]
verify = 3
verify.timeout = 0
verify.timeout = true
verify.timeout = "5"
verify.examples = { a = 1 }
verify.time-out = 1
"""


@pytest.mark.parametrize("line", RIGHT.strip().splitlines())
def test_what_is_read_is_valid(tmp_path: Path, line: str) -> None:
    VALIDATOR.validate(tomllib.loads(line))
    (tmp_path / "base.toml").write_text("")
    own = tmp_path / "a" / "torchdevlint.toml"
    own.parent.mkdir()
    own.write_text(line)
    load(own.parent)


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_what_is_refused_is_not_valid(tmp_path: Path, line: str) -> None:
    assert not VALIDATOR.is_valid(tomllib.loads(line))
    (tmp_path / "torchdevlint.toml").write_text(line)
    with pytest.raises(ConfigError, match=r"torchdevlint\.toml: "):
        load(tmp_path)


def test_the_snippets_are_of_most_kinds_of_keys() -> None:
    kinds = {one.kind for one in (*options(Settings), *options(Verify))}
    of_key = {one.key: one.kind for one in (*options(Settings), *options(Verify))}
    for lines in (RIGHT, WRONG):
        tables = [tomllib.loads(line) for line in lines.strip().splitlines()]
        inside = [key for each in tables if isinstance(each.get("verify"), dict) for key in each["verify"]]
        keys = {*inside, *(key for each in tables for key in each)}
        assert {of_key[key] for key in keys & of_key.keys()} == kinds


def test_it_is_one_is_shipped_and_printed(tmp_path: Path) -> None:
    jsonschema.Draft7Validator.check_schema(schema())
    shipped = Path(torchdevlint.__file__).parent / "config" / "schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == schema()
    assert config("--schema").stdout == shipped.read_text(encoding="utf-8")


def test_defaults_are_valid_and_mean_what_is_without_them(tmp_path: Path) -> None:
    properties = schema()["properties"]
    verify = {key: one["default"] for key, one in properties["verify"]["properties"].items() if "default" in one}
    defaults = {key: one["default"] for key, one in properties.items() if "default" in one}
    VALIDATOR.validate({**defaults, "verify": verify})
    assert defaults["fail-on"] == "advice"
    assert defaults["per-file-ignores"] == {}


def test_our_own_configuration_is_valid() -> None:
    own = Path(torchdevlint.__file__).parent.parent / "pyproject.toml"
    VALIDATOR.validate(tomllib.loads(own.read_text(encoding="utf-8"))["tool"]["torchdevlint"])


def config(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "torchdevlint", "config", *arguments, cwd=Path.cwd())


class TestCommand:
    def test_lists_the_keys(self) -> None:
        listed = config().stdout.splitlines()
        assert listed[:2] == ["extend", "required-version"]
        assert listed[-1] == "verify.timeout"
        told = json.loads(config("--output-format", "json").stdout)
        assert list(told) == listed
        assert told["per-file-ignores"]["default"] == {}
        assert told["fail-on"]["of_run"] is True

    def test_explains_one(self) -> None:
        assert config("verify.timeout").stdout == (
            "verify.timeout\n\nHow long the execution of one finding may take.\n\n"
            "Holds: a positive number of seconds\nDefault: 30.0\nOf the whole run: that of the current folder.\n"
        )
        assert config("tool.torchdevlint.preview").stdout.startswith("preview\n\nRun what is not yet stable.\n")
        assert json.loads(config("baseline", "--output-format", "json").stdout)["baseline"]["default"] is None

    @pytest.mark.parametrize(
        ("key", "near"), [("selekt", "select"), ("timeout", "verify.timeout"), ("PREVIEW_", "preview")]
    )
    def test_names_the_nearest(self, key: str, near: str) -> None:
        done = config(key)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"error: there is no key `{key}`; did you mean `{near}`?\n"

    def test_of_one_key_there_is_no_schema(self) -> None:
        done = config("--schema", "select")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("error: --schema is of all keys; name none\n")
