"""The covariance of the posterior of a linear regression on a GPU."""

import sys

import torch
from pyro.contrib.oed.glmm import analytic_posterior_cov

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
prior = torch.rand(2, 2, device=device)
design = torch.rand(5, 2, device=device)
print(analytic_posterior_cov(prior @ prior.mT, design, torch.tensor(1.0, device=device)).shape)
