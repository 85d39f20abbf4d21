"""A Bayesian linear layer without a bias, moved to a GPU and frozen for inference."""

import sys

import torch
from blitz.modules import BayesianLinear

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
layer = BayesianLinear(4, 3, bias=False).to(device)
layer.freeze = True
print(layer(torch.rand(2, 4, device=device)).shape)
