"""The phase of a spectrogram on a GPU, corrected to the centre frequencies of its bins."""

import sys

import torch
from asteroid_filterbanks.transforms import phase_centerfreq_correction

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(phase_centerfreq_correction(torch.rand(1, 5, 3, device=device), kernel_size=8, stride=4).shape)
