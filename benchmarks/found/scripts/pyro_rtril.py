"""The lower triangle of a matrix on a GPU."""

import sys

import torch
from pyro.contrib.util import rtril

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(rtril(torch.rand(2, 3, 3, device=device)).shape)
