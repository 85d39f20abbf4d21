"""Kept results: never another outcome than without them, whatever is edited, moved, or wrong with the cache."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.conftest import a_part
from torchdevlint import cache as caches
from torchdevlint import engine
from torchdevlint.cache import Cache, database
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths
from torchdevlint.model import Run
from torchdevlint.suppress import comments

MODULE = """class {name}({base}):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.s = torch.ones(3)
    def forward(self, x):
        return self.fc(x) * {factor}
"""
PIECES = {
    "helpers.py": [
        "import torch\n",
        "from package.deep import *\n",
        "DEVICE = torch.device('cuda')\n",
        "DEVICE = torch.device('cpu')\n",
        "def mask(n):\n    return torch.ones(n)\n",
        "def mask(n):\n    return torch.ones(n, device=DEVICE)\n",
        "# a comment\n",
    ],
    "package/__init__.py": ["from .deep import Base\n", "from .other import Base\n", "import torch\n", "", "x = 1\n"],
    "package/deep.py": [
        "import torch\nfrom torch import nn\n",
        MODULE.format(name="Base", base="nn.Module", factor="2"),
        "class Base:\n    pass\n",
        "def mask(n):\n    return torch.zeros(n).cuda()\n",
    ],
    "package/other.py": ["from .deep import Base\n", "Base = object\n", "def broken(\n"],
    "main.py": [
        "import torch\nimport os\nfrom torch import nn\n",
        "from helpers import mask, DEVICE\n",
        "import helpers\nmask = helpers.mask\nDEVICE = helpers.DEVICE\n",
        "from package import Base\n",
        "x = torch.ones(3, device=DEVICE) + mask(3)\n",
        MODULE.format(name="Net", base="Base", factor="self.s"),
        "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n",
        "state = torch.load('f')  # noqa: TDL201\n",
        'state = torch.load("""\n    f""")  # noqa\n',
        'state = torch.load("""\n    f""")\n',
    ],
}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def lint(root: Path, folder: Path | None, settings: Settings | None = None) -> Run:
    files = [path.as_posix() for path in sorted(root.rglob("*.py"))]
    settings = settings or Settings(root=root)
    if folder is None:
        return check_paths(files, settings)
    with Cache(folder) as cache:
        return check_paths(files, settings, cache=cache)


@pytest.mark.parametrize("seed", range(6))
def test_warm_is_cold_after_random_edits(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "pyproject.toml", "")
    hits = 0
    for _ in range(25):
        name = choose.choice(sorted(PIECES))
        path = root / name
        if choose.random() < 0.15 and path.exists():
            path.unlink()
        else:
            write(path, "".join(each for each in PIECES[name] if choose.random() < 0.7))
        before = lint(root, None)
        assert lint(root, folder) == before
        hits += len(before.diagnostics)
    assert hits


def test_what_has_not_changed_is_not_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    for name, pieces in PIECES.items():
        write(root / name, "".join(pieces))
    write(root / "package/other.py", "from .deep import Base\n")
    whole = ("environ", "torch.load")  # what is found there is asked of the whole text of what the program imports
    write(root / "main.py", "".join(each for each in PIECES["main.py"] if not any(word in each for word in whole)))
    first = lint(root, folder)
    analysed: list[str] = []
    check = engine._check_file

    def seen(of: tuple[str, Settings], keeping: bool) -> object:
        analysed.append(Path(of[0]).name)
        return check(of, keeping)

    monkeypatch.setattr(engine, "_check_file", seen)
    assert lint(root, folder) == first
    assert analysed == []
    write(root / "helpers.py", "\n# moved down\n" + "".join(PIECES["helpers.py"]))
    lint(root, folder)
    assert analysed == ["helpers.py"]
    analysed.clear()
    write(root / "helpers.py", "import torch\nDEVICE = None\n")
    lint(root, folder)
    assert analysed == ["helpers.py", "main.py"]
    analysed.clear()
    lint(root, folder, Settings(root=root, select=("TDL201",)))
    assert analysed == []
    lint(root, folder, Settings(root=root, select=("TDL201", "TDL501")))
    assert len(analysed) == 5


def test_lines_that_go_over_several_rows_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "a.py", 'import torch\n\nx = torch.load("""\n    f""")\ny = torch.load("""\n    f""")  # noqa: TDL2\n')
    write(root / "b.py", 'import torch\n\nx = torch.load("""\n    f""")\ny = torch.load("""\n    f""")  # noqa\n')
    first = lint(root, folder)
    assert [(each.span.row, each.noqa_row) for each in first.diagnostics] == [(3, 4), (3, 4)]
    tokenized: list[str] = []
    scan = comments.tokenize.generate_tokens
    monkeypatch.setattr(comments.tokenize, "generate_tokens", lambda line: tokenized.append("") or scan(line))
    assert lint(root, folder) == first
    assert len(tokenized) == 1, "only a.py has a comment that may be unused"
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        connection.execute("UPDATE results SET joined = '[[3, 99]]'")
    assert lint(root, folder) == first


def test_what_is_said_of_comments_is_said_again(tmp_path: Path) -> None:
    """Also in a file without a finding, and of comments that hold from above and for a region."""
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "a.py", "x = 1  # noqa: TDL9999\n")
    write(root / "b.py", "x = 1  # torchdevlint: ignor\n# torchdevlint: on\n")
    load = "x = torch.load('a')\n"
    held = f"# torchdevlint: ignore[TDL201]\n{load}# torchdevlint: off\n{load}# torchdevlint: on\n{load}"
    write(root / "c.py", f"import torch\n\n{held}# torchdevlint: off\n")
    first = lint(root, folder)
    found = [(Path(each.filename).name, each.span.row, each.code) for each in first.diagnostics]
    assert found == [
        ("a.py", 1, "TDL902"),
        ("b.py", 1, "TDL902"),
        ("b.py", 2, "TDL902"),
        ("c.py", 8, "TDL201"),
        ("c.py", 9, "TDL900"),
    ]
    assert lint(root, folder) == first


def test_settings_of_the_inference_are_part_of_the_key(tmp_path: Path) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    text = "import torch\nfrom inhouse import Thing\n\nclass Net(Thing):\n    def __init__(self):\n"
    text += "        self.s = torch.ones(3)\n\n    def forward(self, x: torch.Tensor):\n        return x * self.s\n"
    write(root / "net.py", text)
    settings = Settings(root=root)
    configured = replace(settings, module_bases=("inhouse.Thing",))
    for each in (settings, configured, settings):
        assert lint(root, folder, each) == lint(root, None, each)
    assert lint(root, None, settings) != lint(root, None, configured)


@pytest.mark.parametrize("damage", ["bytes", "rows", "table", "layout", "view", "folder", "readonly", "locked"])
def test_a_damaged_cache_changes_nothing(tmp_path: Path, damage: str) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    for name, pieces in PIECES.items():
        write(root / name, "".join(pieces))
    expected = lint(root, None)
    lint(root, folder)
    file = folder / "results.sqlite"
    other = sqlite3.connect(file)
    if damage == "bytes":
        file.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)
    elif damage == "rows":
        other.execute("UPDATE results SET reports = ?, names = '[]'", (json.dumps([["TDL004", {}]]),))
        other.commit()
    elif damage == "table":
        other.execute("DROP TABLE results")
        other.execute("CREATE TABLE results (something TEXT)")
        other.commit()
    elif damage == "layout":
        other.execute("ALTER TABLE results ADD COLUMN more TEXT")
        other.commit()
    elif damage == "view":
        other.execute("DROP TABLE results")
        endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t"
        columns = "path, context, digest, codes, reports, uses"
        other.execute(f"CREATE VIEW results ({columns}) AS SELECT x, x, x, x, x, x FROM ({endless})")
        other.commit()
    elif damage == "folder":
        other.close()
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()
        folder.write_text("a file")
    elif damage == "readonly":
        file.chmod(stat.S_IRUSR)
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    else:
        database._SECONDS = 0.1
        other.execute("BEGIN EXCLUSIVE")
    try:
        assert lint(root, folder) == expected
        write(root / "main.py", "import torch\n")
        assert lint(root, folder) == lint(root, None)
        if damage in ("bytes", "layout", "view", "table"):
            assert Cache(folder)._results, "it is a cache again"
    finally:
        database._SECONDS = 2.0
        other.close()
        if damage == "readonly":
            folder.chmod(stat.S_IRWXU)


def test_nothing_that_failed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "a.py", "import torch\nstate = torch.load('f')\n")

    def fails(*_: object) -> object:
        raise ValueError("no")

    with monkeypatch.context() as patch:
        patch.setattr("torchdevlint.flow.analyse.analyse", fails)
        assert lint(root, folder).problems
    assert not lint(root, folder).problems
    assert [each.code for each in lint(root, folder).diagnostics] == ["TDL201"]


def test_paths_are_shown_as_they_are_given_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "lib/helpers.py", "import torch\ndef mask(n):\n    return torch.ones(n)\n")
    write(root / "main.py", "import torch\nfrom lib.helpers import mask\nx = torch.ones(3).cuda() + mask(3)\n")
    write(root / "pyproject.toml", "")
    lint(root, folder)
    monkeypatch.chdir(root)
    settings = Settings(root=root)
    with Cache(folder) as cache:
        (finding,) = check_paths(["main.py"], settings, cache=cache).diagnostics
    assert {each.filename for each in finding.related} == {"main.py", "lib/helpers.py"}


def test_it_is_marked_as_a_cache_and_left_out_of_repositories(tmp_path: Path) -> None:
    write(tmp_path / "a.py", "import torch\n")
    lint(tmp_path, tmp_path / "cache")
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [
        ".gitignore", "CACHEDIR.TAG", "results.sqlite"
    ]  # fmt: skip
    assert (tmp_path / "cache" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("link", ["", "results.sqlite", "results.sqlite-journal", ".gitignore", "CACHEDIR.TAG"])
def test_it_does_not_lead_out_of_the_project(tmp_path: Path, link: str) -> None:
    """A repository may bring a folder of this name."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    write(root / "a.py", "import torch\n\nx = torch.load('m')\n")
    folder = root / ".torchdevlint_cache"
    if link:
        folder.mkdir()
        (folder / link).symlink_to(outside)
    else:
        outside.mkdir()
        folder.symlink_to(outside)
    assert lint(root, folder) == lint(root, None)
    assert not outside.exists() or not list(outside.iterdir())


