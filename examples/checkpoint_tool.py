"""Averages the weights of several checkpoints: ``python checkpoint_tool.py a.pt b.pt --out mean.pt``."""

import argparse

import torch
from torch import nn


def build() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def read_weights(path: str) -> dict[str, torch.Tensor]:
    checkpoint = torch.load(path)
    return checkpoint.get("model", checkpoint)


def average(paths: list[str]) -> dict[str, torch.Tensor]:
    mean: dict[str, torch.Tensor] = {}
    for path in paths:
        for key, value in read_weights(path).items():
            mean[key] = mean.get(key, 0) + value / len(paths)
    return mean


def restore(path: str) -> nn.Module:
    model = build()
    model.load_state_dict(torch.load(path))
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoints", nargs="+")
    parser.add_argument("--out", default="mean.pt")
    args = parser.parse_args()
    parameters = sum(one.numel() for one in restore(args.checkpoints[0]).parameters())
    torch.save(average(args.checkpoints), args.out)
    print(f"{args.out}: {parameters} parameters from {len(args.checkpoints)} checkpoints")


if __name__ == "__main__":
    main()
