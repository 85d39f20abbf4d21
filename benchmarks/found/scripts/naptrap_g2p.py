"""G2PTextEncoder, a Module, after .to(device)."""

import sys

import torch
from naptrap import G2PTextEncoder

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
print(G2PTextEncoder().to(device)("hello").shape)
