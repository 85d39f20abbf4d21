"""MarginalCRF.forward without a mask, which is optional."""

import sys

import torch
from pytorch_partial_crf import MarginalCRF

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
crf = MarginalCRF(num_tags=3).to(device)
emissions = torch.rand(2, 4, 3, device=device)
marginal_tags = torch.rand(2, 4, 3, device=device)
print(crf(emissions, marginal_tags))
