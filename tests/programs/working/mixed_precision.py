"""Autocast and GradScaler: float16 on a GPU, bfloat16 on the CPU."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
half = torch.float16 if device.type == "cuda" else torch.bfloat16
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda", init_scale=1024.0)
x = torch.randn(64, 8, device=device)
y = x[:, :2].prod(dim=1, keepdim=True)

losses = []
for _ in range(60):
    optimizer.zero_grad()
    with torch.autocast(device.type, dtype=half):
        out = model(x)
        assert out.dtype == half
        loss = nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())

assert scaler.is_enabled() == (device.type == "cuda")
assert next(model.parameters()).device.type == device.type
assert next(model.parameters()).dtype == torch.float32
assert losses[-1] < losses[0] / 2, losses
print(f"mixed precision on {device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
