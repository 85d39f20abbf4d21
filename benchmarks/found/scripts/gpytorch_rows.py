"""Some points of a multitask distribution, chosen by indices, all on a GPU."""

import sys

import torch
from gpytorch.distributions import MultitaskMultivariateNormal

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
normal = MultitaskMultivariateNormal(torch.zeros(4, 2, device=device), torch.eye(8, device=device))
print(normal[torch.tensor([0, 2], device=device), :])
