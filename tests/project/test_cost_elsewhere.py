"""What a file of the project costs those that import it: the work is counted, so that no machine matters."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.state.machine import Frame
from torchdevlint.project import modules
from torchdevlint.project.uses import Project

from .test_across_files import Files

MAIN = """
    import torch
    from base import Base

    class Net(Base):
        def forward(self, x):
            return self.fc(x) + torch.zeros(3)
"""
SETS_DEVICES = (
    MAIN
    + """
    import os
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
"""
)
DECORATOR = "@names.kept\n        "
LOOPS = (
    """
    import torch
    from base import Trainer
    from torch.utils.data import DataLoader

    def train(model, data):
        trainer = Trainer()
"""
    + 5
    * """
        for batch in DataLoader(data):
            model(batch)
"""
)
TRAINER = """
    class Trainer:
        def fit(self, model):
            return model
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def base(decorator: str) -> str:
    methods = "".join(f"\n        {decorator}def m{place}(self):\n            return {place}\n" for place in range(20))
    start = "    import names\n    from torch import nn\n\n    class Base(nn.Module):\n"
    return f"{start}        def __init__(self):\n            self.fc = nn.Linear(3, 3)\n{methods}"


def evaluated(files: Files, monkeypatch: pytest.MonkeyPatch, main: str, decorator: str) -> int:
    """How many expressions are evaluated for `main` alone, where methods of the base have a decorator or none."""
    files({"base.py": base(decorator)})
    count, evaluate = [0], Frame.evaluate

    def counted(frame: Frame, node: ast.expr, state: Any) -> Any:
        count[0] += 1
        return evaluate(frame, node, state)

    with monkeypatch.context() as patched:
        patched.setattr(Frame, "evaluate", counted)
        assert files({"main.py": main})["main.py"]
    return count[0]


def test_decorators_of_another_file_cost_nothing(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = evaluated(files, monkeypatch, MAIN, "")
    assert evaluated(files, monkeypatch, MAIN, DECORATOR) == plain


def test_they_are_looked_at_where_a_touch_of_cuda_matters(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = evaluated(files, monkeypatch, SETS_DEVICES, "")
    assert evaluated(files, monkeypatch, SETS_DEVICES, DECORATOR) >= plain + 20


def test_words_of_another_file_are_split_once(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    class Counted:
        @staticmethod
        def findall(text: str) -> list[str]:
            texts.append(text)
            return text.split()

    monkeypatch.setattr(modules, "_WORD", Counted)
    files({"base.py": TRAINER, "main.py": LOOPS})
    assert len(texts) == 1
    assert "class Trainer" in texts[0]


def test_ways_are_looked_for_once_for_the_same_names(files: Files) -> None:
    files({"pair.py": "def f(): ...\ndef g(): ...\n", "main.py": "from pair import f\n\nf()\n"})
    project = Project(str(files.root / "pair.py"), modules.Library())
    module = project.library.get(project.path)
    assert module is not None
    callers = Callers(module.tree, project, lambda *given: {})
    to_f, to_g = callers.ways_to(frozenset("f")), callers.ways_to(frozenset("g"))
    assert callers.ways_to(frozenset("f")) is to_f
    assert [Path(each.file.path).name for each in to_f] == ["pair.py", "main.py"]
    assert [Path(each.file.path).name for each in to_g] == ["pair.py"]


def test_a_text_is_searched_once_for_the_same_words() -> None:
    text = modules.ModuleText("main.py", b"import argparse")
    searched: list[str] = []

    class Counted:
        def __init__(self, word: str) -> None:
            self.word = word

        def is_in(self, given: str) -> bool:
            searched.append(self.word)
            return self.word in given

    started, distributed = Counted("argparse"), Counted("torchrun")
    assert [text.says(each) for each in (started, started, distributed, distributed)] == [True, True, False, False]  # type: ignore[arg-type]
    assert searched == ["argparse", "torchrun"]
