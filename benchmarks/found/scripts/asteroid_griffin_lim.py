"""Waveforms of magnitudes on a GPU, as the documentation of griffin_lim does it."""

import sys

import torch
from asteroid_filterbanks import STFTFB, Encoder, transforms
from asteroid_filterbanks.griffin_lim import griffin_lim

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
stft = Encoder(STFTFB(n_filters=16, kernel_size=16, stride=8)).to(device)
magnitudes = transforms.mag(stft(torch.randn(2, 1, 64, device=device)), -2)
print(griffin_lim(magnitudes, stft, n_iter=2).shape)
