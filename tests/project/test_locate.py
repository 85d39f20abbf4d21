"""Where imports lead, by the files alone."""

from __future__ import annotations

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
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    forget()
    return tmp_path


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
    ],
)
def test_where_an_import_leads(root: Path, importer: str, module: str, level: int, found: str | None) -> None:
    path = locate(str(root / importer), module, level)
    expected = None if found is None else str(root / found)
    assert path == expected or (level == 9 and path is not None and not path.startswith(str(root)))


def test_modules_below_a_package(root: Path) -> None:
    assert submodule(str(root / "app/__init__.py"), "utils") == str(root / "app/utils.py")
    assert submodule(str(root / "app/utils.py"), "models") is None
    assert submodule(str(root / "app/plain"), "deep") == str(root / "app/plain/deep")


def test_nothing_above_the_project_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text("")
    forget()
    assert locate(str(tmp_path / "inner" / "a.py"), "outside") is None
