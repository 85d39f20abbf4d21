"""A batch of vectors on a GPU as diagonal matrices."""

import sys

import torch
from pyro.contrib.util import rdiag

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(rdiag(torch.rand(2, 3, device=device)).shape)
