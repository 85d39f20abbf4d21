"""A sigmoid as a transform of a flow, moved to a GPU."""

import sys

import torch
from nflows.transforms import Sigmoid

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
outputs, logabsdet = Sigmoid().to(device)(torch.rand(3, 2, device=device))
print(outputs.shape, logabsdet.shape)
