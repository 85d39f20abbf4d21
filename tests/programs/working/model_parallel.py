"""One model over two GPUs: the activations are moved between the halves."""

import torch
from torch import nn

gpus = torch.cuda.device_count()
first = torch.device("cuda:0" if gpus else "cpu")
second = torch.device(f"cuda:{gpus - 1}" if gpus else "cpu")


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lower = nn.Sequential(nn.Linear(4, 16), nn.ReLU()).to(first)
        self.upper = nn.Linear(16, 1).to(second)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.upper(self.lower(x.to(first)).to(second))


torch.manual_seed(0)
model = Halves()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
x = torch.randn(64, 4)
y = x.abs().sum(1, keepdim=True).to(second)
losses = []
for _ in range(60):
    optimizer.zero_grad()
    out = model(x)
    loss = nn.functional.mse_loss(out, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
if gpus:
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated(first) > 0
assert out.device == second
assert model.lower[0].weight.grad.device == first
assert losses[-1] < losses[0] / 4, losses
print(f"model parallel on {first} and {second}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
