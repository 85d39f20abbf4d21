"""Functions of the program that torch runs: higher-order operators, export, `torch.func`, and distributions."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from dataclasses import replace

from benchmarks.truth.case import Case, ok, rows
from benchmarks.truth.sources import GENERATOR, ITERATOR, mixed, on

_HIGHER = "docs: control flow (torch.cond, while_loop, scan: they run the functions they are given)"
_FLEX = "torch/nn/attention/flex_attention.py"
_FUNC = "docs: torch.func"
_DISTRIBUTIONS = "torch/distributions"
_SCAN = (2, 6)
"""The first release that has `scan` and `flex_attention` as they are used here."""

HIGHER = rows(
    "higher-order",
    (
        ("cond", "seen['r'] = torch.cond(x.sum() > 2, lambda a: a.sin(), lambda a: a.cos(), (x,))", on("cuda:0", _HIGHER)),
        ("cond/uses-cpu", "y = torch.ones(3);;torch.cond(x.sum() > 2, lambda a: a + y, lambda a: a, (x,))"),
        ("while-loop", "from torch._higher_order_ops.while_loop import while_loop;;i, z = while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * 2), (torch.tensor(0, device=first), x));;seen['r'] = [i, z]", ok(_HIGHER, r=["cuda:0 int64 []", "cuda:0 float32 [3]"])),
        ("scan", "from torch._higher_order_ops.scan import scan;;seen['r'] = scan(lambda c, a: (c + a, c * 2), torch.zeros_like(x), torch.ones(4, 3, device=first))[1]", on("cuda:0", _HIGHER)),
        ("flex-attention", f"{'from torch.nn.attention.flex_attention import flex_attention, create_block_mask'};;q = torch.ones(1, 1, 8, 8, device=first);;mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 8, 8, device=first);;seen['r'] = flex_attention(q, q, q, block_mask=mask)", on("cuda:0", _FLEX)),
        ("flex-attention/mixed", "from torch.nn.attention.flex_attention import flex_attention;;q = torch.ones(1, 1, 8, 8, device=first);;flex_attention(q, q.cpu(), q)"),
        ("export/of-the-cpu", "class M(nn.Module):;;    def forward(self, a):;;        return a * torch.tensor([1.0, 2.0, 3.0]);;seen['r'] = torch.export.export(M(), (torch.ones(3),)).module()(torch.ones(3))", on("cpu", "docs: torch.export")),
    ),
    setup="x = torch.ones(3, device=first)",
    control=("NotImplementedError",),
    alone=True,
)

FUNC = rows(
    "func",
    (
        ("vmap", "seen['r'] = torch.vmap(lambda a: a * 2)(x)", on("cuda:0", _FUNC)),
        ("vmap/uses-cpu", "y = torch.ones(3);;torch.vmap(lambda a: a * y)(x)", mixed(ITERATOR)),
        ("vmap/argument-of-the-cpu", "torch.vmap(torch.dot)(x, x.cpu())", mixed()),
        ("vmap/makes-cpu", "torch.vmap(lambda a: a + torch.zeros(3))(x)", mixed(ITERATOR)),
        ("grad", "seen['r'] = torch.func.grad(lambda a: a.sin().sum())(x)", on("cuda:0", _FUNC)),
        ("grad/uses-cpu", "y = torch.ones(3);;torch.func.grad(lambda a: (a * y).sum())(x)", mixed(ITERATOR)),
        ("jvp", "seen['r'] = torch.func.jvp(lambda a: a * 2, (x,), (x,))[1]", on("cuda:0", _FUNC)),
        ("jvp/tangent-of-the-cpu", "torch.func.jvp(lambda a: a * 2, (x,), (x.cpu(),))"),
        ("vjp", "seen['r'] = torch.func.vjp(lambda a: a * 2, x)[1](x)[0]", on("cuda:0", _FUNC)),
        ("jacrev", "seen['r'] = torch.func.jacrev(lambda a: a.sum(0))(x)", on("cuda:0", _FUNC)),
        ("hessian", "seen['r'] = torch.func.hessian(lambda a: (a ** 2).sum())(x)", on("cuda:0", _FUNC)),
        ("functional-call", "m = nn.Linear(3, 2);;seen['r'] = torch.func.functional_call(m, {n: p.to(first) for n, p in m.named_parameters()}, (x,))", on("cuda:0", _FUNC)),
        ("functional-call/of-the-cpu", "torch.func.functional_call(nn.Linear(3, 2), {}, (x,))", mixed()),
        ("stack-module-state", "p, b = torch.func.stack_module_state([nn.Linear(3, 2).to(first) for _ in range(2)]);;seen['r'] = p['weight']", on("cuda:0", _FUNC)),
    ),
    setup="x = torch.ones(3, 3, device=first)",
)

DISTRIBUTIONS = rows(
    "distributions",
    (
        ("normal", "seen['r'] = [d.Normal(x, x).sample(), d.Normal(x, x).log_prob(x)]", ok(_DISTRIBUTIONS, r=["cuda:0 float32 [3]", "cuda:0 float32 [3]"])),
        ("normal/scale-of-the-cpu", "d.Normal(x, torch.ones(3)).rsample()", mixed(ITERATOR)),
        ("normal/numbers", "seen['r'] = d.Normal(0.0, 1.0).sample()", on("cpu", _DISTRIBUTIONS)),
        ("normal/log-prob-of-the-cpu", "d.Normal(x, x).log_prob(torch.ones(3))", mixed(ITERATOR)),
        ("categorical", "seen['r'] = d.Categorical(probs=x).sample()", on("cuda:0", _DISTRIBUTIONS)),
        ("categorical/log-prob-of-the-cpu", "d.Categorical(probs=x).log_prob(torch.tensor(1))"),
        ("categorical/log-prob-of-cpu-rows", "d.Categorical(probs=x).log_prob(torch.tensor([1, 2]))", mixed()),
        ("bernoulli", "seen['r'] = d.Bernoulli(x / 2).sample()", on("cuda:0", _DISTRIBUTIONS)),
        ("kl/mixed", "d.kl_divergence(d.Normal(x, x), d.Normal(x.cpu(), x.cpu()))", mixed(ITERATOR)),
        ("multivariate", "seen['r'] = d.MultivariateNormal(x, torch.eye(3, device=first)).sample()", on("cuda:0", _DISTRIBUTIONS)),
        ("multivariate/covariance-of-the-cpu", "d.MultivariateNormal(x, torch.eye(3)).rsample()"),
        ("dirichlet", "seen['r'] = d.Dirichlet(x).rsample()", on("cuda:0", _DISTRIBUTIONS)),
        ("gamma/mixed", "d.Gamma(x, torch.ones(3)).rsample()", mixed(ITERATOR)),
        ("multinomial", "seen['r'] = d.Multinomial(2, probs=x).sample()", on("cuda:0", _DISTRIBUTIONS)),
        ("mixture", "seen['r'] = d.MixtureSameFamily(d.Categorical(x), d.Normal(x, x)).sample()", on("cuda:0", _DISTRIBUTIONS)),
        ("transformed", "seen['r'] = d.TransformedDistribution(d.Normal(x, x), [d.AffineTransform(0.0, 2.0)]).sample()", on("cuda:0", _DISTRIBUTIONS)),
        ("transformed/scale-of-the-cpu", "d.TransformedDistribution(d.Normal(x, x), [d.AffineTransform(torch.zeros(3), 2.0)]).sample()", mixed(ITERATOR)),
        ("multinomial/generator-of-the-cpu", "torch.multinomial(x, 1, generator=torch.Generator())", replace(mixed(GENERATOR), texts=("Expected a 'cuda' device type for generator but found 'cpu'",))),
    ),
    setup="import torch.distributions as d;;x = torch.ones(3, device=first)",
)


def _since(case: Case) -> Case:
    newer = "_ops.scan" in case.program or "flex_attention" in case.program
    return replace(case, since=_SCAN) if newer else case


CASES: tuple[Case, ...] = (*map(_since, HIGHER), *FUNC, *DISTRIBUTIONS)
