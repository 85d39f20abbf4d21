"""Weights of the sixteen integers around real numbers on a GPU."""

import sys

import torch
from pyro.contrib.epidemiology.util import compute_bin_probs

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(compute_bin_probs(torch.rand(3, device=device), num_quant_bins=16).shape)
