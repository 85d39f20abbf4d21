"""Demographic parity of predictions and groups on a GPU."""

import sys

import torch
from torchmetrics.functional.classification import demographic_parity

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(demographic_parity(torch.rand(6, device=device), torch.tensor([0, 1, 0, 1, 0, 1], device=device)))
