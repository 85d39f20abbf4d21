"""A table of positions kept as a plain attribute: `.to` does not reach it."""

# rule: TDL101
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 16)
        self.positions = torch.linspace(0, 1, 12).unsqueeze(1).repeat(1, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        x = self.embed(symbols)
        x = x + self.positions[: x.shape[1]]  # dies here: "Expected all tensors to be on the same device"
        return self.layer(x)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Encoder().to(device)
assert model(torch.randint(0, 10, (2, 5), device=device)).shape == (2, 5, 16)
print("positions in an attribute")
