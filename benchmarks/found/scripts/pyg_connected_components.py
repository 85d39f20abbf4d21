"""The connected components of a graph on a GPU."""

import sys

import torch
from torch_geometric.data import Data

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]], device=device)
graph = Data(x=torch.rand(4, 1, device=device), edge_index=edges)
print(graph.connected_components())
