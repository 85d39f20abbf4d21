"""A table on the CPU, indexed by labels on the GPU."""

# rule: TDL007
import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
table = torch.eye(5)
labels = torch.tensor([3, 1, 4]).to(device)
best = labels.max()
one = table[best]  # a 0-dim index is read as a number
rows = table[labels]  # dies here: "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
print(rows.sum().item(), one.sum().item())
