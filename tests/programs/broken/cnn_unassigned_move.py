"""The result of a move is thrown away: the images stay where they were."""

# rule: TDL001
import torch
import torch.nn.functional as F
from torch import nn


class SmallNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.head = nn.Linear(4, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        maps = self.conv(images)  # dies here: "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor)"
        return self.head(F.adaptive_avg_pool2d(maps, 1).flatten(1))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = SmallNet().to(device)
images = torch.randn(4, 1, 8, 8)
images.to(device)
assert model(images).shape == (4, 2)
print("the move had no effect, and none was needed")
