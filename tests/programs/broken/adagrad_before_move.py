"""Adagrad makes its state when it is built: the model must be moved before that."""

# rule: TDL203
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
model.to(device)
loss = model(torch.randn(5, 3).to(device)).pow(2).mean()
loss.backward()
optimizer.step()  # dies here: "the same device"
print("stepped with the state of another device")
