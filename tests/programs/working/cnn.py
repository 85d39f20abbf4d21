"""Images on one GPU: convolution, batch norm, a buffer of class weights in the loss, `new_*` and `*_like` tensors."""

import torch
import torch.nn.functional as F
from torch import nn


class SmallNet(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU()
        )
        self.head = nn.Linear(16, classes)
        self.register_buffer("mean", torch.full((1, 1, 1, 1), 0.1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        noise = torch.randn_like(images) * images.new_tensor(0.01)
        maps = self.features(images - self.mean + noise)
        return self.head(F.adaptive_avg_pool2d(maps, 1).flatten(1))


def stripes(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images with one bright row (class 0) or one bright column (class 1)."""
    images, classes = torch.randn(count, 1, 10, 10) * 0.1, torch.randint(0, 2, (count,))
    places = torch.randint(0, 10, (count,))
    for image, of_class, place in zip(images, classes, places, strict=True):
        if of_class:
            image[:, :, place] += 1
        else:
            image[:, place, :] += 1
    return images, classes


torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
images, classes = stripes(128)
model = SmallNet(2).to(device)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
images, classes = images.to(device), classes.to(device)

first = last = 0.0
for step in range(25):
    chosen = torch.randperm(len(images))[:64]  # an index may stay on the CPU
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(model(images[chosen]), classes[chosen])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    last = loss.item()
    first = first if step else last

model.eval()
with torch.inference_mode():
    right = (model(images).argmax(1) == classes).float().mean().item()
assert next(model.parameters()).device.type == device
assert model.mean.device.type == device
assert model.features[1].running_mean.device.type == device
assert all(parameter.grad.device == parameter.device for parameter in model.parameters())
assert last < first / 2, (first, last)
print(f"cnn on {device}: loss {first:.3f} -> {last:.3f}, accuracy {right:.2f}")
