"""With a default device, a shuffling loader draws with a generator of the CPU."""

# rule: TDL306
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.set_default_device(device)
loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, shuffle=True)
seen = 0
for (batch,) in loader:  # dies here: "Expected a 'cuda' device type for generator but found 'cpu'"
    seen += len(batch)
print(seen)
