"""Data that is on the GPU already cannot be pinned."""

# rule: TDL309
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = TensorDataset(torch.arange(8.0).to(device))
loader = DataLoader(data, batch_size=4, pin_memory=torch.cuda.is_available())
seen = 0
for (batch,) in loader:  # dies here: "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"
    seen += len(batch)
print(seen)
