"""Eigenvalues of symmetric 3x3 matrices on a GPU."""

import sys

import torch
from pyro.ops.linalg import eig_3d

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
matrix = torch.rand(2, 3, 3, device=device)
print(eig_3d(matrix + matrix.mT))
