"""Two sources of a mixture on a GPU, by their magnitudes."""

import sys

import torch
from asteroid_filterbanks import STFTFB, Encoder, transforms
from asteroid_filterbanks.griffin_lim import misi

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
stft = Encoder(STFTFB(n_filters=16, kernel_size=16, stride=8)).to(device)
sources = torch.randn(2, 2, 64, device=device)
magnitudes = transforms.mag(stft(sources), -2)
print(misi(sources.sum(1), magnitudes, stft, n_iter=2).shape)
