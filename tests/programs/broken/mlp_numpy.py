"""Predictions are handed to numpy without coming back to the CPU."""

# rule: TDL006
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(2, 2).to(device)
x = torch.randn(8, 2).to(device)
with torch.no_grad():
    predicted = model(x).argmax(dim=1)
counts = np.bincount(predicted.numpy(), minlength=2)  # dies here: "can't convert cuda:0 device type tensor to numpy"
assert counts.sum() == 8
print("counted on the CPU")
