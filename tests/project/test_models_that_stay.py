"""A model that one file makes and nobody moves: code of another file calls it with what was moved (TDL004)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.test_across_files import Files


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files(tmp_path)


AUTOENCODER = """
    from torch import nn

    class Coder(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(size, 3), nn.ReLU(), nn.Linear(3, size))

        def forward(self, x):
            return self.layers(x)
    """
ENGINE = """
    import torch
    from torch.nn import functional as F

    def epoch(model, loader, optimizer, device):
        model.train()
        for x, y in loader:
            x = x.to(device)
            loss = F.mse_loss(model(x), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def step(model, x):
        return model(x)
    """
LEAD = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    import engine
    from coder import Coder
    from engine import step

    def main():
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        loader = DataLoader(TensorDataset(torch.zeros(8, 4), torch.zeros(8, 4)), batch_size=4)
        model = Coder(4)
        optimizer = torch.optim.Adam(model.parameters())
        engine.epoch(model, loader, optimizer, device)
        for x, _ in loader:
            print(step(model, x.to(device)))
        torch.save(model.state_dict(), "coder.pt")

    if __name__ == "__main__":
        main()
    """


def test_a_model_that_stays_is_called_by_another_file_with_what_was_moved(project: Files) -> None:
    """It does not matter which of the files has moved the batch: only this one knows that the model stays."""
    found = project.lint({"coder.py": AUTOENCODER, "engine.py": ENGINE, "main.py": LEAD})
    assert not found["engine.py"]
    (one,) = found["main.py"]
    assert (one.code, one.span.row) == ("TDL004", 12)
    assert "leads to `model()` in another file, where `model` is on the CPU" in one.message
    assert [each.span.row for each in one.related if "made here" in each.message] == [10]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("main.py", "Coder(4)", "Coder(4).to(device)"),
        ("main.py", "optimizer = torch", "model.to(device)\n        optimizer = torch"),
        ("main.py", "optimizer = torch", "engine.place(model, device)\n        optimizer = torch"),
        ("coder.py", "nn.Linear(3, size))", "nn.Linear(3, size)).cuda()"),
    ],
)
def test_a_model_that_is_moved_or_may_be_is_called_by_another_file(
    project: Files, file: str, old: str, new: str
) -> None:
    files = {
        "coder.py": AUTOENCODER,
        "engine.py": ENGINE + "\n    def place(model, to):\n        model.to(to)",
        "main.py": LEAD,
    }
    assert project({**files, file: files[file].replace(old, new)})["main.py"] == set()


def test_a_model_that_the_other_file_moves(project: Files) -> None:
    moves = ENGINE.replace("model.train()", "model.to(device).train()")
    assert project({"coder.py": AUTOENCODER, "engine.py": moves, "main.py": LEAD})["main.py"] == set()


TRAINER = """
    import torch
    from torch.nn import functional as F

    class Trainer:
        def __init__(self, model, loader, device):
            self.model = model
            self.loader = loader
            self.device = device
            self.optimizer = torch.optim.Adam(model.parameters())

        def fit(self):
            self.model.train()
            for x, y in self.loader:
                x, y = x.to(self.device), y.to(self.device)
                loss = F.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
    """
TRAINED = """
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from coder import Coder
    from trainer import Trainer

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(torch.zeros(8, 4), torch.zeros(8, 4)), batch_size=4)
    model = Coder(4)
    trainer = Trainer(model, loader, device)
    trainer.fit()
    """


def test_a_model_that_stays_is_kept_by_an_object_that_moves_the_batches(project: Files) -> None:
    found = project.lint({"coder.py": AUTOENCODER, "trainer.py": TRAINER, "main.py": TRAINED})
    assert not found["trainer.py"]
    (one,) = found["main.py"]
    assert (one.code, one.span.row) == ("TDL004", 10)
    assert [each.span.row for each in one.related if "made here" in each.message] == [8]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("main.py", "trainer.fit()", "model.to(device)\n    trainer.fit()"),
        ("main.py", "trainer.fit()", "trainer.model.to(device)\n    trainer.fit()"),
        ("main.py", "Trainer(model,", "Trainer(model.to(device),"),
        ("trainer.py", "self.model.train()", "self.model.to(self.device).train()"),
        ("trainer.py", "self.model = model", "self.model = model.to(device)"),
        ("trainer.py", "self.device = device", "self.device = next(model.parameters()).device"),
        ("trainer.py", "self.loader = loader", "self.loader = loader\n            model.to(device)"),
        ("trainer.py", "x, y = x.to(self.device), y.to(self.device)", "pass"),
    ],
)
def test_a_model_that_somebody_moves_is_kept_by_an_object(project: Files, file: str, old: str, new: str) -> None:
    files = {"coder.py": AUTOENCODER, "trainer.py": TRAINER, "main.py": TRAINED}
    assert old in files[file]
    assert project({**files, file: files[file].replace(old, new)}) == {each: set() for each in files}
