"""The gradient of the log-probability of a Gaussian scale mixture."""

import sys

import torch
from pyro.distributions import GaussianScaleMixture

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
scale = torch.rand(2, device=device, requires_grad=True)
mixture = GaussianScaleMixture(scale, torch.zeros(3, device=device), torch.rand(3, device=device))
print(mixture.rsample((2,)).sum().backward())
