"""A flow of linear splines on a GPU, inverted: samples are drawn so."""

import sys

import torch
from nflows.transforms import PiecewiseLinearCDF

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
flow = PiecewiseLinearCDF(shape=[4]).to(device)
print(flow.inverse(torch.rand(3, 4, device=device))[0].shape)
