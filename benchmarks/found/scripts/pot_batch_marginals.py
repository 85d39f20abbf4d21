"""A batch of transport plans in the log domain, with costs on a GPU and uniform marginals."""

import sys

import torch
from ot.batch import bregman_log_projection_batch

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(bregman_log_projection_batch(-torch.rand(2, 3, 3, device=device))["T"].shape)
