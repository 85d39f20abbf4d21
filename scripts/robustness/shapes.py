"""How programs of any size are made: lines, functions and blocks over and over, and what needs more than that."""

from __future__ import annotations

from collections.abc import Callable


def lines(line: str, indent: int = 0) -> Callable[[int], str]:
    """`n` times one line in which ``{i}`` is its number and ``{j}`` the next one's."""
    start = " " * indent
    return lambda n: "".join(start + line.format(i=i, j=i + 1) + "\n" for i in range(n))


def function(line: str, before: str = "", after: str = "return x") -> Callable[[int], str]:
    body = lines(line, 4)
    return lambda n: (
        f"def f(x: torch.Tensor, device, k):\n    y = torch.zeros(3)\n    {before or 'pass'}\n{body(n)}    {after}\n"
    )


def method(line: str, after: str = "return x + torch.zeros(3)") -> Callable[[int], str]:
    body = lines(line, 8)
    return lambda n: (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(3, 3)\n"
        f"    def forward(self, x: torch.Tensor, k=0):\n        y = torch.zeros(3)\n{body(n)}        {after}\n"
    )


def init(line: str, used: str = "self.a0") -> Callable[[int], str]:
    body = lines(line, 8)
    return lambda n: (
        f"class Net(nn.Module):\n    def __init__(self, k=0):\n        super().__init__()\n{body(n)}"
        f"    def forward(self, x):\n        return x + {used}\n\nnet = Net().cuda()\nnet(torch.zeros(3))\n"
    )


def joined(start: str, piece: str, end: str) -> Callable[[int], str]:
    return lambda n: start + "".join(piece.format(i=i, j=i + 1) for i in range(n)) + end + "\n"


def nested(head: str, inner: str, after: str = "") -> Callable[[int], str]:
    """`n` blocks one in another, and after each of them, in reverse order, `after`."""

    def make(n: int) -> str:
        text = "".join("    " * i + head.format(i=i, j=i + 1) + "\n" for i in range(n)) + "    " * n + inner + "\n"
        return text + "".join("    " * i + after.format(i=i) + "\n" for i in reversed(range(n)) if after)

    return make


def calling_each_other(n: int) -> str:
    def one(i: int) -> str:
        calls = "".join(f"    x = f{(i * 7 + k) % n}(x, y + {k})\n" for k in range(4))
        return f"def f{i}(x, y):\n{calls}    return x + torch.zeros(3)\n"

    return "".join(map(one, range(n))) + "f0(torch.zeros(3).cuda(), 1)\n"


def doubling(n: int) -> str:
    """Each function calls the one before it twice."""
    return "def f0(x):\n    return x + torch.zeros(3)\n" + "".join(
        f"def f{i}(x):\n    return f{i - 1}(x) + f{i - 1}(x * {i})\n" for i in range(1, n)
    )


def doubling_methods(n: int) -> str:
    methods = "".join(
        f"    def f{i}(self, x):\n        return self.f{i - 1}(x) + self.f{i - 1}(-x)\n" for i in range(1, n)
    )
    return f"class Net(nn.Module):\n    def f0(self, x):\n        return x + torch.zeros(3)\n{methods}"


def base_chain(n: int) -> str:
    bases = "".join(
        f"class A{i}(A{i - 1}):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.a{i} = torch.zeros({i})\n"
        f"    def forward(self, x):\n        return super().forward(x) + self.a{i}\n"
        for i in range(1, n)
    )
    return (
        f"class A0(nn.Module):\n    def forward(self, x):\n        return x\n{bases}A{n - 1}().cuda()(torch.zeros(3))\n"
    )


def classes_of_each_other(n: int) -> str:
    return "".join(
        f"class A{i}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.other = A{(i + 1) % n}()\n"
        f"        self.me = A{i}\n        self.t = torch.zeros(3)\n"
        f"    def forward(self, x):\n        return self.other(x) + self.t + A{(i * 5 + 2) % n}()(x)\n"
        for i in range(n)
    )


def methods_writing(n: int) -> str:
    return "class Net(nn.Module):\n" + "".join(
        f"    def m{i}(self, x):\n        self.a = torch.zeros({i})\n        self.b{i} = self.b{(i * 7) % n} + x\n"
        f"        return self.m{(i * 3 + 1) % n}(self.a)\n"
        for i in range(n)
    )


def new_syntax(n: int) -> str:
    return "".join(
        f"type X{i}[T: int, *Ts, **P] = list[T]\n"
        f"def f{i}[T](x: T) -> T:\n    return f'{{x!r:{{f\"{{x['a']}}\"}}}}' + torch.zeros({i})\n"
        f"class C{i}[T](nn.Module):\n    def forward(self, x): return x + torch.zeros(3)\n"
        for i in range(n)
    )


