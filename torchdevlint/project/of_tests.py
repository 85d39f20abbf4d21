"""Which files of a project are tests: what they do with its functions says nothing of how others use them."""

from __future__ import annotations

from torchdevlint.patterns import LinePattern, regex

_FOLDERS = frozenset({"test", "tests"})
_NAME = regex(r"test_.*\.py|.*_tests?\.py")
_TEST = LinePattern(r"^\s*(?:async\s+)?(?:def test_|class Test)|\b(?:pytest|unittest)\b", "pytest unittest test_ Test")


def is_of_tests(path: str, text: str) -> bool:
    """Whether a file belongs to tests: it is below a folder of them, or is called as pytest wants it and has some.

    What evaluates a model on the test split of its data is often called ``..._test.py`` as well, and has none, but a
    function `test` that takes the model. `path` is that from the root of the project, with ``/``.
    """
    *folders, name = path.split("/")
    if not _FOLDERS.isdisjoint(folders) or name == "conftest.py":
        return True
    return _NAME.fullmatch(name) is not None and _TEST.is_in(text)
