"""One GPU chosen by `CUDA_VISIBLE_DEVICES` before the first use of CUDA; it is then number 0."""

import os

import torch
from torch import nn

os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # late, but early enough: `import torch` reads nothing
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")  # does not override
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

assert torch.cuda.device_count() <= 1
torch.manual_seed(0)
model = nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4, device=device)
losses = []
for _ in range(30):
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
refused = ""
if device.type == "cuda":
    try:
        torch.zeros(1, device="cuda:1")
    except RuntimeError as error:
        refused = str(error)
assert ("invalid device ordinal" in refused) == (device.type == "cuda"), refused
assert next(model.parameters()).device.type == device.type
assert losses[-1] < losses[0] / 4
print(f"one visible device, {device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
