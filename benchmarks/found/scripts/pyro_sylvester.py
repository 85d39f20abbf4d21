"""A flow with pyro's Sylvester transform, moved to a GPU."""

import sys

import torch
from pyro.distributions.transforms import Sylvester

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
flow = Sylvester(4, count_transforms=2).to(device)
print(flow(torch.rand(3, 4, device=device)).shape)
