"""Layers in a Python list are no part of the module: `.to` does not reach them."""

# rule: TDL102
import torch
from torch import nn


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.rest = [nn.Linear(8, 8) for _ in range(2)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        for layer in self.rest:
            x = torch.relu(layer(x))  # dies here: "Expected all tensors to be on the same device"
        return x


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Deep().to(device)
assert model(torch.randn(3, 4, device=device)).shape == (3, 8)
print("layers in a list")
