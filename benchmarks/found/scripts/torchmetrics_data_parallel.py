"""A metric in `DataParallel`: each replica adds to the sums of the first GPU."""

import sys

import torch
from torchmetrics.audio import ScaleInvariantSignalDistortionRatio

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
metric = ScaleInvariantSignalDistortionRatio().to(device)
parallel = torch.nn.DataParallel(metric, [0, 1] if device.type != "cpu" else None)
print(parallel(torch.rand(4, 8, device=device), torch.rand(4, 8, device=device)))
