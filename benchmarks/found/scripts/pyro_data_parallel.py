"""A kernel of a Gaussian process on two GPUs, by DataParallel."""

import sys

import torch
from pyro.contrib.gp.kernels import Periodic

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
kernel = Periodic(input_dim=2).to(device)
replicated = torch.nn.DataParallel(kernel, None if device.type == "cpu" else [0, 1])
print(replicated(torch.rand(8, 2, device=device)).shape)
