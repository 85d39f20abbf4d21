"""What IPython adds to Python becomes Python of as many rows; what only looks like it stays."""

from __future__ import annotations

import ast

import pytest

from torchdevlint.source.magics import translate


def python(text: str) -> str:
    """What becomes of a cell; it has to be Python, of the same number of rows."""
    rows = translate(text.split("\n")).rows
    assert len(rows) == text.count("\n") + 1
    made = "\n".join(rows)
    ast.parse(made)
    return made


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%matplotlib inline", "pass"),
        ("!pip install torch", "pass"),
        ("!!ls", "pass"),
        ("?print", "pass"),
        ("print?", "pass"),
        ("torch.nn.Linear??", "pass"),
        ("/print 1", "pass"),
        ("if x:\n    !ls\n    %cd ..", "if x:\n    pass\n    pass"),
        ("!echo don't\nx = 1", "pass\nx = 1"),
        ("!pip install \\\n  torch \\\n  numpy\nx = 1", "pass\n\n\nx = 1"),
        ("files = !ls", "files = get_ipython()"),
        ("if x: files=!ls \\\n*.py", "if x: files= get_ipython()\n"),
        ("a.b[0], c = %sql SELECT 1", "a.b[0], c = get_ipython()"),
        ("%time x = f(y)", "x = f(y)"),
        ("for y in z:\n    %timeit -n 10 -r3 f(y)", "for y in z:\n    f(y)"),
        ("%time f(", "pass"),
        ("%timeit", "pass"),
        ("x = f(1);", "x = f(1);"),
        ("await f()", "await f()"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
        ("pip install torch", "pass"),
        ("\n\npip install torch\n", "\n\npass\n"),
        ("ls", "ls"),
        ("cat = 1", "cat = 1"),
        ("run (x)", "run (x)"),
        ("cd ..", "pass"),
        ("cd ../data", "pass"),
        ("mv *.pt ../fgnn\n", "pass\n"),
        ("cd.x", "cd.x"),
    ],
)
def test_lines(cell: str, expected: str) -> None:
    assert python(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "x = '''\n%env A=1\n!ls\n'''",
        'x = """a\\"""\n!ls\n"""',
        "x = 'a\\\n!ls'",
        "x = (\n    5\n    % y\n)",
        "x = 5 \\\n    % y",
        "x = 5 \\\n% y",
        "f(1,  # what?\n  2)",
        "x = 'what?'",
        "# what?",
        "print('size=%s = %d' % x)",
        "print(a='%s', b=5 %c)",
        "x == 5 % y",
        "x %= y",
        "f(x=not y)",
        "assert x != y, '=!'",
        "x = '#' # '''\ny = 1",
        "x = f'{a[\"b\"]}'\ny = 2",
        "",
        "\n\n",
    ],
)
def test_python_stays(cell: str) -> None:
    assert python(cell) == cell
    assert translate(cell.split("\n")).changed == frozenset()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%time\nx = f()", "\nx = f()"),
        ("\n# first\n%%capture out\n!ls\n%env A=1", "\n# first\n\npass\nimport os; os.environ['A'] = '1'"),
        ("%%capture\n%%time\nx = 1", "\n\nx = 1"),
        ("%%bash\nls -la | wc\nif x", "\n\n"),
        ("%%writefile x.py\nx = 1", "\n"),
        ("%%html\n<b>", "\n"),
        ("%%!\nls", "\n"),
        (" \n%%script bash\nls", " \n\n"),
        ("%%time?\nx = 1", "pass\nx = 1"),
    ],
)
def test_cell_magics(cell: str, expected: str) -> None:
    assert python(cell) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%env CUDA_VISIBLE_DEVICES=0,1", "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '0,1'"),
        ("%env  CUDA_VISIBLE_DEVICES 0", "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '0'"),
        ("%set_env A = 'b' c", "import os; os.environ['A'] = \"'b' c\""),
        ("env A=1", "import os; os.environ['A'] = '1'"),
        ("%env A=$HOME", "import os; os.environ['A'] = get_ipython()"),
        ("%env A={x}", "import os; os.environ['A'] = get_ipython()"),
        ("%env A", "pass"),
        ("%env", "pass"),
        ("%env A B=1", "pass"),
    ],
)
def test_environment(line: str, expected: str) -> None:
    assert python(line) == expected


def test_which_rows_changed() -> None:
    assert translate(["x = 1", "!ls \\", "-l", "y = 2"]).changed == {1, 2}
    assert translate(["%%bash", "", "ls"]).changed == {0, 2}


def test_long_rows_take_no_time() -> None:
    half = "\\x" * 200_000
    odd = ["x." * 100_000, "(" * 200_000 + "?", "a[]" * 100_000, "%timeit -n" + " " * 200_000, "%time " * 100_000]
    translate([f"'{half}'", f"'{half}", f'"""{half}"""', "'" + '"' * 200_000, *odd])
