"""Training with `DataParallel` where there are several GPUs; checkpoints with and without the prefix `module.`."""

import io

import torch
from torch import nn
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present


class Regression(nn.Module):
    """Gives its own loss, as many models do: DataParallel then returns one number for each GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.seen: list[tuple[str, int]] = []

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.seen.append((str(x.device), len(x)))  # the list is shared by the replicas, a new attribute would be lost
        self.lost = True
        return nn.functional.mse_loss(self.layers(x).squeeze(1), y)


torch.manual_seed(0)
gpus = torch.cuda.device_count()
device = torch.device("cuda:0" if gpus else "cpu")
model = Regression().to(device)
wrapped = nn.DataParallel(model)
optimizer = torch.optim.Adam(wrapped.parameters(), lr=0.02)

x = torch.rand(64, 3)
y = x.sum(1)
losses = []
for _ in range(40):
    optimizer.zero_grad()
    loss = wrapped(x, y).mean()  # inputs may stay on the CPU: they are scattered
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

if gpus > 1:
    assert {place for place, _ in model.seen} == {f"cuda:{number}" for number in range(gpus)}
    assert sum(length for _, length in model.seen[:gpus]) == len(x)
    assert not hasattr(model, "lost"), "what a replica sets on itself is gone after forward"
    assert wrapped(x, y).shape == (gpus,)
assert next(wrapped.parameters()).device == device
assert losses[-1] < losses[0] / 4, losses

plain, prefixed = io.BytesIO(), io.BytesIO()
torch.save(wrapped.module.state_dict(), plain)
torch.save(wrapped.state_dict(), prefixed)
plain.seek(0)
prefixed.seek(0)

fresh = Regression()
fresh.load_state_dict(torch.load(plain, map_location="cpu"))
with_prefix = torch.load(prefixed, map_location=device)
assert all(name.startswith("module.") for name in with_prefix)
assert all(value.device == device for value in with_prefix.values())
other = nn.DataParallel(Regression().to(device))
other.load_state_dict(with_prefix)
consume_prefix_in_state_dict_if_present(with_prefix, "module.")
again = Regression()
again.load_state_dict(with_prefix)
expected = wrapped(x, y).mean().item()
for loaded in (fresh.to(device), again.to(device), other.module):
    assert abs(loaded(x.to(device), y.to(device)).item() - expected) < 1e-4
print(f"data parallel on {gpus} GPUs: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
