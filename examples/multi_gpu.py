"""Trains on every visible GPU: ``python multi_gpu.py --gpu 2,3``."""

import argparse
import os

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", default="0")
parser.add_argument("--order", default="PCI_BUS_ID")
parser.add_argument("--out", default="model.pt")
args = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
os.environ["CUDA_DEVICE_ORDER"] = args.order
os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu
os.environ["CUDA_VISIBLE_DEVICE"] = args.gpu  # some scripts of the cluster read this spelling

model = nn.DataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))).to(device)
optimizer = torch.optim.Adam(model.parameters())

for step in range(20):
    inputs = torch.randn(64, 16, device=device)
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

torch.save(model.state_dict(), args.out)
print(f"loss {loss.item():.3f}, saved to {args.out}")
