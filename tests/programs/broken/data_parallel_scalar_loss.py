"""A loss from a DataParallel forward is a vector, with one number for each GPU."""

# rule: TDL403
# accelerators: 2
import torch
from torch import nn


class WithLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).pow(2).mean()


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.DataParallel(WithLoss().to(device))
loss = model(torch.randn(8, 3).to(device))
loss.backward()  # dies here: "grad can be implicitly created only for scalar outputs"
print("one loss")
