"""A state that was made in `__init__` is on one GPU; the second replica is on another."""

# rule: none: one GPU is enough for it
# accelerators: 2
import torch
from torch import nn


class Biased(nn.Module):
    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.offset = torch.ones(2, device=device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.offset  # dies here: "Expected all tensors to be on the same device"


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.DataParallel(Biased(device).to(device))
out = model(torch.randn(8, 3).to(device))
assert out.shape == (8, 2)
print("an offset on one GPU")
