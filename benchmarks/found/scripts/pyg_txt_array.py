"""parse_txt_array takes a device, and gives a tensor of the CPU."""

import sys

import torch
from torch_geometric.io import parse_txt_array

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
table = parse_txt_array(["1 2", "3 4"], dtype=torch.float, device=device)
print(table + torch.zeros(2, 2, device=device))
