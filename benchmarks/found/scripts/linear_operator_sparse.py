"""A permutation of rows on a GPU as a sparse matrix."""

import sys

import torch
from linear_operator.operators import PermutationLinearOperator

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(PermutationLinearOperator(torch.tensor([1, 0, 2], device=device)).to_sparse())
