"""Save on the device, load on the CPU, go on with the optimizer's state: as if there had been no pause."""

import tempfile
from pathlib import Path

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
x = torch.randn(32, 4, device=device)
y = x.pow(2).sum(dim=1, keepdim=True)


def build() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "last.pt"
    model, optimizer = build()
    before = train(model, optimizer, 20)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "sample": x[:2], "step": 20}, path)
    without_pause = train(model, optimizer, 20)

    on_cpu = torch.load(path, map_location="cpu")
    where_it_was = torch.load(path)
    by_table = torch.load(path, map_location={"cuda:0": "cpu"})

assert {value.device.type for value in on_cpu["model"].values()} == {"cpu"}
assert {value.device for value in where_it_was["model"].values()} == {x.device}
assert by_table["sample"].device.type == "cpu"

resumed, optimizer = build()
resumed.load_state_dict(on_cpu["model"])
optimizer.load_state_dict(on_cpu["optimizer"])
for state in optimizer.state.values():
    assert state["exp_avg"].device == x.device, "the state follows the parameters"
    assert state["step"].device.type == "cpu", "but for the count of steps"
after = train(resumed, optimizer, 20)

assert next(resumed.parameters()).device.type == device.type
assert all(abs(one - two) < 1e-4 for one, two in zip(after, without_pause, strict=True)), (after, without_pause)
assert after[-1] < before[0] * 0.8, (before[0], after[-1])
print(f"checkpoint on {device}: loss {before[0]:.3f} -> {after[-1]:.3f} over a pause")
