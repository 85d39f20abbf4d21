"""What is for Python 2: a file by what Python 3 refuses, a notebook by its kernel."""

from __future__ import annotations

import json

import pytest

from torchdevlint import engine
from torchdevlint.config import Settings

PRINT = 'print "loss"\n'
TABS = "def f(x):\n        if x:\n\t\treturn 1\n"
WRONG_TABS = "def f(x):\n        if x:\n\t\treturn 1\n\t\t\treturn 2\n"
RAISE = "def f(path):\n\tif not path:\n\t\traise IOError, '%s is not there' % path\n"
WRONG_RAISE = f"{RAISE}x = (1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(PRINT, True), (TABS, True), (WRONG_TABS, False), (RAISE, True), (WRONG_RAISE, False), ("x = (1\n", False)],
)
def test_files(text: str, expected: bool) -> None:
    result = engine.check_bytes(b"import torch\n" + text.encode(), "a.py", Settings())
    assert (result.unread, [each.code for each in result.diagnostics]) == (expected, [] if expected else ["TDL901"])


@pytest.mark.parametrize(("kernel", "expected"), [("python2", True), ("python3", False)])
def test_notebooks(kernel: str, expected: bool) -> None:
    source = f"import torch\n{PRINT}"
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": 1}
    metadata = {"kernelspec": {"name": kernel, "display_name": "Python", "language": "python"}}
    data = json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 2}).encode()
    result = engine.check_bytes(data, "a.ipynb", Settings())
    assert (result.unread, [each.code for each in result.diagnostics]) == (expected, [] if expected else ["TDL901"])


def test_what_macos_puts_beside_a_file_is_no_python() -> None:
    assert engine.check_bytes(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X\xb0", "._a.py", Settings()).diagnostics == ()
    assert [each.code for each in engine.check_bytes(b"x = '\xb0'\n", "a.py", Settings()).diagnostics] == ["TDL901"]
