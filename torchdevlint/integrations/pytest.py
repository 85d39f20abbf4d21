"""The pytest plugin: tests on simulated accelerators, and tests that need accelerators.

``pytest --simulate-accelerators=2`` runs a test suite as if two were there. Unless that, the marker ``accelerator`` or
the fixture of that name is used, nothing is done, and torch is not imported.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest

from torchdevlint.integrations import pytest_watch

OPTION, INI = "--simulate-accelerators", "simulate_accelerators"
KIND_OPTION, KIND_INI = "--simulate-kind", "simulate_kind"
MARKER = "accelerator(count=1): needs so many accelerators, real or simulated ones; is skipped where there are fewer"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchdevlint")
    group.addoption(
        OPTION,
        dest=INI,
        type=int,
        default=None,
        metavar="N",
        help="run the tests as if the machine had N accelerators (0: none); needs torch",
    )
    group.addoption(
        KIND_OPTION,
        dest=KIND_INI,
        default=None,
        metavar="TYPE",
        help=f"what {OPTION} simulates: cuda, xpu or mps (default: cuda)",
    )
    parser.addini(INI, f"the same as {OPTION}, unless that is given", default="")
    parser.addini(KIND_INI, f"the same as {KIND_OPTION}, unless that is given", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first conftest is imported, which may ask torch what there is."""
    wanted = _wanted(early_config)
    if wanted is not None:
        _simulate(*wanted)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if _wanted(config) is not None and not config.pluginmanager.is_registered(pytest_watch):
        config.pluginmanager.register(pytest_watch, "torchdevlint-watch")


def pytest_report_header(config: pytest.Config) -> str | None:
    wanted = _wanted(config)
    if wanted is None:
        return None
    count, kind = wanted
    return f"torchdevlint: {count} simulated accelerator{'' if count == 1 else 's'} ({kind})"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    needed = max((_needed(marker) for marker in item.iter_markers("accelerator")), default=0)
    if needed:
        _skip_below(needed, at_item=True)


@pytest.fixture
def accelerator() -> Any:
    """The accelerator as a `torch.device`, such as ``cuda``. The test is skipped where there is none."""
    _skip_below(1)
    from torchdevlint.runtime.start.presence import accelerators

    return accelerators()[0]


def _skip_below(needed: int, at_item: bool = False) -> None:
    there = _there()
    if there < needed:
        number = "an accelerator" if needed == 1 else f"{needed} accelerators"
        found = "none" if there == 0 else f"only {there}"
        reason = f"needs {number}, and there is {found} here; {OPTION}={needed} simulates what is missing"
        raise pytest.skip.Exception(reason, _use_item_location=at_item)


def _there() -> int:
    if find_spec("torch") is None:
        return 0
    from torchdevlint.runtime.start.presence import accelerators

    return accelerators()[1]


def _needed(marker: pytest.Mark) -> int:
    """How many a marker of ours asks for; 0 for one that a project has given another meaning."""
    if marker.args or set(marker.kwargs) - {"count"}:
        return 0
    count = marker.kwargs.get("count", 1)
    return count if isinstance(count, int) else 0


def _wanted(config: pytest.Config) -> tuple[int, str] | None:
    """How many accelerators of which kind to simulate; None if nothing was asked for."""
    given: int | None = getattr(config.known_args_namespace, INI, None)
    text = str(config.getini(INI)).strip()
    if given is None and not text:
        return None
    from torchdevlint.runtime.kinds import refusal

    kind = getattr(config.known_args_namespace, KIND_INI, None) or str(config.getini(KIND_INI)).strip() or "cuda"
    try:
        count = int(text) if given is None else given
    except ValueError:
        raise pytest.UsageError(f"{INI} in the configuration is not a number: {text}") from None
    refused = refusal(kind, count)
    if refused is not None:
        raise pytest.UsageError(refused)
    return count, kind


@cache
def _simulate(count: int, kind: str) -> None:
    if find_spec("torch") is None:
        raise pytest.UsageError(f'{OPTION} needs torch: pip install "torchdevlint[verify]"')
    from torchdevlint.runtime.record import recorder
    from torchdevlint.runtime.start import boot

    if recorder.active() is not None:
        return  # under `torchdevlint run`, which has said how many there are
    one = recorder.Recorder(backend="simulated", accelerators=count, kind=kind)
    recorder.start(one)
    boot.simulate(count, kind)
