"""A batch of words reaches an embedding on the GPU without having been moved."""

# rule: TDL004
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Bag(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        seen = self.embed(words)  # dies here: "Expected all tensors to be on the same device"
        return self.out(seen.mean(dim=1))


model = Bag().to(device)
for batch in torch.randint(0, 12, (6, 5)).split(3):
    assert model(batch).shape == (3, 2)
print("words on the CPU")
