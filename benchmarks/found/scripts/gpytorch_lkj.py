"""An LKJ prior whose eta is a tensor, moved to a GPU as part of a model."""

import sys

import torch
from gpytorch.priors import LKJCholeskyFactorPrior

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
prior = LKJCholeskyFactorPrior(2, torch.tensor(0.5)).to(device)
print(prior.log_prob(torch.linalg.cholesky(torch.tensor([[1.0, 0.2], [0.2, 1.0]], device=device))))