def test_nothing_is_unpickled() -> None:
    """What is read back is JSON and SQLite; the pool alone pickles, from a process to its own children."""
    package = Path(caches.__file__).parent.parent
    found = [
        path for path in package.rglob("*.py")
        if re.search(r"^\s*(?:import|from) (?:pickle|marshal|shelve|dill|joblib)\b", path.read_text(), re.MULTILINE)
        and "runtime" not in path.parts
    ]  # fmt: skip
    assert found == []


def test_what_is_as_it_was_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the files nor what they import: their times and sizes are enough, once they are old enough to tell."""
    monkeypatch.setattr(caches, "_SETTLED", -(10**12))
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "a.py", "import torch\nfrom b import f\n\nx = f()\n")
    write(root / "b.py", "import torch\n\n\ndef f():\n    return torch.zeros(2)\n")
    monkeypatch.setattr(caches, "_SETTLED", -(10**12))
    for _ in range(2):
        lint(root, folder)

    def refuse(path: object) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr(caches, "content", refuse)
    monkeypatch.setattr(engine, "content", refuse)
    assert lint(root, folder).files == 2
    write(root / "b.py", "import torch\n\n\ndef f():\n    return torch.ones(22)\n")
    with pytest.raises(AssertionError, match=r"b\.py"):
        lint(root, folder)


def test_what_was_only_just_written_is_read_again(tmp_path: Path) -> None:
    """A second write of as many bytes in the same instant may leave the times as they were."""
    root, folder = tmp_path / "project", tmp_path / "cache"
    good, bad = "import torch\nstate = torch.save(1)\n", "import torch\nstate = torch.load(1)\n"
    write(root / "a.py", good)
    before = (root / "a.py").stat()
    lint(root, folder)
    write(root / "a.py", bad)
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(good) == len(bad)
    assert [each.code for each in lint(root, folder).diagnostics] == ["TDL201"]


@pytest.mark.parametrize("rounds", a_part([25, 150], of=2))
@pytest.mark.parametrize("table", ["results", "files", "imports", "used"])
def test_values_of_other_types_are_as_good_as_none(
    tmp_path: Path, table: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a database that is otherwise sound, as somebody else may have made it; within its JSON as well."""
    monkeypatch.setattr(caches, "_SETTLED", -(10**12))
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "a.py", "import torch\nfrom b import f\n\nx = torch.load(f())\ny = torch.load(3)\n")
    write(root / "b.py", "def f():\n    return 'm'\n")
    expected, chance = lint(root, None), random.Random(1)
    assert expected.diagnostics
    others: list[object] = [None, 7, -1, 2**62, 1.5, b"\xff", b"\xff" * 8, b"/a\0b", "", "{}", "[7]", "[[]]", "null"]
    for _ in range(rounds):
        lint(root, folder)
        with closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
            column = chance.choice(columns)
            rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            for row, value in rows:
                other = chance.choice(others)
                if isinstance(value, str) and value[:1] in "[{" and chance.random() < 0.8:
                    leaves = list(re.finditer(r'(?<=": )(?:"[^"\\]*"|\d+|null)(?=[,}])', value))
                    leaf = chance.choice(leaves) if leaves else None
                    wrong = chance.choice(["[]", "{}", "1.5"] + ["-1"] * bool(leaf and leaf[0].isdigit()))
                    other = value[: leaf.start()] + wrong + value[leaf.end() :] if leaf else None
                connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", (other, row))
        assert lint(root, folder) == expected, column


def test_what_noqa_silences_is_known_whether_it_is_ignored_or_not(tmp_path: Path) -> None:
    root, folder = tmp_path / "project", tmp_path / "cache"
    write(root / "a.py", "import torch\n\nx = torch.load('f')\ny = torch.load('g')  # noqa\n# flake8: noqa\n")
    heeded, ignored = Settings(root=root), Settings(root=root, ignore_noqa=True)
    for _ in range(2):
        (result,) = lint(root, folder, heeded).results
        assert (result.diagnostics, result.silenced) == ((), 1)
        (result,) = lint(root, folder, ignored).results
        assert ([each.span.row for each in result.diagnostics], result.silenced) == ([3, 4], 0)
