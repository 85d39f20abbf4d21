"""What is no regular file is refused, and never waited for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from torchdevlint.files import content, exists, is_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has none of these")


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n" * 200_000)
    assert content(tmp_path / "a.py") == b"x = 1\r\n" * 200_000
    (tmp_path / "link.py").symlink_to("a.py")
    assert content(str(tmp_path / "link.py"))[:5] == b"x = 1"


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder", "link to itself", "nothing"])
def test_anything_else_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    path = Path("x.py")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    elif kind == "link to itself":
        path.symlink_to(path)
    with pytest.raises(OSError, match=r"not a regular file|No such|Is a directory|Too many levels"):
        content(path)
    assert not is_file(path)
    assert exists(path) == (kind not in ("nothing", "link to itself"))
