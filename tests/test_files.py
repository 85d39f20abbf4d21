"""What is no regular file is refused, and never waited for."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from tests.conftest import python
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


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold processes to a limit of memory")
def test_what_is_too_large_for_the_memory_costs_one_line(tmp_path: Path) -> None:
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "small.py").write_text("import torch\n\nx = torch.load('m')\n")
    limited = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))\n"
        "from torchdevlint.cli import main\nmain(['check', '--no-cache', '--output-format', 'concise', '--quiet'])"
    )
    done = python("-c", limited, cwd=tmp_path)
    assert done.stdout.startswith("small.py:3:5: TDL201")
    assert (done.returncode, done.stderr) == (
        2, "error: huge.py: cannot be read: too large for the memory that is left\n"
    )  # fmt: skip
