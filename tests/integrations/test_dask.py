"""Many inputs over Dask: archives of all kinds, parts that are made once, and workers that are killed."""

from __future__ import annotations

import io
import os
import shutil
import signal
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("distributed", reason="the extra `dask` is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra `dask` is not installed")

import dask  # noqa: E402
from dask.bag import from_sequence  # noqa: E402
from distributed import Client, LocalCluster, WorkerPlugin  # noqa: E402

from tests import forked  # noqa: E402
from tests.conftest import ROOT, not_as_root  # noqa: E402
from torchdevlint import engine  # noqa: E402
from torchdevlint.config import ConfigError, Settings  # noqa: E402
from torchdevlint.discover import discover  # noqa: E402
from torchdevlint.integrations.dask import COLUMNS, SCHEMA, findings, inputs, lint_to_parquet, parts  # noqa: E402
from torchdevlint.integrations.dask.__main__ import main  # noqa: E402
from torchdevlint.integrations.dask.rows import Row, rows_of  # noqa: E402

pytestmark = pytest.mark.xdist_group("dask")

HELPER = "import torch\n\n\ndef start():\n    return torch.zeros(3)\n"
USER = "import torch\n\nfrom pkg.helper import start\n\nprint(torch.ones(3, device='cuda') + start())\n"
FILES = {"pkg/__init__.py": "", "pkg/helper.py": HELPER, "pkg/use.py": USER}
BROKEN = {"load.py": "import torch\n\ntorch.load('model.pt')\n", "bad.py": "def\n"}


