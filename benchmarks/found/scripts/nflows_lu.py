"""A linear flow by LU decomposition on a GPU, inverted with its cache."""

import sys

import torch
from nflows.transforms import LULinear

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
flow = LULinear(4, using_cache=True).to(device).eval()
print(flow.inverse(torch.rand(3, 4, device=device))[0].shape)
