"""MarginLoss with one beta for each class, which are not learned, of embeddings and labels on a GPU."""

import sys

import torch
from pytorch_metric_learning.losses import MarginLoss

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
loss = MarginLoss(num_classes=3).to(device)
embeddings = torch.rand(6, 4, device=device)
labels = torch.tensor([0, 0, 1, 1, 2, 2], device=device)
print(loss(embeddings, labels))
