"""Of the two states of an LSTM, only one is made on the device of the input."""

# rule: TDL003
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 8)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        hidden = torch.zeros(1, text.shape[1], 8, device=text.device)
        cell = torch.zeros(1, text.shape[1], 8)
        _, (last, _) = self.lstm(self.embed(text), (hidden, cell))  # dies here: "Input and hidden tensors are not at"
        return last


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Reader().to(device)
assert model(torch.randint(0, 20, (5, 3)).to(device)).shape == (1, 3, 8)
print("a cell state on the CPU")
