"""A loss with class weights that nobody moved."""

# rule: TDL010
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).to(device)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))
images, classes = torch.randn(6, 1, 8, 8).to(device), torch.tensor([0, 1, 0, 1, 1, 0]).to(device)
scores = model(images)
loss = criterion(scores, classes)  # dies here: "Expected all tensors to be on the same device"
loss.backward()
print("a weighted loss")
