"""The part of the pytest plugin that looks on: device errors that fail a test are recorded, and told beside it.

`torchdevlint run -- pytest` loads only this, through ``PYTEST_PLUGINS``: the report is then that of `run`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

TITLE = "torchdevlint: device error"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    recording = sys.modules.get("torchdevlint.runtime.record.recorder")
    if recording is not None and call.excinfo is not None:
        recording.cut(call.excinfo.value)
    recorder = None if recording is None else recording.active()
    if recorder is not None:
        recorder.tests = True
    report = yield
    if recording is None or not report.failed or call.excinfo is None:
        return report
    story = None if recorder is None else recorder.uncaught(call.excinfo.value, f"the test {item.nodeid}")
    if story is not None and not os.environ.get("TORCHDEVLINT_RECORD"):
        report.sections.append((TITLE, _told(story)))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    failed = [one for key in ("failed", "error") for one in terminalreporter.stats.get(key, ())]
    hit = sorted({one.nodeid for one in failed if any(title == TITLE for title, _ in getattr(one, "sections", ()))})
    if hit:
        tests = "1 test failed" if len(hit) == 1 else f"{len(hit)} tests failed"
        terminalreporter.write_sep("-", f"torchdevlint: {tests} with a device error", red=True)


def _told(story: dict[str, Any]) -> str:
    from torchdevlint.runtime.tell.account import error_of
    from torchdevlint.runtime.tell.report import Paper, error_lines

    return "\n".join(error_lines(error_of({**story, "where": ""}), Paper()))
