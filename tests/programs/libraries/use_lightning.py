"""Lightning: a Trainer that takes one GPU if there is one, with validation, a checkpoint and a prediction."""

# library: lightning
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", message=".*does not have many workers")


class Classifier(L.LightningModule):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 2))
        self.losses: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        x, y = batch
        assert x.device == self.device
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("loss", loss)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        x, y = batch
        scale = torch.ones(2, device=self.device)
        self.log("right", ((self(x) * scale).argmax(1) == y).float().mean(), prog_bar=True)

    def predict_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        assert batch[0].device == self.device
        return self(batch[0]).argmax(1)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.05)


L.seed_everything(0, verbose=False)
x = torch.randn(128, 2)
data = TensorDataset(x, (x[:, 0] > x[:, 1]).long())
expected = "cuda" if torch.cuda.is_available() else "cpu"
with tempfile.TemporaryDirectory() as folder:
    keep = ModelCheckpoint(folder, monitor="right", mode="max")
    trainer = L.Trainer(
        accelerator="auto",
        devices=1,
        max_epochs=4,
        logger=False,
        callbacks=[keep],
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Classifier()
    trainer.fit(model, DataLoader(data, batch_size=32, shuffle=True), DataLoader(data, batch_size=64))
    assert trainer.strategy.root_device.type == expected
    best = Classifier.load_from_checkpoint(keep.best_model_path, map_location="cpu")
    assert best.device.type == "cpu"
    found = torch.cat(trainer.predict(best, DataLoader(data, batch_size=64)))
assert found.shape == (128,)
assert keep.best_model_score.item() > 0.8
assert model.losses[-1] < model.losses[0], model.losses
print(f"lightning on {trainer.strategy.root_device}: loss {model.losses[0]:.3f} -> {model.losses[-1]:.3f}")
