"""A DataLoader with workers and pinned memory; batches are moved without blocking."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    """Gives CPU tensors: a worker must not touch the GPU."""

    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        x = torch.tensor([index / 96, 1.0])
        return {"x": x, "y": x[:1] ** 2}


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pinned = device.type == "cuda"
    loader = DataLoader(Squares(), batch_size=16, shuffle=True, num_workers=2, pin_memory=pinned)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    epochs = []
    for _ in range(6):
        losses = []
        for batch in loader:
            assert batch["x"].device.type == "cpu"
            assert batch["x"].is_pinned() == pinned
            batch = {name: value.to(device, non_blocking=True) for name, value in batch.items()}
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(batch["x"]), batch["y"])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        epochs.append(torch.stack(losses).mean().item())
    assert next(model.parameters()).device.type == device.type
    assert batch["y"].device.type == device.type
    assert epochs[-1] < epochs[0] / 2, epochs
    print(f"loader with pin_memory={pinned} on {device}: loss {epochs[0]:.4f} -> {epochs[-1]:.4f}")
