"""Deep code ends in TooDeepError, not in a RecursionError of a later walk nor in a dead process."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from tests.conftest import python
from torchdevlint.source.nodes import CHILDREN
from torchdevlint.syntax.depth import DEPTH_LIMIT, check_depth
from torchdevlint.syntax.nesting import check_text
from torchdevlint.syntax.parse import InvalidSyntaxError, TooDeepError, parse

NESTED: dict[str, Callable[[int], str]] = {
    "sum": lambda n: "x = " + " + ".join(["a"] * n),
    "power": lambda n: "x = " + "**".join(["a"] * n),
    "attributes": lambda n: "x = a" + ".b" * n,
    "calls": lambda n: "x = a" + "()" * n,
    "method chain": lambda n: "x = (a" + "\n    .b(1, c=2)" * n + ")",
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "lists": lambda n: "x = " + "[" * n + "]" * n,
    "parentheses": lambda n: "x = " + "(" * n + "1" + ")" * n,
    "arguments": lambda n: "x = " + "a(1, " * n + ")" * n,
    "dicts": lambda n: "x = " + "{1: " * n + "2" + "}" * n,
    "minus": lambda n: "x = " + "-" * n + "1",
    "not": lambda n: "x = " + "not " * n + "1",
    "conditional": lambda n: "x = " + "1 if a else " * n + "2",
    "lambda": lambda n: "x = " + "lambda a, b: " * n + "2",
    "elif": lambda n: "if a: pass\n" + "elif b: pass\n" * n,
    "f-strings": lambda n: "x = " + "f'{" * n + "1" + "}'" * n,
    "formats": lambda n: "x = f'" + "{a:" * n + "}" * n + "'",
    "in an f-string": lambda n: "x = f'{" + " + ".join(["a"] * n) + "}'",
}
FLAT: dict[str, Callable[[int], str]] = {
    "arguments": lambda n: "f(" + "-a.b[0], " * n + ")\n",
    "table": lambda n: "x = {\n" + "".join(f"    'key{i}': [{i}, -{i} + 1, f(x={i})],\n" for i in range(n)) + "}\n",
    "statements": lambda n: "x = a + 1; y = not b\n" * n,
    "separate ifs": lambda n: "if a: pass\nelif b: pass\n" * n,
    "docstrings": lambda n: "def f():\n    '''" + "---- (a.b) [c] ----\n" * n + "    '''\n",
    "comments": lambda n: "# --- (a.b) [c] + ---\n" * n,
    "page": lambda n: "s = f'''" + "<p style='a: b; c.d'>-- (x) {y} [z] --</p>\n" * min(n, 100) + "'''\n",
}


def walk(node: ast.AST) -> int:
    """A walker of two frames a node, as most are."""
    return 1 + max([walk(child) for child in ast.iter_child_nodes(node)], default=0)


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("newer", ["", "type X = int\n"], ids=["python", "libcst"])
def test_what_parses_can_be_walked(kind: str, newer: str) -> None:
    outcomes = []
    for depth in (20, 60, 110, 180, 260, 600):
        try:
            outcomes.append(walk(parse(newer + NESTED[kind](depth))) > 0)
        except (TooDeepError, InvalidSyntaxError):
            outcomes.append(False)
    assert outcomes[0], "twenty levels are ordinary"
    assert not outcomes[-1]
    assert outcomes == sorted(outcomes, reverse=True)


def test_no_depth_kills_the_process() -> None:
    code = (
        "from tests.syntax.test_depth import NESTED\n"
        "from torchdevlint.syntax.parse import ParseError, parse\n"
        "for kind, make in NESTED.items():\n"
        "    for newer in ('', 'type X = int\\n', 'x = = 1\\n'):\n"
        "        for depth in (3000, 30000):\n"
        "            try:\n"
        "                parse(newer + make(depth))\n"
        "            except ParseError:\n"
        "                continue\n"
        "            raise SystemExit(kind)\n"
        "print('alive')\n"
    )
    done = python("-c", code)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


@pytest.mark.parametrize("kind", FLAT)
@pytest.mark.parametrize("newer", ["", "type X = int\n"], ids=["python", "libcst"])
def test_long_is_not_deep(kind: str, newer: str) -> None:
    text = newer + FLAT[kind](400)
    check_text(text)
    assert len(parse(text).body) == len(parse(newer).body) + len(ast.parse(FLAT[kind](400)).body)


def test_a_bracket_that_is_never_closed_is_a_syntax_error_however_much_follows() -> None:
    text = "x = f(1,\n" + "def f(a):\n    return -a + b.c[0] if a else (d)\n" * 500
    with pytest.raises(InvalidSyntaxError):
        parse(text)


def test_a_web_page_is_a_syntax_error_however_deep_its_brackets_are() -> None:
    with pytest.raises(InvalidSyntaxError) as caught:
        parse("margin: 6px !important\n" + "f({" * 300 + "\n")
    assert (caught.value.row, caught.value.reason) == (1, "invalid decimal literal")


def test_the_limit_counts_levels_of_nodes() -> None:
    tree = ast.parse("x = a.b.c")  # Module, Assign, Attribute, Attribute, Name
    check_depth(tree, 5)
    with pytest.raises(TooDeepError):
        check_depth(tree, 4)


def test_the_limit_leaves_room_for_the_deepest_real_code() -> None:
    check_depth(ast.parse("x = " + " + ".join(["a"] * 230)))
    with pytest.raises(TooDeepError):
        check_depth(ast.parse("x = " + " + ".join(["a"] * (DEPTH_LIMIT + 1))))


def test_every_child_with_a_position_is_below_its_parent() -> None:
    tree = ast.parse(
        "async def f(a: b = c, *d, e=f, **g) -> h:\n  with i as j: k = [l async for m in n if o]\n  del p[q:r]"
    )
    for parent in ast.walk(tree):
        reached = [getter(parent) for getter in CHILDREN.get(type(parent), ())]
        flat = [id(one) for value in reached for one in (value if isinstance(value, list) else [value])]
        for child in ast.iter_child_nodes(parent):
            assert id(child) in flat or not hasattr(child, "lineno")
