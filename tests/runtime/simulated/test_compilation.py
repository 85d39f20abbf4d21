"""Compiled code runs as Python, and what cannot is refused in plain words."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import torch

from torchdevlint.runtime.record.recorder import Recorder
from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.errors import NotSimulated
from torchdevlint.runtime.simulated.operators.texts import release_of

pytestmark = pytest.mark.xdist_group("compilation")
"""What compiles takes ten seconds to be imported, in each process that does it."""


@pytest.fixture
def listener() -> Iterator[Recorder]:
    heard = Recorder()
    with simulate(2, recorder=heard):
        yield heard


@pytest.fixture(scope="module")
def compiled_before() -> Callable[[torch.Tensor], torch.Tensor]:
    """Made before the simulation of a test begins, since fixtures of modules are made first."""
    return torch.compile(lambda x: x.cuda() + 1)


@torch.jit.script  # type: ignore[untyped-decorator]
def scripted_before(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + torch.ones(2, device=x.device)


def test_a_compiled_module_keeps_its_wrapper_and_is_checked(listener: Recorder) -> None:
    model = torch.compile(torch.nn.Linear(2, 2)).cuda()
    assert list(model.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert model(torch.ones(1, 2, device="cuda")).device == torch.device("cuda:0")
    with pytest.raises(RuntimeError, match="same device"):
        model(torch.ones(1, 2))
    assert set(listener.limitations) == {"torch.compile: the functions ran without being compiled"}


def test_compiled_functions_run(
    compiled_before: Callable[[torch.Tensor], torch.Tensor], listener: Recorder
) -> None:
    @torch.compile(fullgraph=True, mode="reduce-overhead")  # type: ignore[untyped-decorator]
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x.to("cuda:1") * 2

    assert twice(torch.ones(1)).device == torch.device("cuda:1")
    assert compiled_before(torch.ones(1)).device == torch.device("cuda:0")
    model = torch.nn.Linear(2, 2).cuda()
    model.compile()
    assert model(torch.ones(1, 2, device="cuda")).device == torch.device("cuda:0")
    assert list(model.state_dict()) == ["weight", "bias"]


def test_scripted_and_traced_code_is_python(listener: Recorder) -> None:
    @torch.jit.script  # type: ignore[untyped-decorator]
    def shifted(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return x + by.to(x.device)

    x = torch.ones(2, device="cuda:1")
    assert shifted(x, torch.ones(2)).device == torch.device("cuda:1")
    assert scripted_before(x).device == torch.device("cuda:1")
    traced = torch.jit.trace(torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda"))
    assert traced(torch.ones(1, 2, device="cuda")).device == torch.device("cuda:0")
    assert set(listener.limitations) == {
        "torch.jit.script: the code ran as Python",
        "torch.jit.trace: the code ran as Python",
    }


def test_a_scripted_module_refuses_to_be_saved_but_can_be_copied(listener: Recorder) -> None:
    model = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 2).eval()))
    for save in (lambda: model.save("x.pt"), lambda: torch.jit.save(model, "x.pt"), lambda: torch.jit.load("x.pt")):
        with pytest.raises(NotSimulated, match="cannot be simulated"):
            save()
    assert torch.equal(pickle.loads(pickle.dumps(copy.deepcopy(model))).weight, model.weight)
    torch.save(model.state_dict(), io.BytesIO())


def test_exporting_from_an_accelerator_is_refused(listener: Recorder) -> None:
    model = torch.nn.Linear(2, 2).cuda()
    with pytest.raises(NotSimulated, match=r"torch\.export"):
        torch.export.export(model, (torch.ones(1, 2, device="cuda"),))


class Constants(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ones = torch.as_tensor([1.0, 2.0])  # torchdevlint: ignore[TDL003] (it is exported for the CPU)
        scale = torch.tensor(2.0) * ones + x.new_tensor([0.0, 0.0])
        return torch.cond(x.sum() > 2, lambda x, y: x * y, lambda x, y: x - y, (x, scale))  # type: ignore[no-any-return]


@pytest.mark.parametrize("strict", [False, True])
def test_exporting_on_the_cpu(listener: Recorder, strict: bool) -> None:
    exported = torch.export.export(Constants(), (torch.ones(2),), strict=strict)
    assert any("cond" in str(node.target) for node in exported.graph.nodes)
    assert exported.module()(torch.tensor([1.0, 3.0])).tolist() == [2.0, 12.0]
    assert ("torch.export: traced with strict=False" in listener.limitations) == strict


class Bounds(torch.nn.Module):  # type: ignore[misc]
    """Tensors that are no buffers meet each other alone, and then what is traced."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = torch.tensor(1.0), torch.tensor([3.0, 4.0])  # torchdevlint: ignore[TDL101]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        span = self.high - self.low
        parts = torch.stack([span, torch.cat([self.low.view(1), self.low.view(1)])])
        least, place = parts.min(dim=0)
        return x * span.clone().mul_(self.low) + least + place


