"""Where settings come from, what is refused, and how flags are laid over them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from torchdevlint.config import DEFAULT_EXCLUDE, ConfigError, Settings, Verify, load, nearest, options, overlay


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str, name: str = "torchdevlint.toml") -> str:
    written(folder / name, text)
    with pytest.raises(ConfigError) as caught:
        load(folder)
    return str(caught.value).replace(str(folder), "F")


def test_every_key_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path / "torchdevlint.toml",
        """
        select = ["TDL0", "TDL201"]
        extend-select = ["TDL9"]
        ignore = ["TDL003"]
        per-file-ignores = { "tests/*" = ["TDL201"], "!src/*" = ["TDL0", "TDL2"] }
        severity = { TDL201 = "error" }
        exclude = ["old"]
        extend-exclude = ["gen/*.py"]
        respect-gitignore = false
        force-exclude = true
        output-format = "concise"
        baseline = "known.json"
        preview = true
        target-torch = "2.4"
        module-bases = ["a.Base"]
        in-place-movers = ["a.Box"]
        batch-movers = ["a.move"]
        device-managed-bases = ["a.Managed"]

        [verify]
        examples = { "pkg.models:Net" = "pkg.testing:net" }
        with-command = "pytest tests"
        timeout = 5
        """,
    )
    assert load(tmp_path) == Settings(
        root=tmp_path,
        config_file=path,
        select=("TDL0", "TDL201"),
        extend_select=("TDL9",),
        ignore=("TDL003",),
        per_file_ignores=(("tests/*", ("TDL201",)), ("!src/*", ("TDL0", "TDL2"))),
        severity=(("TDL201", "error"),),
        exclude=("old",),
        extend_exclude=("gen/*.py",),
        respect_gitignore=False,
        force_exclude=True,
        output_format="concise",
        baseline="known.json",
        preview=True,
        target_torch="2.4",
        module_bases=("a.Base",),
        in_place_movers=("a.Box",),
        batch_movers=("a.move",),
        device_managed_bases=("a.Managed",),
        verify=Verify((("pkg.models:Net", "pkg.testing:net"),), "pytest tests", 5.0),
    )


def test_the_table_of_keys_covers_every_field_and_explains_it() -> None:
    keys = {option.key: option for option in options()}
    own = {name.replace("_", "-") for name in Settings.__struct_fields__} - {"root", "config-file", "base", "verify"}
    assert keys.keys() == own
    assert [option.key for option in options(Verify)] == ["examples", "with-command", "timeout"]
    for option in (*options(), *options(Verify)):
        assert option.help.endswith("."), option.key
        assert option.kind.startswith(("a ", "one of ")), option.key
    assert keys["exclude"].default == DEFAULT_EXCLUDE


def test_the_nearest_folder_wins_and_torchdevlint_toml_in_it(tmp_path: Path) -> None:
    written(tmp_path / "pyproject.toml", '[tool.torchdevlint]\nignore = ["TDL001"]\n')
    written(tmp_path / "a" / "pyproject.toml", '[tool.torchdevlint]\nignore = ["TDL002"]\n')
    written(tmp_path / "a" / "b" / "pyproject.toml", "[tool.ruff]\n")
    file = written(tmp_path / "a" / "b" / "x.py", "")
    assert load(tmp_path).ignore == ("TDL001",)
    assert load(tmp_path / "elsewhere" / "none.py").ignore == ("TDL001",)
    for start in (file, file.parent, tmp_path / "a"):
        assert load(start).ignore == ("TDL002",)
        assert load(start).root == tmp_path / "a"
    own = written(tmp_path / "a" / "torchdevlint.toml", "")
    assert load(file) == Settings(root=tmp_path / "a", config_file=own)


def test_a_relative_start_is_looked_up_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "torchdevlint.toml", "preview = true\n")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert load(Path("x.py")).root == tmp_path
    assert load(Path()).preview


def test_isolated_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "torchdevlint.toml", "broken")
    assert load(tmp_path, isolated=True) == Settings(root=tmp_path)


def test_without_configuration_the_current_folder_is_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(tmp_path).config_file is None
    assert load(tmp_path).root == tmp_path


def test_a_named_file_is_the_only_one(tmp_path: Path) -> None:
    written(tmp_path / "torchdevlint.toml", "preview = true\n")
    other = written(tmp_path / "conf" / "strict.toml", 'select = ["ALL"]\n')
    assert load(tmp_path, config=other) == Settings(root=other.parent, config_file=other, select=("ALL",))
    bare = written(tmp_path / "conf" / "pyproject.toml", "[tool.ruff]\n")
    for path, reason in ((bare, "no [tool.torchdevlint] table"), (tmp_path / "none.toml", "No such file")):
        with pytest.raises(ConfigError, match=str(path)) as caught:
            load(tmp_path, config=path)
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("key", "near"),
    [("selekt", "select"), ("per_file_ignores", "per-file-ignores"), ("Select", "select"), ("verfy", "verify")],
)
def test_an_unknown_key_names_the_nearest(tmp_path: Path, key: str, near: str) -> None:
    assert refusal(tmp_path, f"{key} = 1\n") == f"F/torchdevlint.toml: unknown key `{key}`; did you mean `{near}`?"


def test_an_unknown_key_of_verify_names_the_nearest(tmp_path: Path) -> None:
    message = refusal(tmp_path, "[tool.torchdevlint.verify]\ntime-out = 1\n", "pyproject.toml")
    assert message == "F/pyproject.toml: unknown key `verify.time-out`; did you mean `verify.timeout`?"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('select = "TDL001"', '`select` must be a list of strings, not "TDL001"'),
        ("ignore = [1, true]", "`ignore` must be a list of strings, not [1, true]"),
        ("preview = 1", "`preview` must be a boolean, not 1"),
        ("output-format = true", "`output-format` must be a string, not true"),
        ('per-file-ignores = ["a"]', '`per-file-ignores` must be a table from strings to lists of strings, not ["a"]'),
        ("per-file-ignores.a = 1", "`per-file-ignores` must be a table from strings to lists of strings, not {a = 1}"),
        ("severity.A = 1", "`severity` must be a table from codes to one of error, warning, advice, not {A = 1}"),
        ('severity = "error"', '`severity` must be a table from codes to severities, not "error"'),
        ("target-torch = 2.4", '`target-torch` must be a version such as "2.4", not 2.4'),
        ('target-torch = "new"', '`target-torch` must be a version such as "2.4", not "new"'),
        ("verify = 3", "`verify` must be a table, not 3"),
        ("verify.timeout = 0", "`verify.timeout` must be a positive number of seconds, not 0"),
        ("verify.timeout = inf", "`verify.timeout` must be a positive number of seconds, not inf"),
        ("verify.timeout = true", "`verify.timeout` must be a positive number of seconds, not true"),
        ("verify.examples = {a = 1}", "`verify.examples` must be a table from strings to strings, not {a = 1}"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_named_with_what_was_expected(tmp_path: Path, line: str, message: str) -> None:
    assert refusal(tmp_path, line) == f"F/torchdevlint.toml: {message}"


def test_invalid_toml_names_file_and_line(tmp_path: Path) -> None:
    message = refusal(tmp_path, "preview = true\nselect = [\n", "torchdevlint.toml")
    assert message.startswith("F/torchdevlint.toml: invalid TOML: ")
    written(tmp_path / "torchdevlint.toml", "preview = true\nselect == 1\n")
    with pytest.raises(ConfigError, match="line 2"):
        load(tmp_path)
    (tmp_path / "torchdevlint.toml").write_bytes(b"preview = true\n# \xff\n")
    with pytest.raises(ConfigError, match=r"not UTF-8 \(at line 2\)"):
        load(tmp_path)


def test_deeply_nested_toml_is_refused_and_not_a_traceback(tmp_path: Path) -> None:
    assert "invalid TOML" in refusal(tmp_path, "select = " + "[" * 5000)


def test_another_tools_broken_pyproject_is_not_ours_to_refuse(tmp_path: Path) -> None:
    written(tmp_path / "pyproject.toml", "[tool.other\n")
    assert load(tmp_path).config_file is None or load(tmp_path).config_file != tmp_path / "pyproject.toml"


def test_the_table_has_to_be_one(tmp_path: Path) -> None:
    message = refusal(tmp_path, "[tool]\ntorchdevlint = 1\n", "pyproject.toml")
    assert message == "F/pyproject.toml: [tool.torchdevlint] must be a table, not 1"


def test_flags_replace_keys_and_extend_flags_add_to_them() -> None:
    base = Settings(select=("TDL0",), extend_select=("TDL5",), ignore=("TDL003",), extend_exclude=("gen",))
    new = overlay(base, select=("TDL2",), extend_select=("TDL6",), ignore=None, extend_exclude=("old",), preview=True)
    assert (new.select, new.extend_select, new.ignore) == (("TDL2",), ("TDL5", "TDL6"), ("TDL003",))
    assert (new.extend_exclude, new.preview) == (("gen", "old"), True)
    assert overlay(base, select=None) == base


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("old", "old"),
        ("old/", "old/"),
        ("*.py", "*.py"),
        ("gen/*.py", "/sub[[]1]/gen/*.py".replace("[[]1]", r"\[1\]")),
        ("./gen/x.py", r"/sub\[1\]/gen/x.py"),
        ("!gen/x.py", r"!/sub\[1\]/gen/x.py"),
        ("ROOT/gen/x.py", "/gen/x.py"),
    ],
)
def test_patterns_of_flags_are_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, expected: str
) -> None:
    (tmp_path / "sub[1]").mkdir()
    monkeypatch.chdir(tmp_path / "sub[1]")
    base = Settings(root=tmp_path)
    pattern = pattern.replace("ROOT", tmp_path.as_posix())
    assert overlay(base, exclude=(pattern,)).exclude == (expected,)
    assert overlay(base, extend_exclude=(pattern,)).extend_exclude == (expected,)
    assert overlay(base, per_file_ignores=((pattern, ("TDL0",)),)).per_file_ignores == ((expected, ("TDL0",)),)


def test_patterns_of_flags_in_the_root_stay_as_they_are_anchored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert overlay(Settings(), exclude=("gen/*.py", "gen")).exclude == ("/gen/*.py", "gen")


def test_settings_travel_between_processes() -> None:
    settings = Settings(per_file_ignores=(("a", ("TDL0",)),))
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert hash(settings) == hash(pickle.loads(pickle.dumps(settings)))


def test_nearest_ignores_case_and_the_kind_of_dash() -> None:
    assert nearest("TARGET_TORCH", ("target-torch", "select")) == "target-torch"
    assert nearest("zzz", ("b", "a")) in {"a", "b"}


@pytest.mark.parametrize("baseline", ["../b.json", "/etc/passwd", "link.json", "a/../../b.json", "\\u0000"])
def test_a_baseline_does_not_lead_out_of_the_folder(tmp_path: Path, baseline: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.json").symlink_to("../b.json")
    (root / "torchdevlint.toml").write_text(f'baseline = "{baseline}"\n')
    with pytest.raises(ConfigError, match="`baseline` leads out of its folder"):
        load(root)


def test_a_baseline_in_a_folder_below_is_taken(tmp_path: Path) -> None:
    (tmp_path / "torchdevlint.toml").write_text('baseline = "known/../known/b.json"\n')
    assert load(tmp_path).baseline == "known/../known/b.json"
