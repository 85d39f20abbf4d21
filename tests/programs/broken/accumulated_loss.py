"""A scalar on the CPU takes a GPU loss in place: as an input it would be allowed, as an output it is not."""

# rule: TDL008
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 1).to(device)
allowed = torch.tensor(0.0)
total = torch.tensor(0.0)
for _ in range(3):
    loss = model(torch.randn(5, 3, device=device)).pow(2).mean().detach()
    allowed = allowed + loss
    total += loss  # dies here: "Expected all tensors to be on the same device"
print(f"mean loss {total / 3:.3f}, {allowed / 3:.3f}")
