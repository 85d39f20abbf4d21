"""Where imports lead, by the files alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchdevlint.project.locate import forget, locate, submodule

FILES = """
pyproject.toml app/__init__.py app/models/__init__.py app/models/net.py app/utils.py app/plain/deep/thing.py
tools/train.py tools/helper.py src/inside/__init__.py src/inside/part.py torch/__init__.py json.py tests/test_app.py
app/both.py app/both/__init__.py
""".split()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    forget()
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("importer", "module", "level", "found"),
    [
        ("app/models/net.py", "utils", 2, "app/utils.py"),
        ("app/models/net.py", "", 1, "app/models/__init__.py"),
        ("app/models/net.py", "app.utils", 0, "app/utils.py"),
        ("app/models/net.py", "app.models", 0, "app/models/__init__.py"),
        ("app/models/net.py", "app.plain.deep.thing", 0, "app/plain/deep/thing.py"),
        ("app/models/net.py", "app.plain", 0, None),
        ("app/utils.py", "models.net", 1, "app/models/net.py"),
        ("app/utils.py", "both", 1, "app/both/__init__.py"),
        ("tools/train.py", "helper", 0, "tools/helper.py"),
        ("tools/train.py", "app.models.net", 0, "app/models/net.py"),
        ("tools/train.py", "inside.part", 0, "src/inside/part.py"),
        ("tests/test_app.py", "app.utils", 0, "app/utils.py"),
        ("tools/train.py", "torch", 0, None),
        ("tools/train.py", "json", 0, None),
        ("tools/train.py", "missing.thing", 0, None),
        ("tools/train.py", "", 9, None),
        ("tools/train.py", "app.utils", 2, "app/utils.py"),
        ("tools/train.py", "outside", 3, None),
    ],
)
def test_where_an_import_leads(root: Path, importer: str, module: str, level: int, found: str | None) -> None:
    (root.parent / "outside.py").write_text("")
    assert locate(str((root / importer).parent), module, level) == (None if found is None else str(root / found))


def test_modules_below_a_package(root: Path) -> None:
    assert submodule(str(root / "app/__init__.py"), "utils") == str(root / "app/utils.py")
    assert submodule(str(root / "app/utils.py"), "models") is None
    assert submodule(str(root / "app/plain"), "deep") == str(root / "app/plain/deep")


def test_nothing_above_the_project_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text("")
    forget()
    assert locate(str(tmp_path / "inner"), "outside") is None


@pytest.mark.parametrize(
    ("setup", "found"),
    [
        ("import setuptools\n\nsetuptools.setup()\n", None),
        ("from skbuild import *\nsetup(name='net')\n", None),
        ("import setuptools\n\nsetuptools.setup(ext_modules=[])\n", "outside.py"),
        ("import setuptools\n\nsetuptools.setup(ext_modules=[], packages=['models'])\n", None),
        ("from .net import Net\n\ndef setup(options):\n    return Net(options)\n", "outside.py"),
        ("from .net import Net\n\ndef select(options):\n    return Net(options)\n", "outside.py"),
    ],
    ids=[
        "builds",
        "builds by a star",
        "an extension alone",
        "one with a package",
        "sets up a model",
        "selects a model",
    ],
)
def test_a_module_called_setup_that_builds_nothing_is_no_root(tmp_path: Path, setup: str, found: str | None) -> None:
    for folder, name in ((tmp_path, "setup.cfg"), (tmp_path, "outside.py"), (tmp_path / "models", "setup.py")):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(setup)
    forget()
    assert locate(str(tmp_path / "models"), "outside") == (found and str(tmp_path / found))


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_lead_within_the_project_only(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    for name in ("__init__.py", "secret.py"):
        (outside / name).write_text("")
    (root / "app" / "away").symlink_to(outside)
    (root / "app" / "secret.py").symlink_to(outside / "secret.py")
    (root / "app" / "within").symlink_to("models")
    (root / "app" / "alias.py").symlink_to("utils.py")
    forget()
    beside = str(root / "app")
    assert [locate(beside, name, 1) for name in ("away", "away.secret", "secret")] == [None, None, None]
    assert locate(beside, "within.net", 1) == str(root / "app/within/net.py")
    assert locate(beside, "alias", 1) == str(root / "app/alias.py")


def test_without_a_root_the_dots_stay_in_the_package_or_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("outside.py", "plain/other.py", "plain/deep/a.py", "package/__init__.py", "package/sub/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    forget()
    assert locate(str(tmp_path / "package/sub"), "sub", 2) == str(tmp_path / "package/sub")
    assert locate(str(tmp_path / "package/sub"), "outside", 3) is None
    assert locate(str(tmp_path / "plain/deep"), "other", 2) is None
    monkeypatch.chdir(tmp_path / "plain")
    forget()
    assert locate(str(tmp_path / "plain/deep"), "other", 2) == str(tmp_path / "plain/other.py")
    assert locate(str(tmp_path / "plain/deep"), "outside", 3) is None
