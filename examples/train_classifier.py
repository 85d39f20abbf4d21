"""Trains a small image classifier on synthetic digits: ``python train_classifier.py --epochs 2``."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Linear(16 * 4, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(images).flatten(1))


def synthetic_digits(count: int) -> TensorDataset:
    labels = torch.randint(0, 10, (count,))
    images = torch.randn(count, 1, 16, 16) + labels[:, None, None, None] / 5
    return TensorDataset(images, labels)


def train_epoch(model, loader, optimizer, device):
    model.to(device)
    model.train()
    total = 0.0
    for images, labels in loader:
        images = images.to(device)
        labels.to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(images)
    return total / len(loader.dataset)


def hits(model, images, labels):
    return (model(images).argmax(1) == labels).sum().item()


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    correct = 0
    for batch in loader:
        for tensor in batch:
            tensor = tensor.to(device)
        correct += hits(model, *batch)
    return correct / len(loader.dataset)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    training = DataLoader(synthetic_digits(256), batch_size=args.batch_size, shuffle=True)
    validation = DataLoader(synthetic_digits(64), batch_size=args.batch_size)
    for epoch in range(args.epochs):
        loss = train_epoch(model, training, optimizer, device)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy(model, validation, device):.2f}")


if __name__ == "__main__":
    main()
