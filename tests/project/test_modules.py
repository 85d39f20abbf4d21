"""What a module binds, and which files stay in memory."""

from __future__ import annotations

import ast
import os
import weakref
from pathlib import Path

from torchdevlint.project.modules import Library, ModuleFile, is_main_guard
from torchdevlint.project.tree import forget
from torchdevlint.source.text import Source


def module(text: str) -> ModuleFile:
    tree = ast.parse(text)
    return ModuleFile("m.py", Source(text, tree), tree)


def test_every_form_of_binding() -> None:
    found = module(
        "import a.b\nimport c as d\nfrom e import f as g, h\n(i, [j, *k]) = 1, [2, 3]\nl: int = 1\n"
        "def m(): n = 1\nclass o:\n    p = 1\nif q:\n    r = 1\nelse:\n    s = 1\n"
        "try:\n    import t\nexcept ImportError:\n    t = None\nfinally:\n    u = 1\n"
        "for v in w: pass\nwith x as y: z = 1\nif __name__ == '__main__':\n    never = 1\n"
    ).bindings
    assert sorted(found) == sorted("a d g h i j k l m o r s t u v y z".split())
    assert len(found["t"]) == 1


def test_the_digest_is_that_of_the_definition() -> None:
    one = module("import a\ndef f():\n    return 1\ndef g():\n    return 2\n")
    other = module("import a\n\n\ndef f():\n    return 1\ndef g():\n    return 3\n")
    assert one.digest("f") == other.digest("f")
    assert one.digest("g") != other.digest("g")
    assert one.digest("") != other.digest("")


def test_exports() -> None:
    assert module("__all__ = ['a', 'b']").exported == {"a", "b"}
    assert module("__all__ = names()").exported is None
    assert module("from .a import *\nfrom b import *\n").stars == (("b", 0), ("a", 1))


def test_the_least_recently_used_file_is_given_up(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("x = 1\n" * 10)
    library = Library(most_bytes=130)
    first, second = library.get(str(tmp_path / "a.py")), weakref.ref(library.get(str(tmp_path / "b.py")))
    assert library.get(str(tmp_path / "a.py")) is first
    library.get(str(tmp_path / "c.py"))
    assert library.get(str(tmp_path / "a.py")) is first
    assert second() is None


def test_a_file_that_was_given_up_and_is_still_in_use_is_not_parsed_again(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    library = Library(most_bytes=1)
    used = library.get(str(tmp_path / "a.py"))
    library.get(str(tmp_path / "b.py"))
    assert library.get(str(tmp_path / "a.py")) is used
    (tmp_path / "a.py").write_text("yy = 2\n")
    assert library.get(str(tmp_path / "a.py")) is used, "in one run, files are taken not to change"
    forget()
    assert library.get(str(tmp_path / "a.py")) is not used
    tree = weakref.ref(used)
    del used
    assert tree() is None, "nothing but its users holds it"


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    library = Library()
    first = library.get(str(path))
    path.write_text("yy = 2\n")
    os.utime(path, ns=(1, 1))
    forget()
    second = library.get(str(path))
    assert first is not None
    assert second is not None
    assert "yy" in second.bindings


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    library = Library()
    for name in ("broken.py", "bytes.py", "missing.py"):
        assert library.get(str(tmp_path / name)) is None
    (tmp_path / "large.py").write_text("#" * 3_000_000)
    assert library.get(str(tmp_path / "large.py")) is None


def test_what_only_a_script_does() -> None:
    """Whichever way round the names are compared."""
    guards = ['if __name__ == "__main__": pass', 'if "__main__" == __name__: pass']
    others = ['if name == "__main__": pass', "if __name__: pass", "if first and __name__ == 'm': pass"]
    assert [is_main_guard(ast.parse(each).body[0]) for each in guards + others] == [True] * 2 + [False] * 3
