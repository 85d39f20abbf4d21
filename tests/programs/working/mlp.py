"""A classifier on one GPU: the model, the data and the targets on one device, the results back on the CPU for numpy."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

points = torch.randn(256, 2)
classes = (points[:, 0] * points[:, 1] > 0).long()
batches = list(zip(points.split(64), classes.split(64), strict=True))

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
assert model.to(device) is model, "a module is moved in place"
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()

losses = []
for _epoch in range(15):
    total = 0.0
    for x, y in batches:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    losses.append(total / len(points))

model.eval()
with torch.no_grad():
    predicted = model(points.to(device)).argmax(dim=1)
assert predicted.device.type == device.type
confusion = np.zeros((2, 2), dtype=int)
np.add.at(confusion, (classes.numpy(), predicted.cpu().numpy()), 1)

assert next(model.parameters()).device.type == device.type
assert all(state["exp_avg"].device.type == device.type for state in optimizer.state.values())
assert points.device.type == "cpu", "a tensor is not moved in place"
assert losses[-1] < losses[0] / 2, losses
print(f"mlp on {device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}, {np.trace(confusion)} of {len(points)} right")