def folder_of(path: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(path)


def tar_of(path: Path, files: dict[str, str], mode: str = "w:gz", top: str = "proj-1.0/") -> str:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(top + name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return str(path)


def zip_of(path: Path, files: dict[str, str]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return str(path)


def codes(rows: list[Row]) -> list[tuple[str, int, str]]:
    return [(row["filename"], row["row"], row["code"]) for row in rows if row["kind"] == "finding"]


def timeless(rows: list[Row]) -> list[Row]:
    return [{**row, "seconds": None} for row in rows]


# One input


def test_a_folder_gives_what_check_gives(tmp_path: Path) -> None:
    folder = tmp_path / "examples"  # outside of this repository, whose declaration would make them a library's
    shutil.copytree(ROOT / "examples", folder)
    rows = rows_of(str(folder), Settings())
    files = discover([str(folder)], Settings()).files
    found = engine.check_paths(files, Settings(root=folder)).diagnostics
    expected = [
        (Path(one.filename).relative_to(folder).as_posix(), one.span.row, one.code, one.message, one.symptom)
        for one in found
    ]
    assert [
        (row["filename"], row["row"], row["code"], row["message"], row["symptom"])
        for row in rows
        if row["kind"] == "finding"
    ] == expected
    assert expected
    assert [row["kind"] for row in rows].count("input") == 1
    assert (rows[0]["files"], rows[0]["error"]) == (len(files), None)
    assert rows[0]["lines"] == sum(len(Path(file).read_text().splitlines()) for file in files)
    assert all(list(row) == list(COLUMNS) for row in rows)


@pytest.mark.parametrize("kind", [".tar", ".tar.gz", ".tgz", ".zip", ".whl"])
def test_files_of_an_archive_see_each_other(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"proj-1.0{kind}"
    if kind in inputs.ZIPS:
        top, archive = "", zip_of(path, FILES)
    else:
        top, archive = "proj-1.0/", tar_of(path, FILES, "w" if kind == ".tar" else "w:gz")
    rows = rows_of(archive, Settings())
    assert codes(rows) == [(f"{top}pkg/use.py", 5, "TDL004")]
    assert (rows[0]["input"], rows[0]["files"], rows[0]["lines"]) == (archive, 3, 10)
    assert len(rows[0]["digest"]) == 64


def test_a_file_is_linted_alone(tmp_path: Path) -> None:
    folder_of(tmp_path, FILES)
    assert codes(rows_of(str(tmp_path), Settings())) == [("pkg/use.py", 5, "TDL004")]
    assert codes(rows_of(str(tmp_path / "pkg" / "use.py"), Settings())) == [], "what `start` gives is not to be had"


def test_what_is_around_a_folder_and_who_configures_it_makes_no_difference(tmp_path: Path) -> None:
    inner = folder_of(tmp_path / "inner", BROKEN)
    expected = timeless(rows_of(inner, Settings()))
    (tmp_path / "pyproject.toml").write_text("[tool.torchdevlint]\nignore = ['ALL']\n")
    (tmp_path / "inner" / ".venv").mkdir()
    (tmp_path / "inner" / ".venv" / "more.py").write_text(BROKEN["load.py"])
    assert timeless(rows_of(inner, Settings())) == expected
    assert {code for _, _, code in codes(expected)} == {"TDL201", "TDL901"}


def test_settings_hold_for_every_input_with_patterns_relative_to_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, BROKEN)
    ignoring = Settings(root=Path("/elsewhere"), per_file_ignores=(("/load.py", ("TDL201",)),))
    assert {code for _, _, code in codes(rows_of(folder, ignoring))} == {"TDL901"}


def test_names_that_are_no_text_can_be_written(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    folder_of(tmp_path, {name: BROKEN["load.py"]})
    assert codes(rows_of(str(tmp_path), Settings())) == [("caf\\udce9.py", 3, "TDL201")]


def test_a_digest_is_that_of_the_content(tmp_path: Path) -> None:
    one, other = folder_of(tmp_path / "a", FILES), folder_of(tmp_path / "b", FILES)
    assert inputs.digest_of(one) == inputs.digest_of(other)
    (tmp_path / "b" / "data.bin").write_text("names count")
    changed = inputs.digest_of(other)
    assert changed != inputs.digest_of(one)
    (tmp_path / "b" / "data.bin").write_text("what nobody reads does not")
    assert inputs.digest_of(other) == changed
    (tmp_path / "b" / "README.md").write_text("documents may name what the code defines")
    assert inputs.digest_of(other) != changed


# Bad inputs


def _member(name: str, **fields: Any) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(member, field, value)
    return member


def bad_tar(path: Path, member: tarfile.TarInfo) -> str:
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(b"x" * member.size))
    return str(path)


def linking_zip(path: Path, target: str) -> str:
    link = zipfile.ZipInfo("link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, target)
    return str(path)


def cut(path: str, size: int) -> str:
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[:size])
    return path


def locked(path: str) -> str:
    """Says of the first member, as an encrypting program would, that it wants a password."""
    data = bytearray(Path(path).read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    Path(path).write_bytes(data)
    return path


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


NOISE = {"noise.py": "".join(f"# {index * 7919 % 10007}\n" for index in range(20_000))}
BAD = {
    "nothing there": (lambda at: str(at / "gone.zip"), "cannot be read: No such file or directory"),
    "no archive": (lambda at: written(at / "model.pt", b"x"), "neither a folder, nor a Python file, nor an archive"),
    "empty": (lambda at: written(at / "a.tar.gz", b""), "the archive is damaged: empty file"),
    "no gzip": (lambda at: written(at / "a.tgz", b"hello"), "the archive is damaged: "),
    "no zip": (lambda at: written(at / "a.whl", b"hello"), "the archive is damaged: File is not a zip file"),
    "cut gzip": (lambda at: cut(tar_of(at / "a.tar.gz", NOISE), 9000), "the archive is damaged: Compressed file ended"),
    "cut tar": (lambda at: cut(tar_of(at / "a.tar", NOISE, "w"), 9000), "the archive is damaged: unexpected end"),
    "cut zip": (lambda at: cut(zip_of(at / "a.zip", NOISE), 9000), "the archive is damaged: File is not a zip file"),
    "name above": (lambda at: tar_of(at / "a.tgz", FILES, top="../"), "a name leads out of the archive: '../pkg/"),
    "name within": (lambda at: tar_of(at / "a.tgz", FILES, top="a/../../"), "a name leads out of the archive: "),
    "absolute name": (lambda at: tar_of(at / "a.tgz", FILES, top="/"), "a name leads out of the archive: '/pkg/"),
    "zip above": (lambda at: zip_of(at / "a.zip", {"../a.py": ""}), "a name leads out of the archive: '../a.py'"),
    "zip backslash": (lambda at: zip_of(at / "a.zip", {"..\\a.py": ""}), "a name leads out of the archive: "),
    "link out": (
        lambda at: bad_tar(at / "a.tgz", _member("a/b.py", type=tarfile.SYMTYPE, linkname="../../etc/passwd")),
        "a link leads out of the archive: 'a/../../etc/passwd'",
    ),
    "hard link out": (
        lambda at: bad_tar(at / "a.tgz", _member("b.py", type=tarfile.LNKTYPE, linkname="/etc/passwd")),
        "a link leads out of the archive: '/etc/passwd'",
    ),
    "zip link out": (lambda at: linking_zip(at / "a.zip", "/etc/passwd"), "a link leads out of the archive: "),
    "password": (lambda at: locked(zip_of(at / "a.zip", FILES)), "the archive is protected by a password"),
    "long header": (
        lambda at: bad_tar(at / "a.tgz", _member("x", type=tarfile.GNUTYPE_LONGNAME, size=70_000_000)),
        "a header of the archive is longer than 67,108,864 bytes",
    ),
    "file for a folder": (lambda at: tar_of(at / "a.tgz", {"a": "", "a/b.py": ""}), "cannot be unpacked: "),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_input_is_a_row_with_its_error(name: str, tmp_path: Path) -> None:
    make, error = BAD[name]
    place = tmp_path / "deep" / "inside"
    place.mkdir(parents=True)
    path = make(place)
    before = sorted(tmp_path.rglob("*"))
    (row,) = rows_of(path, Settings())
    assert row["error"].startswith(error)
    assert (row["kind"], row["input"], row["files"]) == ("input", path, 0)
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written beside it"


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        ("MOST_TEXT", "it holds more than 99 bytes of text"),
        ("MOST_UNPACKED", "it unpacks to more than 99 bytes"),
        ("MOST_FILES", "it holds more than 2 files"),
    ],
)
def test_an_archive_that_holds_too_much_is_refused(
    limit: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, limit, 2 if limit == "MOST_FILES" else 99)
    (row,) = rows_of(tar_of(tmp_path / "a.tgz", FILES), Settings())
    assert row["error"] == error
    if limit != "MOST_UNPACKED":
        (row,) = rows_of(zip_of(tmp_path / "a.zip", FILES), Settings())
        assert row["error"] == error


def test_a_small_archive_of_zeros_is_never_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that would not fit is refused for the size that its header tells, before a byte of it is read."""
    monkeypatch.setattr(inputs, "MOST_TEXT", 1_000_000)
    (row,) = rows_of(zip_of(tmp_path / "a.zip", {"a.py": "\n" * 20_000_000}), Settings())
    assert (tmp_path / "a.zip").stat().st_size < 100_000
    assert row["error"] == "it holds more than 1,000,000 bytes of text"


def test_links_that_stay_inside_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(_member("a/load.py", size=len(BROKEN["load.py"])), io.BytesIO(BROKEN["load.py"].encode()))
        tar.addfile(_member("a/b/again.py", type=tarfile.SYMTYPE, linkname="../load.py"))
    assert codes(rows_of(str(path), Settings())) == [("a/load.py", 3, "TDL201")]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    opened = os.open(tmp_path / "a.zip", os.O_RDWR)
    (row,) = rows_of(str(tmp_path / "a.zip"), Settings())
    os.close(opened)
    assert row["error"] == "not a regular file"


# Bags, and tables that are made once


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Workers that are threads of this process; what is here about processes takes others."""
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def table_of(summary: Any) -> list[Row]:
    rows: list[Row] = pq.read_table(summary.table).to_pylist()
    return rows


def parts_of(summary: Any) -> dict[str, int]:
    return {part.name: part.stat().st_mtime_ns for part in summary.table.iterdir()}


def test_a_bag_of_rows(tmp_path: Path) -> None:
    paths = [folder_of(tmp_path / "a", FILES), tar_of(tmp_path / "b.tgz", BROKEN), str(tmp_path / "gone")]
    bag = findings(paths)
    assert bag.npartitions == 3
    rows = bag.compute(scheduler="synchronous")
    assert timeless(rows) == timeless([row for path in paths for row in rows_of(path, Settings())])
    assert timeless(findings(from_sequence(paths)).compute(scheduler="synchronous")) == timeless(rows)


def test_what_was_done_is_not_done_again(client: Client, tmp_path: Path) -> None:
    paths = [folder_of(tmp_path / "a", FILES), tar_of(tmp_path / "b.tgz", BROKEN), str(tmp_path / "gone.zip")]
    first = lint_to_parquet(paths[:1], tmp_path / "out")
    assert (first.inputs, first.linted, first.findings, first.errors) == (1, 1, 1, ())
    second = lint_to_parquet(from_sequence(paths), tmp_path / "out")
    assert (second.inputs, second.linted) == (3, 2)
    assert second.errors == ((paths[2], "cannot be read: No such file or directory"),)
    there = parts_of(second)
    third = lint_to_parquet(paths, tmp_path / "out")
    assert (third.inputs, third.linted) == (3, 1), "what could not be read is tried again"
    assert {name for name, made in parts_of(third).items() if there[name] == made} == {
        f"{inputs.digest_of(path)}.parquet" for path in paths[:2]
    }
    assert sorted(row["input"] for row in table_of(third) if row["kind"] == "input") == sorted(paths)
    zip_of(Path(paths[2]), BROKEN)
    fourth = lint_to_parquet(paths, tmp_path / "out")
    assert (fourth.inputs, fourth.linted, fourth.errors) == (3, 1, ())
    assert timeless(sorted(table_of(fourth), key=str)) == timeless(
        sorted((row for path in paths for row in rows_of(path, Settings())), key=str)
    )


def test_inputs_of_the_same_content_are_one(client: Client, tmp_path: Path) -> None:
    paths = [folder_of(tmp_path / "a", FILES), folder_of(tmp_path / "b", FILES)]
    summary = lint_to_parquet(paths, tmp_path / "out")
    assert (summary.inputs, summary.linted, summary.findings) == (1, 1, 1)
    assert len(codes(table_of(summary))) == 1


def test_a_part_that_is_not_whole_is_made_again(client: Client, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "a", FILES)
    summary = lint_to_parquet([path], tmp_path / "out")
    (part,) = summary.table.iterdir()
    rows = table_of(summary)
    part.write_bytes(part.read_bytes()[:1000])
    again = lint_to_parquet([path], tmp_path / "out")
    assert again.linted == 1
    assert timeless(table_of(again)) == timeless(rows)


def test_other_settings_are_another_table(client: Client, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "a", BROKEN)
    one = lint_to_parquet([path], tmp_path / "out")
    other = lint_to_parquet([path], tmp_path / "out", Settings(ignore=("TDL201",)))
    assert one.table != other.table
    assert (one.findings, other.findings, other.linted) == (2, 1, 1)
    with pytest.raises(ConfigError, match="TDL999"):
        lint_to_parquet([path], tmp_path / "out", Settings(select=("TDL999",)))


def test_a_table_without_findings_has_all_columns(client: Client, tmp_path: Path) -> None:
    summary = lint_to_parquet([folder_of(tmp_path / "a", {"a.py": "x = 1\n"})], tmp_path / "out")
    schema = pq.read_table(summary.table).schema
    assert schema.equals(SCHEMA)
    assert (summary.findings, summary.files, summary.lines) == (0, 1, 1)


@not_as_root
def test_a_folder_that_cannot_be_written_to_is_said(client: Client, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o500)
    with pytest.raises(OSError, match="Permission denied"):
        lint_to_parquet([folder_of(tmp_path / "a", FILES)], tmp_path / "out")


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({"a.py": "x = 1\n"}, 0, "1 inputs, 1 of them linted now: 1 files, 1 lines, 0 findings"),
        (FILES, 1, "1 inputs, 1 of them linted now: 3 files, 10 lines, 1 findings"),
    ],
)
def test_the_command(client: Client, files: dict[str, str], code: int, said: str, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "a", files)
    done = CliRunner().invoke(main, ["-", "--out", str(tmp_path / "out")], input=f"{path}\n")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (code, said)


def test_the_command_tells_what_it_could_not_do(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("selct = []\n")
    out = ["--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, [str(tmp_path / "gone"), *out])
    assert done.exit_code == 2
    assert done.stderr == f"error: {tmp_path / 'gone'}: cannot be read: No such file or directory\n"
    done = CliRunner().invoke(main, [str(tmp_path), *out, "--config", str(tmp_path / "a.toml")])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert "unknown key `selct`; did you mean `select`?" in done.stderr


# Workers that die


@pytest.fixture(scope="module")
def processes() -> Iterator[Client]:
    """Whoever starts workers is given their environment as well, with a hash seed, which is taken back at the end."""
    before = dict(os.environ)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    quickly = {"distributed.worker.multiprocessing-method": "forkserver"}
    try:
        with dask.config.set(quickly), LocalCluster(**options) as cluster, Client(cluster) as client:
            yield client
    finally:
        os.environ.clear()
        os.environ.update(before)


class Deadly(WorkerPlugin):  # type: ignore[misc]
    """In every worker, also those that take the place of others: what happens where a file of some name is read.

    At ``killer.py`` the process ends itself. At ``pause.py``, once, it sends its number through a pipe and waits.
    """

    name = "deadly"

    def __init__(self, pipe: Path, token: Path) -> None:
        self.pipe, self.token = pipe, token

    def setup(self, worker: object) -> None:
        del worker
        read = engine.content

        def content(path: str | Path) -> bytes:
            name = Path(path).name
            if name == "killer.py":
                os.kill(os.getpid(), signal.SIGKILL)
            if name == "pause.py" and self._is_first():
                self.pipe.write_text(str(os.getpid()))
                threading.Event().wait()
            return read(path)

        engine.content = content

    def _is_first(self) -> bool:
        try:
            self.token.unlink()
        except FileNotFoundError:
            return False
        return True


@pytest.fixture(scope="module")
def deadly(processes: Client, tmp_path_factory: pytest.TempPathFactory) -> Deadly:
    place = tmp_path_factory.mktemp("deadly")
    os.mkfifo(place / "pipe")
    plugin = Deadly(place / "pipe", place / "token")
    processes.register_plugin(plugin)
    return plugin


def projects(place: Path, count: int) -> list[str]:
    """Archives and folders, each with other findings."""
    made = []
    for number in range(count):
        files = {f"load_{number}.py": BROKEN["load.py"] * (number + 1), "more.py": "import torch\n"}
        path = place / f"project-{number}"
        made.append(folder_of(path, files) if number % 2 else tar_of(path.with_suffix(".tgz"), files))
    return made


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle(processes: Client, deadly: Deadly, tmp_path: Path) -> None:
    paths = projects(tmp_path, 6)
    paths.insert(2, folder_of(tmp_path / "paused", {**BROKEN, "pause.py": BROKEN["load.py"]}))
    expected = timeless([row for path in paths for row in rows_of(path, Settings())])
    deadly.token.touch()
    killed: list[int] = []

    def kill() -> None:
        killed.append(int(deadly.pipe.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    summary = lint_to_parquet(paths, tmp_path / "out")
    killer.join(timeout=60)
    assert len(killed) == 1
    assert killed[0] not in processes.run(os.getpid).values()
    rows = table_of(summary)
    assert sorted(timeless(rows), key=str) == sorted(expected, key=str), "nothing is lost, and nothing there twice"
    assert (summary.inputs, summary.linted, summary.errors) == (7, 7, ())

    there = parts_of(summary)
    assert set(there) == {f"{inputs.digest_of(path)}.parquet" for path in paths}, "nothing unfinished is left"
    again = lint_to_parquet(paths, tmp_path / "out")
    assert (again.inputs, again.linted, again.findings) == (7, 0, summary.findings)
    assert parts_of(again) == there


@pytest.mark.slow
def test_a_file_that_kills_is_told_and_takes_nothing_along(processes: Client, deadly: Deadly, tmp_path: Path) -> None:
    paths = projects(tmp_path, 4)
    expected = [row for path in paths for row in rows_of(path, Settings())]
    files = {**BROKEN, "killer.py": "import torch\n", "sub/late.py": BROKEN["load.py"]}
    paths.insert(1, tar_of(tmp_path / "killer.tgz", files))
    summary = lint_to_parquet(paths, tmp_path / "out")
    said = "proj-1.0/killer.py: the process that linted this file died"
    assert (summary.inputs, summary.linted, summary.errors) == (5, 5, ((paths[1], said),))
    rows = table_of(summary)
    of_killer = [row for row in rows if row["input"] == paths[1]]
    assert codes(of_killer) == [
        ("proj-1.0/bad.py", 1, "TDL901"),
        ("proj-1.0/load.py", 3, "TDL201"),
        ("proj-1.0/sub/late.py", 3, "TDL201"),
    ]
    others = [row for row in rows if row["input"] != paths[1]]
    assert sorted(timeless(others), key=str) == sorted(timeless(expected), key=str)
    assert lint_to_parquet(paths, tmp_path / "out").linted == 0, "it is not tried again"


def test_what_is_made_again_since_a_worker_took_it_along_is_fresh(tmp_path: Path) -> None:
    (path,) = projects(tmp_path, 1)
    folders = [str(tmp_path / name) for name in ("table", "run", "next run")]
    for folder in folders:
        Path(folder).mkdir()
    table, work, later = folders
    first = parts.make(path, table, work, Settings())
    assert first.fresh
    assert parts.make(path, table, work, Settings()) == first, "its worker died after it was made"
    assert not parts.make(path, table, later, Settings()).fresh


def test_an_input_that_no_process_survives(processes: Client, deadly: Deadly, tmp_path: Path) -> None:
    """A scheduler that is patient with no death gives up before the file is known to be the one."""
    paths = [folder_of(tmp_path / "killer", {"a.py": "", "killer.py": ""}), *projects(tmp_path, 2)]
    scheduler = processes.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        summary = lint_to_parquet(paths, tmp_path / "out")
    finally:
        scheduler.allowed_failures = before
    assert summary.errors == ((paths[0], "the process that linted it died at killer.py"),)
    rows = table_of(summary)
    assert sorted(row["input"] for row in rows if row["kind"] == "input") == sorted(paths)
    assert len(codes(rows)) == 3


def test_a_killed_run_leaves_nothing_that_readers_see(client: Client, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "a", FILES)
    summary = lint_to_parquet([path], tmp_path / "out")
    left = summary.table / "_work-left"
    left.mkdir()
    shutil.copy(next(summary.table.glob("*.parquet")), left / "unfinished.parquet")
    assert len(codes(table_of(summary))) == 1


def test_without_the_extra_one_line_says_what_to_install() -> None:
    code = "import runpy, sys; sys.modules['dask'] = None; sys.argv[1:] = ['x', '--out', 'y']; "
    code += "runpy.run_module('torchdevlint.integrations.dask', run_name='__main__')"
    done = forked.python("-c", code)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "pip install 'torchdevlint[dask]'" in done.stderr
