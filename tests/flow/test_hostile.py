"""Code that Python accepts and nobody expects: the inference ends, does not raise, and says nothing that is not so."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from torchdevlint.config import Settings
from torchdevlint.flow.analyse import analyse
from torchdevlint.source.text import Source

from .snippets import facts_of, mixed

STRANGE = dict(
    re.findall(
        r"^## ([^\n]+)\n\n```python\n(.*?)^```$",
        (Path(__file__).parent / "strange.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)


def test_there_is_strange_code() -> None:
    assert len(STRANGE) > 50


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_strange_code(text: str) -> None:
    """At module level, in a function, and in a method of a Module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        facts_of(text)
        facts_of("if True:\n    def f(x):\n" + textwrap.indent(text, " " * 8))
        head = "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        if x:\n"
        found = mixed(head + textwrap.indent(text, " " * 12) + "        return x + torch.zeros(9)\n")
    assert len(found) <= 1 + text.count("torch.zeros")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` is new in Python 3.11")
def test_groups_of_exceptions() -> None:
    assert mixed("""
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                try:
                    shift = torch.zeros(3)
                except* ValueError as group:
                    shift = x
                return x + shift
    """) == ["shift"]


def test_a_string_annotation_is_read_as_its_name() -> None:
    assert mixed("""
        class Net(nn.Module):
            def forward(self, x: "torch.Tensor"):
                return x + torch.zeros(3)
    """) == ["torch.zeros(3)"]


def test_a_method_assigned_later_gets_no_self_by_mistake() -> None:
    assert (
        mixed("""
        def shifted(self, x, y):
            return x + y

        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return self.shifted(x, x) + self.shifted(torch.zeros(3), torch.zeros(3)).to(x.device)

        Net.shifted = shifted
    """)
        == []
    )


def test_the_last_of_several_methods_counts() -> None:
    assert (
        mixed("""
        class Net(nn.Module):
            def make(self):
                return torch.zeros(3)

            def make(self):
                return torch.zeros(3, device="cuda")

            def forward(self, x: torch.Tensor):
                return x + self.make()
    """)
        == []
    )


def test_deep_nesting_of_statements() -> None:
    depth = 60
    text = (
        "".join("    " * level + f"if a{level}:\n" for level in range(depth)) + "    " * depth + "x = torch.zeros(3)\n"
    )
    assert facts_of(text) == []


def test_a_chain_of_bases() -> None:
    first = "class A0(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return x + torch.zeros(3)\n"
    chain = "".join(f"class A{n + 1}(A{n}):\n    pass\n" for n in range(200))
    assert mixed(first + chain + "A200()(torch.zeros(3).cuda())\n") == ["torch.zeros(3)"]


def library_tests() -> list[Path]:
    """Every tenth module of Python's own tests, by size, which hold the strangest code there is; none if not there."""
    found = find_spec("test")
    folders = [] if found is None else [Path(place) for place in found.submodule_search_locations or ()]
    modules = sorted(
        (path for folder in folders for path in folder.glob("test_*.py")),
        key=lambda path: (path.stat().st_size, path.name),
    )
    return [path for path in modules if path.stat().st_size < 100_000][::10]


@pytest.mark.parametrize("path", library_tests(), ids=lambda path: path.name)
def test_modules_of_the_standard_library(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError):
            pytest.skip("meant not to be read")
    source = Source(text, tree)
    assert analyse(tree, source, Settings()) == []
