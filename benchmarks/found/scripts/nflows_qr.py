"""A linear flow by QR decomposition on a GPU, inverted with its cache."""

import sys

import torch
from nflows.transforms import QRLinear

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
flow = QRLinear(4, num_householder=2, using_cache=True).to(device).eval()
print(flow.inverse(torch.rand(3, 4, device=device))[0].shape)
