"""Opacus' GRU in `DataParallel`, which splits a batch over two GPUs."""

import sys

import torch
from opacus.layers import DPGRU

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
layer = DPGRU(input_size=3, hidden_size=4, batch_first=True).to(device)
parallel = torch.nn.DataParallel(layer, [0, 1] if device.type != "cpu" else None)
output, _ = parallel(torch.rand(4, 2, 3, device=device))
print(output.shape)
