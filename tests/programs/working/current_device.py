"""Two ways to say on which GPU: `torch.cuda.device(..)` and `set_device`; and the default device of factories."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
gpus = torch.cuda.device_count()
last = torch.device("cuda", gpus - 1) if gpus else torch.device("cpu")

if gpus:
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(gpus - 1):
        assert torch.cuda.current_device() == gpus - 1
        assert torch.zeros(2).cuda().device == last
        assert torch.zeros(2, device="cuda").device == last
        assert torch.zeros(2, device="cuda:0").device == torch.device("cuda:0")
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device(gpus - 1)
    assert torch.ones(2, device="cuda").get_device() == gpus - 1
    torch.cuda.set_device(0)

with torch.device(last):
    model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    grid = torch.linspace(-1, 1, 30).reshape(10, 3)
assert {parameter.device for parameter in model.parameters()} == {last}
assert grid.device == last
assert torch.zeros(1).device.type == "cpu"

torch.set_default_device(last)
x = torch.rand(64, 3)
data = TensorDataset(x, x.sum(1, keepdim=True))
loader = DataLoader(data, batch_size=16, shuffle=True, generator=torch.Generator(device=last))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _ in range(10):
    for one, two in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(one), two)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert x.device == last
assert torch.from_numpy(x.cpu().numpy()).device.type == "cpu"
torch.set_default_device(None)
assert losses[-1] < losses[0] / 2, losses
print(f"current and default device, {last}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
