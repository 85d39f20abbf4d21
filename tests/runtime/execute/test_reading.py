"""What statements bind and read, and which do only what is known."""

from __future__ import annotations

import ast
import textwrap

import pytest

from torchdevlint.runtime.execute.reading import BUILTINS, bound_by, flat, free_names, imports_of, is_known, names_in

KNOWN = frozenset({"torch", "math"}) | BUILTINS


def body(text: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(text)).body


@pytest.mark.parametrize(
    "text",
    [
        "y = torch.zeros(3)",
        "y = x.to(device).sum()",
        "y = math.sqrt(len(x))",
        "y += torch.ones(x.shape[0])",
        "y = make[0](x)",
        "y = x",
        "return x + y",
        "y = torch.zeros(3)(x)",
    ],
)
def test_what_is_known(text: str) -> None:
    (statement,) = body(text)
    assert is_known(statement, KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "y = helper(x)",
        "y = self.encode(x)",
        "y = cls.make(x)",
        "y = super().forward(x)",
        "y = [each + 1 for each in x]",
        "y = sum(each for each in x)",
        "y = lambda: x",
        "y = torch.zeros(helper(x))",
        "y = open('file').read()",
        "y = input()",
        "exit()",
        "y = yield x",
    ],
)
def test_what_is_not_known(text: str) -> None:
    (statement,) = body(text)
    assert not is_known(statement, KNOWN)


def test_imports_of_torch_numpy_and_the_standard_library_are_kept_wherever_they_are() -> None:
    tree = ast.parse(
        textwrap.dedent("""\
        from __future__ import annotations
        import os.path, timm, torch as th
        import numpy as np
        from torch import *
        from torch.nn import functional as F, Linear
        from . import layers
        from .layers import Block
        from einops import rearrange

        def function():
            import math
            from collections import OrderedDict
        """)
    )
    kept, names = imports_of(tree)
    assert names == {"os", "th", "np", "F", "Linear", "math", "OrderedDict"}
    assert [each.lineno for each in kept] == [2, 3, 5, 11, 12]
    assert ast.unparse(kept[0]) == "import os.path, torch as th"


def test_what_torch_has_no_more_may_be_imported_in_vain() -> None:
    kept, names = imports_of(ast.parse("from torch import nosuchname\nfrom torch import pi\n"))
    assert names == {"nosuchname", "pi"}
    namespace: dict[str, object] = {"__name__": "slice"}
    code = compile(ast.fix_missing_locations(ast.Module(kept, [])), "slice", "exec")
    pytest.importorskip("torch", reason="imports a name of torch")
    exec(code, namespace)
    assert "pi" in namespace
    assert "nosuchname" not in namespace


def test_statements_are_gone_through_in_the_order_of_their_lines() -> None:
    statements = body("""\
        if a:
            b
            for c in d:
                e
        else:
            f
        try:
            g
        except ValueError:
            h
        finally:
            i
        def function():
            j
        class Net:
            k
        """)
    assert [each.lineno for each in flat(statements)] == [1, 2, 3, 4, 6, 7, 8, 12, 10, 13, 15]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = 1", {"a"}),
        ("a = b = 1", {"a", "b"}),
        ("a, (b, *c) = 1, (2, 3)", {"a", "b", "c"}),
        ("self.scale = 1", {"self.scale"}),
        ("a: int = 1", {"a"}),
        ("a += 1", {"a"}),
        ("a[0] = 1", set()),
        ("self.register_buffer('scale', torch.ones(3))", {"self.scale"}),
        ("self.register_buffer(name, torch.ones(3))", set()),
        ("print(a)", set()),
    ],
)
def test_what_a_statement_binds(text: str, names: set[str]) -> None:
    (statement,) = body(text)
    assert bound_by(statement) == names


def test_names_in_a_target() -> None:
    (loop,) = body("for i, (image, *labels) in enumerate(loader): pass")
    assert isinstance(loop, ast.For)
    assert names_in(loop.target) == {"i", "image", "labels"}


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("y = x + z\nw = y + v", ["x", "z", "v"]),
        ("x = x + 1", ["x"]),
        ("x += 1", ["x"]),
        ("self.total += x", ["x", "self.total"]),
        ("y = torch.zeros(len(x))", ["x"]),
        ("y = self.scale * x\nz = self.config.width", ["self.scale", "x", "self.config"]),
        ("self.scale = torch.ones(3)\ny = self.scale * x", ["x"]),
        ("self.x = y\nz = self.x.shape", ["y"]),
        ("y = [each * k for each in x]", ["x", "k"]),
        ("y = {a: b for a, b in x if a not in seen}", ["x", "seen"]),
        ("y = sum(each for each in x)\nz = each", ["x", "each"]),
        ("y = sorted(x, key=lambda one: one + k)", ["x", "k"]),
        ("for image in loader:\n    y = image + w\nz = image", ["loader", "w"]),
        ("if flag:\n    y = x\nz = y", ["flag", "x"]),
        ("y.add_(x)", ["y", "x"]),
        ("y[0] = x", ["x", "y"]),
        ("y = self", ["self"]),
        ("a.b.c = x", ["x", "a"]),
    ],
)
def test_the_names_that_are_read_before_they_are_bound(text: str, free: list[str]) -> None:
    assert free_names(body(text), KNOWN, set()) == free


def test_what_is_bound_before_is_not_free() -> None:
    assert free_names(body("y = x + self.scale"), KNOWN, {"x", "self.scale"}) == []
