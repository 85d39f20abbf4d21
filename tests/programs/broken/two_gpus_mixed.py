"""The halves of a model are on two GPUs, and the activations are not moved between them."""

# rule: none: the linter does not follow numbered devices that depend on a count
# accelerators: 2
import torch
from torch import nn

torch.manual_seed(0)
gpus = torch.cuda.device_count()
first = torch.device("cuda:0" if gpus else "cpu")
second = torch.device("cuda:1" if gpus else "cpu")
lower, upper = nn.Linear(3, 4).to(first), nn.Linear(4, 1).to(second)
hidden = lower(torch.randn(5, 3, device=first))
shift = torch.ones(4, device=second)
out = upper(hidden + shift)  # dies here: "found at least two devices, cuda:0 and cuda:1!"
print(out.shape)
