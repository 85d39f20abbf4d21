"""The states of a hidden Markov model given observations, all on a GPU."""

import sys

import torch
from pyro.contrib.mue.missingdatahmm import MissingDataDiscreteHMM

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
model = MissingDataDiscreteHMM(
    torch.zeros(2, device=device), torch.zeros(2, 2, device=device), torch.zeros(2, 3, device=device)
)
print(model.filter(torch.eye(3, device=device)).shape)
