"""The first hidden state is made in forward, on the CPU."""

# rule: TDL003
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.rnn = nn.RNN(5, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 2)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        start = torch.zeros(1, len(text), self.hidden)
        _, last = self.rnn(text, start)  # dies here: "Input and hidden tensors are not at the same device"
        return self.out(last.squeeze(0))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Classifier(8).to(device)
scores = model(torch.randn(3, 7, 5, device=device))
scores.sum().backward()
print("a hidden state on the CPU")
