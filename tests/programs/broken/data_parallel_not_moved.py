"""A module must be on the first GPU before DataParallel calls it."""

# rule: TDL401
# accelerators: 2
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.DataParallel(nn.Linear(3, 2))
out = model(torch.randn(8, 3).to(device))  # dies here: "module must have its parameters and buffers on device cuda:0"
print(out.shape)
