"""Samples of a flow with a uniform base distribution, moved to a GPU."""

import sys

import torch
from normflows import NormalizingFlow
from normflows.distributions.base import Uniform
from normflows.flows import AffineConstFlow

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
samples, log_density = NormalizingFlow(Uniform(2), [AffineConstFlow(2)]).to(device).sample(3)
print(samples.shape)
