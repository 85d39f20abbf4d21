from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integrations.lsp.editor import ADVICE, PULLED, Editor, running


@pytest.fixture(scope="package")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor that shows what it is sent."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text(ADVICE)
    with running(folder) as one:
        assert one.result.capabilities.position_encoding == "utf-16"
        yield one


@pytest.fixture(scope="package")
def puller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor that asks."""
    folder = tmp_path_factory.mktemp("pulled")
    (folder / "pyproject.toml").write_text(ADVICE)
    with running(folder, PULLED, {"fixOnSave": True}) as one:
        yield one
