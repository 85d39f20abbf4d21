"""The density of coalescent times of samples, all on a GPU."""

import sys

import torch
from pyro.distributions import CoalescentTimes

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
times = CoalescentTimes(torch.tensor([0.0, 0.0, 1.0], device=device))
print(times.log_prob(torch.tensor([-1.0, -0.5], device=device)))
