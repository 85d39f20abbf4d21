"""The inputs are moved and the targets are not."""

# rule: TDL005
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
points = torch.randn(64, 2)
loader = DataLoader(TensorDataset(points, (points[:, 0] > 0).long()), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    x = x.to(device)
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # dies here: "Expected all tensors to be on the same device"
    loss.backward()
    optimizer.step()
print("trained with targets that never moved")