def same_condition(n: int) -> str:
    arms = "".join(
        f"    if k == 1:\n        y = y.to(device)\n    else:\n        y = torch.zeros({i})\n" for i in range(n)
    )
    return f"def f(x: torch.Tensor, device, k):\n    y = torch.zeros(3)\n{arms}    return x + y\n"


def other_conditions(n: int) -> str:
    arms = "".join(
        f"    if k{i}:\n        y{i % 9} = y{(i + 4) % 9}.cuda()\n    else:\n        y{i % 9} = torch.zeros({i})\n"
        for i in range(n)
    )
    start = "".join(f"    y{i} = torch.zeros({i})\n" for i in range(9))
    return f"def f(x: torch.Tensor):\n{start}{arms}    return x + y0\n"


def arms(n: int) -> str:
    """One chain of tests that binds many names in every arm, over and over."""
    one = "".join(
        f"    if k == {i}:\n        a{i}, b = torch.zeros(3), x\n    elif k:\n        b, a{i} = y, x\n"
        for i in range(n)
    )
    return f"def f(x: torch.Tensor, y, k):\n{one}    return x + a0 + b\n"


def handlers(n: int) -> str:
    return (
        "def f(x: torch.Tensor):\n    y = x\n    try:\n        y = g(x)\n"
        + "".join(f"    except E{i} as e:\n        y = torch.zeros({i})\n" for i in range(n))
        + "    return x + y\n"
    )


def cases(n: int) -> str:
    return (
        "def f(x: torch.Tensor, k):\n    match k:\n"
        + "".join(
            f"        case {{'a': [{i}, *rest], **more}} | C({i}, b=more) as rest:\n"
            f"            x = x + torch.zeros({i})\n"
            for i in range(n)
        )
        + "    return x\n"
    )


def returns(n: int) -> str:
    tests = "".join(f"    if k == {i}:\n        return torch.zeros({i})\n" for i in range(n))
    return f"def f(x: torch.Tensor, k):\n{tests}    return x\n\n" + "f(torch.zeros(3).cuda(), 1)\n" * 20


def generators(n: int) -> str:
    return "".join(
        f"def g{i}(x):\n    yield from g{(i * 3 + 1) % n}(x)\n    yield x + torch.zeros(3)\n" for i in range(n)
    ) + ("for x in g0(torch.zeros(3).cuda()):\n    print(x + torch.zeros(3))\n")


def coroutines(n: int) -> str:
    return "".join(
        f"async def f{i}(x: torch.Tensor):\n    async with a as b, c as d:\n        async for e in f{(i + 1) % n}(x):\n"
        "            x = x + await e + torch.zeros(3)\n    y = [z async for z in x if await z]\n    yield x\n"
        for i in range(n)
    )


def contexts(n: int) -> str:
    return (
        "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        + "".join(
            f"        with a as b, c() as (d, e.f):\n            x = x + torch.zeros({i}).to(x.device)\n"
            for i in range(n)
        )
        + "        return x\n"
    )


def layers(n: int) -> str:
    init = "".join(f"        self.l{i} = nn.Linear(3, 3)\n" for i in range(n))
    forward = "".join(f"        x = self.l{i}(x) + torch.zeros(3)\n" for i in range(n))
    return (
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"{init}    def forward(self, x):\n{forward}        return x\n"
    )


def closures(n: int) -> str:
    text = "def f(x: torch.Tensor):\n" + "".join(
        f"    def g{i}(y):\n        return g{max(i - 1, 0)}(y) + x + torch.zeros(3)\n" for i in range(n)
    )
    return text + f"    return g{n - 1}(torch.zeros(3))\n"


def trainers(n: int) -> str:
    return "".join(
        f"def train{i}(model, loader, device):\n    optimizer = torch.optim.SGD(model.parameters())\n"
        f"    model.to(device)\n"
        "    for x, y in loader:\n        x.to(device)\n        loss = F.mse_loss(model(x), y.cuda())\n"
        "        loss.backward()\n"
        f"        total = total + loss\n    torch.save(nn.DataParallel(model).state_dict(), 'm{i}')\n"
        for i in range(n)
    )


def balanced(leaves: int) -> str:
    """A conditional expression whose both sides are such expressions, down to the leaves."""
    if leaves <= 1:
        return "torch.zeros(3)"
    return f"({balanced(leaves // 2)} if k{leaves} else {balanced(leaves - leaves // 2)})"
