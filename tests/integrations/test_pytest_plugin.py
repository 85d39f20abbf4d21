"""The pytest plugin in a pytest of its own. `tests.standin` is the backend: errors on `meta` are torch's own."""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import EntryPoint
from importlib.util import find_spec

import pytest

from tests import forked
from tests.conftest import ROOT

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="the tests that are run need torch")

MIXED = """
import pytest
import torch


def test_mixed():
    torch.ones(3, device="meta") + torch.ones(3)


def test_expected():
    with pytest.raises(RuntimeError):
        torch.ones(3, device="meta") + torch.ones(3)


def test_another_error():
    assert torch.ones(3).shape == (4,)
"""
NEEDY = """
import pytest


@pytest.mark.accelerator
def test_one(accelerator):
    assert accelerator.type == "cuda"


@pytest.mark.accelerator(count=2)
def test_two():
    pass


@pytest.mark.accelerator(count=9)
def test_nine():
    pass


@pytest.mark.accelerator("another meaning")
def test_of_another_project():
    pass
"""
SIMULATED = """
import pytest
import torch


def test_device(accelerator):
    assert torch.ones(2, device=accelerator).device == torch.device("cuda:0")


@pytest.mark.accelerator(count=2)
def test_two():
    assert torch.cuda.device_count() == 2


@pytest.mark.accelerator(count=3)
def test_three():
    pass


def test_mixed():
    a, b = torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1")
    a + b
"""
ANSWERS = """
import torch

torch.accelerator.is_available = lambda: True
torch.accelerator.current_accelerator = lambda: torch.device("cuda")
torch.accelerator.device_count = lambda: 2
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Runs pytest with the plugin, however it is installed here, in a fork, or with `own` in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(ROOT / "tests" / "standin"))))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("PYTEST_PLUGINS", raising=False)
    plugin = ("-p", "no:torchdevlint", "-p", "torchdevlint.integrations.pytest")
    plugin = (*plugin, "-p", "no:cacheprovider", "-p", "no:hypothesispytest")

    def run(*arguments: str, own: bool = False) -> pytest.RunResult:
        if own:
            return pytester.runpytest_subprocess(*plugin, "-rs", *arguments, timeout=120)
        command = [sys.executable, "-m", "pytest", f"--basetemp={pytester.path}/basetemp", *plugin, "-rs", *arguments]
        began = time.monotonic()
        done = forked.run(command, cwd=pytester.path, env=dict(os.environ))
        lines = (done.stdout.splitlines(), done.stderr.splitlines())
        return pytest.RunResult(done.returncode, *lines, time.monotonic() - began)

    return run


@pytest.mark.parametrize("more", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["alone", "xdist"])
def test_a_device_error_is_told_beside_the_test_that_it_fails(run, pytester: pytest.Pytester, more) -> None:
    if more and find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    pytester.makepyfile(test_it=MIXED)
    result = run("--simulate-accelerators=2", *more, own=bool(more))
    result.assert_outcomes(failed=2, passed=1)
    text = result.stdout.str()
    assert text.count("device error: RuntimeError: Tensor on device cpu is not") == 1
    result.stdout.fnmatch_lines(
        [
            "*test_it.py:6: *",
            "*- torchdevlint: device error -*",
            "device error: RuntimeError: *",
            "*test_it.py:6 in test_mixed",
            "*= operand: `torch.ones(3)` is on cpu (3 float32), made by ones at test_it.py:6",
            "*= help: *",
            "*- torchdevlint: 1 test failed with a device error -*",
        ]
    )


def test_the_number_may_be_configured(run, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nsimulate_accelerators = 3\n")
    pytester.makepyfile("def test_it():\n    pass\n")
    run().stdout.fnmatch_lines(["torchdevlint: 3 simulated accelerators (cuda)"])
    run("--simulate-accelerators=1").stdout.fnmatch_lines(["torchdevlint: 1 simulated accelerator (cuda)"])


def test_the_kind_may_be_chosen(run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(
        """
        import torch

        def test_it(accelerator):
            assert accelerator == torch.device(KIND)
            assert torch.ones(2).to(accelerator).device == torch.device(KIND, 0)
            assert not torch.cuda.is_available()
        """.replace("KIND", "'xpu'")
    )
    result = run("--simulate-accelerators=2", "--simulate-kind=xpu")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["torchdevlint: 2 simulated accelerators (xpu)"])
    pytester.makeini("[pytest]\nsimulate_accelerators = 1\nsimulate_kind = xpu\n")
    run().assert_outcomes(passed=1)
    assert run("--simulate-kind=tpu").ret == pytest.ExitCode.USAGE_ERROR
    pytester.makeini("[pytest]\nsimulate_accelerators = 2\nsimulate_kind = mps\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "a machine cannot have 2 accelerators of the kind mps: 0 to 1" in result.stderr.str()


def test_the_simulated_backend(run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(test_it=SIMULATED)
    result = run("--simulate-accelerators=2", "-W", "error", own=True)
    result.assert_outcomes(passed=2, skipped=1, failed=1)
    text = result.stdout.str()
    assert ">       a + b" in text
    assert "torchdevlint/runtime" not in text
    assert "device error[TDL004] mixed-device-operands: RuntimeError" in text


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("many", "is not a number: many"),
        ("-1", "a machine cannot have -1 accelerators of the kind cuda: 0 to 64"),
        ("65", "a machine cannot have 65 accelerators of the kind cuda: 0 to 64"),
    ],
)
def test_a_number_that_is_none_is_refused(run, pytester: pytest.Pytester, number: str, told: str) -> None:
    assert run(f"--simulate-accelerators={number}").ret == pytest.ExitCode.USAGE_ERROR
    pytester.makeini(f"[pytest]\nsimulate_accelerators = {number}\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()


def test_what_needs_more_accelerators_is_skipped_with_the_reason(run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=NEEDY)
    pytester.makeconftest(ANSWERS)
    result = run("--strict-markers")
    result.assert_outcomes(passed=3, skipped=1)
    reason = "needs 9 accelerators, and there is only 2 here; --simulate-accelerators=9 simulates what is missing"
    result.stdout.fnmatch_lines([f"SKIPPED [[]1[]] test_it.py:*: {reason}"])


def test_without_any_everything_that_needs_one_is_skipped(run, pytester: pytest.Pytester) -> None:
    import torch

    if hasattr(torch, "accelerator") and torch.accelerator.is_available():
        pytest.skip("there is one here")
    pytester.makepyfile(test_it=NEEDY)
    result = run()
    result.assert_outcomes(passed=1, skipped=3)
    assert "needs an accelerator, and there is none here" in result.stdout.str()


def test_unused_it_costs_nothing(run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_it():\n    assert 'torch' not in sys.modules\n"
        "    assert not any(name.startswith('torchdevlint.runtime') for name in sys.modules)\n"
    )
    (pytester.path / "sitecustomize.py").write_text("")  # not the stand-in, which needs our runtime
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(pytester.path), str(ROOT))))
    run(own=True).assert_outcomes(passed=1)


def test_the_entry_point_is_the_plugin() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ntorchdevlint = "torchdevlint.integrations.pytest"' in text
    plugin = EntryPoint("torchdevlint", "torchdevlint.integrations.pytest", "pytest11").load()
    assert hasattr(plugin, "pytest_addoption")