def test_constants_that_meet_while_a_module_is_exported() -> None:
    try:
        torch.export.export(Bounds(), (torch.ones(2),), strict=False)
    except AssertionError as error:  # 2.4 and 2.5: "expected to have an entirely functional graph"
        pytest.skip(f"torch itself does not export it: {error}")
    with simulate(2):
        exported = torch.export.export(Bounds(), (torch.ones(2),))
    assert exported.module()(torch.ones(2)).tolist() == [4.0, 5.0]


def scanned(w: torch.Tensor) -> torch.Tensor:
    scan = importlib.import_module("torch._higher_order_ops.scan").scan
    rows = torch.ones(4, 3, device=w.device)
    return scan(lambda c, x: (c + x * w, c * x), torch.zeros_like(w), rows)[1]  # type: ignore[no-any-return]


@pytest.fixture
def has_scan() -> bool:
    """Whether torch itself scans and goes back through it, without a simulation."""
    try:
        scanned(torch.ones(3, requires_grad=True)).sum().backward()
    except (ImportError, RuntimeError):  # 2.6 and 2.7: "Autograd not implemented for scan"
        return False
    return True


def test_operators_that_run_functions_of_the_program(has_scan: bool, listener: Recorder) -> None:
    from torch._higher_order_ops.while_loop import while_loop

    def chosen(w: torch.Tensor) -> torch.Tensor:
        return torch.cond(w.sum() > 2, lambda x: x * w, lambda x: x, (w.detach(),))  # type: ignore[no-any-return]

    def repeated(w: torch.Tensor) -> torch.Tensor:
        start = torch.tensor(0, device="cuda:1"), w
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), start)[1]  # type: ignore[no-any-return]

    programs = [(chosen, 1.0), (repeated, 8.0), (scanned, 6.0)]
    for run, expected in programs if has_scan else programs[:2]:
        w = torch.ones(3, device="cuda:1", requires_grad=True)
        run(w).sum().backward()
        assert w.grad is not None
        assert (w.grad.device, w.grad.tolist()) == (torch.device("cuda:1"), [expected] * 3)
        with torch.inference_mode():
            assert run(w).device == torch.device("cuda:1")
    with pytest.raises(RuntimeError, match="same device"):
        torch.cond(torch.tensor(True).cuda(), lambda x: x + torch.ones(3), lambda x: x, (torch.ones(3).cuda(),))


def test_flexible_attention_has_the_gradient_of_attention(listener: Recorder) -> None:
    flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="came with torch 2.5")
    flex_attention = flex.flex_attention
    mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 16, 16, device="cuda")
    start = torch.rand(1, 2, 16, 8)
    flexible, plain = start.cuda().requires_grad_(), start.clone().requires_grad_()
    flex_attention(flexible, flexible, flexible, block_mask=mask, score_mod=lambda s, *_: s * 2).sum().backward()
    attention = torch.nn.functional.scaled_dot_product_attention
    attention(plain, plain, plain, is_causal=True, scale=2 * 8**-0.5).sum().backward()
    assert flexible.grad is not None
    assert plain.grad is not None
    assert flexible.grad.device == torch.device("cuda:0")
    assert torch.allclose(flexible.grad.cpu(), plain.grad, atol=1e-5)
    left = torch.zeros(16)
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        flex_attention(flexible, flexible, flexible, score_mod=lambda s, b, h, i, j: s + left[i])


def test_the_compilers_are_back_afterwards() -> None:
    from torch._dynamo import eval_frame

    stances = hasattr(torch.compiler, "set_stance")  # 2.6
    names = ("_stance", "_callback_from_stance") if stances else ("set_eval_frame", "_maybe_set_eval_frame")

    def compilers() -> list[object]:
        there = [getattr(eval_frame, name) for name in names if hasattr(eval_frame, name)]
        assert there
        return [torch.jit.script, torch.jit.load, *there]

    before = compilers()
    with simulate(1):
        if stances:
            torch.compiler.set_stance("force_eager")
        assert torch.jit.script is not before[0]
        assert compilers()[-1] is not before[-1]
    assert compilers() == before
    assert isinstance(torch.jit.script(torch.nn.Linear(1, 1)), torch.jit.ScriptModule)


LASTING = """
import sys, torch
from torchdevlint.runtime.simulated import install

install(1, lasts=True)
layer = torch.nn.Linear(2, 2).cuda()
print("torch._dynamo" in sys.modules)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
print("torch._dynamo" in sys.modules)
x = torch.ones(1, 2, device="cuda")
torch.compile(layer)(x).sum().backward()
optimizer.step()
print(torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x, (x,)).device)
print(len(list(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)).graph.nodes)))
"""


@pytest.mark.slow
@pytest.mark.skipif(release_of(torch.__version__) < (2, 13), reason="older releases have it imported before")
def test_a_simulation_that_lasts_does_without_dynamo_until_it_is_wanted() -> None:
    """Optimizers import it, in the middle of the simulation; compiled functions run as Python all the same."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LASTING], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "cuda:0", "3"], done.stderr
