"""Programs that are extreme in one way each, in any size.

A generator takes a size n and gives the text of a program; `EXTREMES` has the size at which each is looked at first,
which is about the most that one file of real code has of such a thing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import shapes

HEAD = "import os\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


class Extreme(NamedTuple):
    """A kind of program: `make(size)` is the text of the smallest one that is tried."""

    size: int
    make: Callable[[int], str]


EXTREMES: dict[str, Extreme] = {
    # length
    "assignments": Extreme(5000, shapes.lines("x{i} = torch.zeros({i})")),
    "assignments of one name": Extreme(5000, shapes.lines("x = torch.zeros({i})")),
    "sums into one name": Extreme(2000, shapes.method("y = y + torch.zeros({i})", "return x + y")),
    "moves of one name": Extreme(2000, shapes.function("y = y.to(device)", after="return x + y")),
    "dropped moves": Extreme(2000, shapes.function("x.to(device)")),
    "calls without end": Extreme(5000, shapes.lines("print({i}, x, y=x)")),
    "functions": Extreme(2000, shapes.lines("def f{i}(x, y=torch.zeros(3)): return f{j}(x) + y")),
    "modules": Extreme(
        300, lambda n: "".join(shapes.init("self.a0 = torch.zeros(3)")(1).replace("Net", f"Net{i}") for i in range(n))
    ),
    "training loops": Extreme(200, shapes.trainers),
    "comments": Extreme(10_000, shapes.lines("# noqa: TDL001 {i}")),
    "suppressions": Extreme(2000, shapes.lines("x{i} = torch.load('a')  # torchdevlint: ignore[TDL201, TDL001]")),
    "noqa": Extreme(2000, shapes.lines("x{i} = torch.load('a')  # noqa: TDL201, TDL001")),
    "semicolons": Extreme(5000, shapes.joined("x = 1", "; x = torch.zeros({i})", "")),
    "findings": Extreme(2000, shapes.method("x = x + torch.zeros({i})")),
    "findings in one row": Extreme(
        1000, shapes.joined("x = torch.zeros(3).cuda()\nx + torch.zeros(3)", "; x + torch.zeros({i})", "")
    ),
    "blank lines": Extreme(100_000, lambda n: "\n" * n),
    # data in one line
    "list": Extreme(100_000, shapes.joined("x = [", "{i},", "]")),
    "list of lists": Extreme(20_000, shapes.joined("x = [", "[{i}, 'a', None],", "]")),
    "dict": Extreme(50_000, lambda n: "x = {" + "".join(f"'k{i}': {i}," for i in range(n)) + "}\n"),
    "tuples": Extreme(20_000, shapes.joined("y = [", "({i}, {j}),", "]")),
    "string": Extreme(2_500_000, lambda n: f"x = '{'a ' * (n // 2)}'\n"),
    "bytes escaped": Extreme(1_000_000, lambda n: "x = b'" + r"\x00" * (n // 4) + "'\n"),
    "string that is not ASCII": Extreme(
        1_000_000, lambda n: "x = '" + "é" * n + "'; y = torch.load('a') + torch.load('b')\n"
    ),
    "adjacent strings": Extreme(20_000, shapes.joined("x = (", "'{i}' ", ")")),
    "f-string fields": Extreme(500, lambda n: "x = f'" + "".join(f"{{y{i}!r:>{{w}}}} " for i in range(n)) + "'\n"),
    "number": Extreme(1_000_000, lambda n: f"x = 0x{'f' * n}\n"),
    "docstring": Extreme(250_000, lambda n: "def f():\n    '''" + "text\n" * (n // 5) + "    '''\n"),
    "comment in one line": Extreme(2_500_000, lambda n: "#" + " noqa" * (n // 5) + "\n"),
    "name": Extreme(1_000_000, lambda n: f"{'torch' * (n // 5)} = 1\n"),
    "tensors in a list": Extreme(
        1000, shapes.joined("x = torch.zeros(3).cuda()\ny = [", "torch.zeros({i}), ", "]\nx + torch.stack(y)")
    ),
    "tensors in a dict": Extreme(
        1000,
        lambda n: (
            "x = {"
            + "".join(f"'k{i}': torch.zeros({i}), " for i in range(n))
            + "}\n"
            + "".join(f"y = x['k{i}'].cuda() + x['k{i}']\n" for i in range(n))
        ),
    ),
    "elements set": Extreme(1000, shapes.function("d['k{i}'] = torch.zeros({i}); x = x + d['k{i}']", "d = {}")),
    "appended": Extreme(1000, shapes.function("l.append(torch.zeros({i}))", "l = []", "return x + torch.cat(l)")),
    "concatenated": Extreme(1000, shapes.function("l = l + [torch.zeros({i})]", "l = []", "return x + torch.cat(l)")),
    "unpacked": Extreme(1000, lambda n: "".join(f"a{i}, *b{i}, c{i} = x, *y, torch.zeros({i})\n" for i in range(n))),
    "one long unpacking": Extreme(
        1000,
        lambda n: (
            ", ".join(f"a{i}" for i in range(n)) + " = " + ", ".join(f"torch.zeros({i})" for i in range(n)) + "\n"
        ),
    ),
    # scopes
    "attributes of __init__": Extreme(1600, shapes.init("self.a{i} = torch.zeros({i})")),
    "numbers as attributes": Extreme(1600, shapes.init("self.a{i} = {i}")),
    "attributes of one another": Extreme(1600, shapes.init("self.a{j} = self.a{i}")),
    "attributes with conditions": Extreme(800, shapes.init("self.a{i} = torch.zeros({i}) if k else None")),
    "attributes that forward reads": Extreme(800, shapes.method("x = x + self.a{i}")),
    "layers": Extreme(800, shapes.layers),
    "loads": Extreme(800, shapes.lines("model{i}.load_state_dict(torch.load('{i}.pt'))")),
    "loads in a function": Extreme(800, shapes.function("s{i} = torch.load('{i}.pt'); m{i}.load_state_dict(s{i})")),
    "methods that write": Extreme(300, shapes.methods_writing),
    "globals": Extreme(
        1000,
        lambda n: "".join(
            f"g{i} = torch.zeros(3)\ndef f{i}():\n    global g{i}, g{(i + 1) % n}\n"
            f"    g{i} = g{(i + 1) % n}.cuda() + g{i}\n"
            for i in range(n)
        ),
    ),
    "deleted": Extreme(1000, shapes.function("z{i} = x; del z{i}, y[{i}], x.a{i}")),
    "walruses": Extreme(1000, shapes.function("if (z{i} := [w{i} := v for v in x]): x = w{i} + z{i}")),
    "parameters": Extreme(
        1000,
        lambda n: (
            "def f("
            + ", ".join(f"a{i}: torch.Tensor = None" for i in range(n))
            + "):\n    return "
            + "a0 + torch.zeros(3)\n"
            + "f("
            + ", ".join(f"a{i}=torch.zeros(3)" for i in range(n))
            + ")\n"
        ),
    ),
    "keywords": Extreme(2000, lambda n: "f(" + ", ".join(f"a{i}=x{i}" for i in range(n)) + ")\n"),
    "closures": Extreme(200, shapes.closures),
    "environment": Extreme(1000, shapes.lines("os.environ['CUDA_VISIBLE_DEVICES'] = '{i}'; torch.cuda.is_available()")),
    "devices": Extreme(1000, shapes.lines("d{i} = torch.device('cuda:{i}'); x{i} = torch.zeros(3, device=d{i})")),
    "optimizers": Extreme(
        500, shapes.lines("o{i} = torch.optim.SGD(model{i}.parameters()); model{i}.cuda(); o{i}.step()")
    ),
    "loaders": Extreme(
        500,
        shapes.lines(
            "l{i} = torch.utils.data.DataLoader(d{i}, pin_memory=True); m{i} = nn.DataParallel(l{i}, device_ids=[{i}])"
        ),
    ),
    "fields of a dataclass": Extreme(
        1000,
        lambda n: (
            "from dataclasses import dataclass\n@dataclass\nclass C:\n"
            + shapes.lines("a{i}: torch.Tensor = None", 4)(n)
            + "c = C("
            + "torch.zeros(3), " * min(n, 200)
            + ")\nc.a0.cuda() + c.a1\n"
        ),
    ),
    "decorators": Extreme(
        1000, lambda n: "".join(f"@(lambda f: d{i}(f))\n" for i in range(n)) + "def f(x): return x + torch.zeros(3)\n"
    ),
    "bases": Extreme(
        500,
        lambda n: (
            "".join(f"class A{i}: a{i} = torch.zeros(3)\n" for i in range(n))
            + "class B("
            + ", ".join(f"A{i}" for i in range(n))
            + ", metaclass=M): pass\nB().a0 + torch.zeros(3).cuda()\n"
        ),
    ),
    "imports": Extreme(2000, shapes.lines("from m{i} import a{i}, b as c{i}; import torch.m{i} as t{i}")),
    "stars": Extreme(500, shapes.lines("from m{i} import *; x{i} = y{i} + torch.zeros(3)")),
    # branches
    "one condition": Extreme(1000, shapes.same_condition),
    "other conditions": Extreme(500, shapes.other_conditions),
    "names of arms": Extreme(300, shapes.arms),
    "expressions with conditions": Extreme(
        500, shapes.function("y = (x if k == {i} else y) + torch.zeros(3)", after="return x + y")
    ),
    "handlers": Extreme(300, shapes.handlers),
    "cases": Extreme(300, shapes.cases),
    "returns": Extreme(300, shapes.returns),
    "asserts": Extreme(1000, shapes.function("assert x.device == y.device, x; y = torch.zeros(3)")),
    "loops": Extreme(500, shapes.function("for z{i} in x: y = y + z{i}; x = x.to(device)")),
    "while loops": Extreme(
        500, shapes.function("while k < {i}: k += 1; y = y.to(device) if k else x", after="return y")
    ),
    "with": Extreme(300, shapes.contexts),
    "try": Extreme(
        500,
        lambda n: (
            "def f(x: torch.Tensor):\n"
            + "".join(
                f"    try:\n        y = x + g({i})\n    except E:\n        y = torch.zeros(3)\n    finally:\n"
                f"        x = y\n"
                for i in range(n)
            )
            + "    return x\n"
        ),
    ),
    "exclusive tests": Extreme(500, shapes.function("if isinstance(x, C{i}): return y")),
    # calls
    "calling each other": Extreme(50, shapes.calling_each_other),
    "doubling": Extreme(30, shapes.doubling),
    "doubling methods": Extreme(30, shapes.doubling_methods),
    "one function often": Extreme(
        1000,
        lambda n: (
            "def f(x, y):\n    z = x + y\n    return z + torch.zeros(3)\n"
            + shapes.lines("a{i} = f(torch.zeros({i}).cuda(), {i})")(n)
        ),
    ),
    "a list of itself": Extreme(
        30, lambda n: "x = []\n" + "x = [x, x, torch.zeros(3)]\n" * n + "y = x.cuda() + x[0][1][2]\n"
    ),
    "a dict of itself": Extreme(
        30, lambda n: "x = {}\n" + "x = {'a': x, 'b': x, 'c': torch.zeros(3)}\nx['d'] = x\n" * n + "move(x, 'cuda')\n"
    ),
    "a tuple in a loop": Extreme(
        30, lambda n: "x = torch.zeros(3)\n" + "for i in y:\n    x = (x, x)\n    z = x[0]\n" * n
    ),
    "generators": Extreme(100, shapes.generators),
    "async": Extreme(200, shapes.coroutines),
    "chain of bases": Extreme(100, shapes.base_chain),
    "classes of each other": Extreme(100, shapes.classes_of_each_other),
    "lambdas": Extreme(1000, shapes.lines("f{j} = lambda x, y=f{i}: y(x) + torch.zeros(3)")),
    "wrappers": Extreme(500, shapes.lines("m{j} = nn.DataParallel(nn.Sequential(m{i}, nn.Linear(3, 3)))")),
    "one wrapper more": Extreme(200, shapes.lines("m = nn.DataParallel(nn.Sequential(m, nn.Linear(3, 3)).cuda())")),
    # depth
    "elif": Extreme(
        60,
        lambda n: (
            "if k == 0: y = torch.zeros(3)\n"
            + "".join(f"elif k == {i}: y = torch.zeros({i})\n" for i in range(n))
            + "x = y.cuda() + y\n"
        ),
    ),
    "elif of many names": Extreme(
        55,
        lambda n: (
            "if k == 0: pass\n"
            + "".join(f"elif k == {i}: y{i} = torch.zeros({i}); z = y{i}.cuda()\n" for i in range(n))
            + "x = z + y0\n"
        ),
    ),
    "if": Extreme(20, shapes.nested("if k{i}:", "x = torch.zeros(3)", "else: x = torch.zeros(3).cuda()")),
    "if and elif": Extreme(20, shapes.nested("if k{i}:", "x = torch.zeros(3)", "elif l{i}: y = x")),
    "for": Extreme(
        5, shapes.nested("for i{i} in x{i}:", "x = x.cuda() + torch.zeros(3); x0 = x1 = x2 = x", "x = y{i}")
    ),
    "while": Extreme(5, shapes.nested("while k{i}:", "x = x.cuda() + torch.zeros(3)", "else: x = y{i}")),
    "try in try": Extreme(5, shapes.nested("try:", "x = torch.zeros(3)", "except E{i}: x = x.cuda()")),
    "finally in finally": Extreme(
        5,
        lambda n: (
            "".join(
                "    " * i + "try:\n" + "    " * (i + 1) + f"x = f{i}()\n" + "    " * i + "finally:\n" for i in range(n)
            )
            + "    " * n
            + "x = x.cuda()\n"
        ),
    ),
    "with in with": Extreme(20, shapes.nested("with a{i} as x:", "y = torch.zeros(3) + x")),
    "functions in functions": Extreme(
        5,
        shapes.nested(
            "def f{i}(x: torch.Tensor):",
            "return x + torch.zeros(3)",
            "    return f{i}(x) if x else f{i}(torch.zeros(3))",
        ),
    ),
    "classes in classes": Extreme(
        20, shapes.nested("class A{i}(nn.Module):", "def forward(self, x: torch.Tensor): return x + torch.zeros(3)")
    ),
    "lambdas in lambdas": Extreme(
        20,
        lambda n: (
            "f = "
            + "".join(f"lambda x{i}: " for i in range(n))
            + "x0 + torch.zeros(3)\n"
            + "f"
            + "(torch.zeros(3).cuda())" * n
            + "\n"
        ),
    ),
    "comprehensions in comprehensions": Extreme(
        10, lambda n: "y = " + "[x + " * n + "torch.zeros(3)" + " for x in z]" * n + "\n"
    ),
    "for clauses": Extreme(
        50, lambda n: "y = [x0" + "".join(f" for x{i} in x{i - 1} if (w := x{i})" for i in range(1, n)) + "]\n"
    ),
    "conditional expressions": Extreme(
        20, lambda n: "y = " + "".join(f"x.cuda() if k{i} else " for i in range(n)) + "torch.zeros(3)\n"
    ),
    "conditions on both sides": Extreme(32, lambda n: "y = " + shapes.balanced(n) + "\nz = y + y\n"),
    "sum": Extreme(50, lambda n: "y = x.cuda()" + " + torch.zeros(3)" * n + "\n"),
    "calls in calls": Extreme(
        20, lambda n: "y = " + "f(" * n + "torch.zeros(3).cuda()" + ", torch.zeros(3))" * n + "\n"
    ),
    "chain of methods": Extreme(20, lambda n: "y = torch.zeros(3)" + ".to(device).view(3)" * n + "\n"),
    "attributes of attributes": Extreme(50, lambda n: "y = x" + ".a" * n + "\ny.cuda() + torch.zeros(3)\n"),
    "comparison": Extreme(1000, shapes.joined("y = x.cuda()", " < torch.zeros({i})", "")),
    "boolean": Extreme(1000, shapes.joined("y = x.cuda()", " or torch.zeros({i})", "")),
    # newer syntax, which libcst reads
    "new syntax": Extreme(200, shapes.new_syntax),
    "new syntax in a long file": Extreme(
        1000, lambda n: "type X = int\n" + shapes.lines("x{i} = torch.zeros({i}) + f(x, *y, **z)")(n)
    ),
    "new syntax with a long line": Extreme(5000, lambda n: "type X = int\n" + shapes.joined("x = [", "{i}, ", "]")(n)),
    "nested strings": Extreme(10, lambda n: "type X = int\nx = " + "f'{" * n + "1" + "}'" * n + "\n"),
    "invalid at the end": Extreme(
        2000, lambda n: shapes.lines("x{i} = torch.zeros({i}) + f(x, *y, **z)")(n) + "x = = 1\n"
    ),
    "never closed": Extreme(2000, lambda n: "x = (\n" + shapes.lines("x{i} = torch.zeros({i}) + f(x, *y, **z)")(n)),
    "quotes": Extreme(20_000, lambda n: "'''\"\"\"" * n + "\n"),
    "brackets open": Extreme(100_000, lambda n: "(" * n + "\n"),
    "brackets in strings": Extreme(20_000, lambda n: "x = = '" + "{(" * n + "'\n"),
    "backslashes": Extreme(100_000, lambda n: "x = 1 + \\\n" + "\\\n" * n + "1\n"),
    "carriage returns": Extreme(100_000, lambda n: "x = 1\r" * n),
    "form feeds": Extreme(100_000, lambda n: "\f" * n + "x = 1\n"),
    "not UTF-8": Extreme(100_000, lambda n: "x = 1\n" * n + "\udcff\n"),
}
