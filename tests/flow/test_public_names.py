"""What an expression names: by what its file imports, and not by how it is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchdevlint
from torchdevlint.flow.scope.names import public_path
from torchdevlint.source.nodes import nodes_in
from torchdevlint.syntax.parse import parse

PACKAGE = Path(torchdevlint.__file__).parent


@pytest.mark.parametrize(
    ("imports", "written"),
    [
        ("import torch", "torch.save"),
        ("import torch as th", "th.save"),
        ("from torch import save", "save"),
        ("from torch import save as keep", "keep"),
        ("from torch import serialization", "serialization.save"),
        ("import torch.nn", "torch.save"),
        ("from .common import torch", "torch.save"),
        ("from .common import *", "torch.save"),
        ("try:\n    import torch as th\nexcept ImportError:\n    th = None", "th.save"),
    ],
)
def test_it_is_resolved_through_imports(imports: str, written: str) -> None:
    assert asked(f"{imports}\n{written}(x)") == ["torch.save"]
    assert asked(f"{imports}\nclass Saver:\n    def run(self):\n        {written}(x)") == ["torch.save"]
    assert asked(f"def run():\n    {imports.replace(chr(10), chr(10) + '    ')}\n    {written}(x)") == (
        ["torch.save"] if "*" not in imports else asked("import torch\ntorch.save(x)")
    )


@pytest.mark.parametrize(
    "text",
    [
        "from torch import save\ndef run(save):\n    save(x)",
        "from torch import save\ndef run():\n    save = own\n    save(x)",
        "import torch\ndef run(torch):\n    torch.save(x)",
        "from torch import save\ndef save(x): ...\nsave(x)",
        "from torch import save\nclass A:\n    def run(self, save):\n        return lambda: save(x)",
        "def other():\n    from torch import save\ndef run():\n    save(x)",
        "from own import save\nsave(x)",
        "from .torch import save\nsave(x)",
        "self.torch.save(x)",
        "x[0].save(x)",
    ],
)
def test_what_is_bound_otherwise_is_not_meant(text: str) -> None:
    assert "torch.save" not in asked(text)


def test_a_function_may_import_what_another_one_binds() -> None:
    text = "def one(save):\n    save(x)\ndef other():\n    from torch import save\n    return lambda: save(x)"
    assert asked(text) == ["", "torch.save"]


def test_a_lambda_or_function_inside_may_bind_it_anew() -> None:
    text = "from torch import nn\ndef outer():\n    nn.Linear(x)\n    return lambda nn: nn.Linear(x)"
    assert asked(text) == ["torch.nn.Linear", ""]


def asked(text: str) -> list[str]:
    """What is called, in order."""
    calls = sorted(nodes_in(parse(text), ast.Call), key=lambda each: (each.lineno, each.col_offset))
    return [public_path(each.func) for each in calls]


OF_TORCH = re.compile(r"torch\b|cuda\.|(?:nn|F|th|np)\.|.*[.]?torch\.")
WRITTEN = frozenset({"dotted_path", "unparse"})
"""What gives an expression as it is written."""


def test_no_place_compares_what_is_written_with_a_name_of_torch() -> None:
    """`public_path` says what is meant; what is written tells one variable from another, and is shown."""
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for folder in ("flow", "rules")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for line in compared_as_written(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_such_places_are_found() -> None:
    for text in (
        "def f(n):\n    return dotted_path(n) == 'torch.save'",
        "def f(n):\n    return (dotted_path(n) or '').endswith('cuda.is_available')",
        "def f(n):\n    path = dotted_path(n) or ''\n    return path.startswith('torch.')",
        "NAMES = ('torch.save', 'torch.load')\ndef f(n):\n    return ast.unparse(n) in NAMES",
    ):
        assert list(compared_as_written(ast.parse(text))) == [text.count("\n") + 1]
    assert not list(compared_as_written(ast.parse("def f(n):\n    return public_path(n) == 'torch.save'")))
    assert not list(compared_as_written(ast.parse("def f(n):\n    return dotted_path(n) == 'self.device'")))


def compared_as_written(tree: ast.Module) -> Iterator[int]:
    """The lines that compare an expression as it is written with a text, or a table of texts, of torch."""
    tables = {
        target.id
        for each in tree.body
        if isinstance(each, ast.Assign) and says_torch(each.value, frozenset())
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    for function in nodes_in(tree, ast.FunctionDef):
        held = {
            target.id
            for each in nodes_in(function, ast.Assign)
            if gives_written(each.value, frozenset())
            for target in each.targets
            if isinstance(target, ast.Name)
        }
        for node in (*nodes_in(function, ast.Compare), *nodes_in(function, ast.Call)):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith"):
                sides = [node.func.value, *node.args]
            else:
                continue
            if any(gives_written(each, held) for each in sides) and any(says_torch(each, tables) for each in sides):
                yield node.lineno


def gives_written(node: ast.expr, held: frozenset[str] | set[str]) -> bool:
    if isinstance(node, ast.BoolOp):
        return any(gives_written(each, held) for each in node.values)
    if isinstance(node, ast.Name):
        return node.id in held
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in WRITTEN


def says_torch(node: ast.expr, tables: frozenset[str] | set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in tables
    texts = [each for each in (node, *nodes_in(node, ast.Constant)) if isinstance(each, ast.Constant)]
    return any(isinstance(each.value, str) and OF_TORCH.match(each.value) for each in texts)
