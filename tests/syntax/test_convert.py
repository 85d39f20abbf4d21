"""Conversion from libcst is proved against Python's own parser: same nodes, same positions."""

from __future__ import annotations

import ast
import itertools
import sys
import sysconfig
import warnings
from importlib.metadata import version
from pathlib import Path

import libcst
import pytest

from tests.conftest import a_part
from tests.syntax.snippets import NEWER, SINCE_3_11, SNIPPETS
from torchdevlint.source.text import decode
from torchdevlint.syntax.convert import convert

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")

STDLIB = Path(sysconfig.get_path("stdlib"))
CHOSEN = "dataclasses enum functools tokenize asyncio/queues email/charset json/decoder".split()
SAMPLE = 20
LIBCST = tuple(int(part) for part in version("libcst").split(".")[:2])
ALL_SNIPPETS = SNIPPETS + (SINCE_3_11 if sys.version_info >= (3, 11) else ())


def sample() -> list[Path]:
    """Chosen modules of the running Python, and some more spread evenly over its small ones."""
    small = sorted(path for path in STDLIB.glob("*.py") if path.stat().st_size < 20_000)
    spread = small[:: max(1, len(small) // SAMPLE)]
    return [*(STDLIB / f"{name}.py" for name in CHOSEN), *spread]


def normal(tree: ast.AST, positions: bool = True) -> str:
    """A dump that can be compared.

    Left out is what differs between versions of Python: positions inside f-strings (see `Source.span`), and empty
    texts in their formats, which 3.12.0 and 3.12.1 have.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = [one for one in node.values if not (isinstance(one, ast.Constant) and one.value == "")]
            for inner in ast.walk(node):
                if inner is not node and hasattr(inner, "lineno"):
                    ast.copy_location(inner, node)
    return ast.dump(tree, include_attributes=positions, indent=1)


def assert_same(text: str) -> None:
    assert normal(convert(libcst.parse_module(text), text)) == normal(ast.parse(text))


@pytest.mark.parametrize("text", ALL_SNIPPETS)
def test_a_snippet_is_what_python_makes_of_it(text: str) -> None:
    assert_same(text)


@pytest.mark.parametrize("path", a_part(sample()), ids=lambda path: path.stem)
def test_a_module_of_the_standard_library_is_what_python_makes_of_it(path: Path) -> None:
    assert_same(decode(path.read_bytes()))


def test_the_snippets_hold_every_class_of_node() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deprecated = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite", "Param"}
        classes = {
            kind.__name__
            for kind in vars(ast).values()
            if isinstance(kind, type) and issubclass(kind, ast.AST) and not kind.__subclasses__()
        } - deprecated
    other = {"AugLoad", "AugStore", "Expression", "FunctionType", "Interactive", "TypeIgnore"}
    newer = {"TypeAlias", "TypeVar", "TypeVarTuple", "ParamSpec", "TemplateStr", "Interpolation"}
    trees = (ast.walk(ast.parse(text)) for text in ALL_SNIPPETS)
    assert classes - {type(node).__name__ for node in itertools.chain.from_iterable(trees)} - other - newer == set()


@pytest.mark.parametrize(("text", "since", "same"), NEWER, ids=[text.splitlines()[-1] for text, *_ in NEWER])
def test_syntax_of_later_pythons_becomes_what_it_amounts_to(text: str, since: tuple[int, int], same: str) -> None:
    try:
        module = libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        assert since > LIBCST
        return
    tree = convert(module, text)
    assert normal(tree, positions=False) == normal(ast.parse(same), positions=False)
    assert all(hasattr(node, "end_col_offset") for node in ast.walk(tree) if "lineno" in node._attributes)
    if sys.version_info >= (3, 11):
        compile(tree, "converted.py", "exec")


def test_positions_after_newer_syntax_count_utf8_bytes() -> None:
    text = "type É = int; é = f(ü)\n"
    assign = convert(libcst.parse_module(text), text).body[1]
    assert ast.get_source_segment(text, assign) == "é = f(ü)"
    assert (assign.col_offset, assign.end_col_offset) == (15, 25)


@pytest.mark.parametrize(
    ("text", "value"), [("x = '\\x1'", "\\x1"), ("x = b'\u00e9'", b"\xc3\xa9"), ("x = " + "1" * 5000, ...)]
)
def test_a_literal_that_python_refuses_has_a_value_all_the_same(text: str, value: object) -> None:
    assign = convert(libcst.parse_module(text), text).body[0]
    assert isinstance(assign, ast.Assign)
    assert isinstance(assign.value, ast.Constant)
    assert assign.value.value == value
