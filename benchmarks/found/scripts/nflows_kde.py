"""The density of points on a GPU, estimated by samples."""

import sys

import torch
from nflows.utils.torchutils import gaussian_kde_log_eval

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(gaussian_kde_log_eval(torch.rand(5, 2, device=device), torch.rand(5, 2, device=device)).shape)
