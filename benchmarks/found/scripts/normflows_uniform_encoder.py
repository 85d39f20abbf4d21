"""Samples of normflows' uniform encoder on a GPU, and their logarithms with those of another distribution."""

import sys

import torch
from normflows.distributions.encoder import Uniform

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
samples, log_density = Uniform().to(device)(torch.rand(3, 2, device=device))
print(log_density + samples.sum(-1))
