"""Writing a file: at any moment the old or the new one."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from torchdevlint.fix import write as writing
from torchdevlint.fix.write import replace_content

OLD, NEW = b"old = 1\n" * 40_000, b"new = 2\n" * 50_000
FOR_EVER = """
import sys
from torchdevlint.fix.write import replace_content
path, old, new = sys.argv[1], b"old = 1\\n" * 40_000, b"new = 2\\n" * 50_000
print("ready", flush=True)
while True:
    replace_content(path, old, new)
    old, new = new, old
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    return path


def test_mode_and_link_stay(file: Path, tmp_path: Path) -> None:
    file.chmod(0o750)
    link = tmp_path / "link.py"
    link.symlink_to(file)
    replace_content(str(link), OLD, NEW)
    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o777 == 0o750
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.py", "link.py"]


def test_a_file_that_has_changed_is_left(file: Path) -> None:
    with pytest.raises(OSError, match="has changed"):
        replace_content(str(file), b"something else", NEW)
    assert file.read_bytes() == OLD


def test_a_full_disk_leaves_the_file_and_nothing_beside_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_content(str(file), OLD, NEW)
    assert file.read_bytes() == OLD
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.slow
def test_killed_a_hundred_times_it_is_old_or_new(file: Path) -> None:
    seen = set()
    for number in range(100):
        process = subprocess.Popen(
            [sys.executable, "-c", FOR_EVER, str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        kill_after(process, number / 5_000)
        data = file.read_bytes()
        assert data in (OLD, NEW)
        seen.add(data)
        file.write_bytes(OLD)
    assert seen == {OLD, NEW}


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    process.wait()


def test_what_is_there_already_is_no_change(file: Path) -> None:
    file.write_bytes(NEW)
    before = file.stat()
    replace_content(str(file), OLD, NEW)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
