"""A pooling layer by fused Gromov-Wasserstein distances, moved to a GPU."""

import sys

import torch
from ot.gnn import TFGWPooling

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
layer = TFGWPooling(n_features=2, n_tplt=2, n_tplt_nodes=2).to(device)
edges = torch.tensor([[0, 1, 2], [1, 2, 0]], device=device)
print(layer(torch.rand(3, 2, device=device), edges).shape)
