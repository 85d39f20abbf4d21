"""The matrix of a sequence of Householder reflections on a GPU."""

import sys

import torch
from nflows.transforms import HouseholderSequence

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
reflections = HouseholderSequence(features=4, num_transforms=2).to(device)
print(reflections.matrix().shape)
