"""AdditiveGenerator, a Module with one Parameter, after .to(device)."""

import sys

import torch
from torchnorms.tnorms.additive_generator import AdditiveGenerator

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
norm = AdditiveGenerator(vec_size=4).to(device)
print(norm(torch.rand(4, device=device), torch.rand(4, device=device)))
