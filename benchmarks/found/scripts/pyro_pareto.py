"""The tail of samples on a GPU as a generalised Pareto distribution."""

import sys

import torch
from pyro.ops.stats import fit_generalized_pareto

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(fit_generalized_pareto(torch.rand(100, device=device, dtype=torch.double)))
