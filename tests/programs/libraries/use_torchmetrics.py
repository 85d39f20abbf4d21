"""torchmetrics: a collection of metrics on the model's device, updated while training, and its state saved."""

# library: torchmetrics
import torch
from torch import nn
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassAUROC, MulticlassConfusionMatrix
from torchmetrics.regression import PearsonCorrCoef

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.randn(200, 4)
y = x[:, :3].argmax(dim=1)
model = nn.Linear(4, 3).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
metrics = MetricCollection(
    {
        "accuracy": MulticlassAccuracy(3),
        "auroc": MulticlassAUROC(3, thresholds=20),
        "table": MulticlassConfusionMatrix(3),
    }
).to(device)
mean_loss = MeanMetric().to(device)
kept = MulticlassAUROC(3).to(device)  # keeps all that it has seen in lists

history = []
for _ in range(8):
    metrics.reset()
    mean_loss.reset()
    for one, two in zip(x.split(50), y.split(50), strict=True):
        one, two = one.to(device), two.to(device)
        scores = model(one)
        loss = nn.functional.cross_entropy(scores, two)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean_loss.update(loss.detach(), weight=len(one))
        metrics.update(scores.detach().softmax(dim=1), two)
    kept.update(scores.detach().softmax(dim=1), two)
    history.append({name: value.detach().cpu() for name, value in metrics.compute().items()})
    history[-1]["loss"] = mean_loss.compute().item()

values = metrics.compute()
assert all(value.device.type == device.type for value in values.values())
assert kept.compute().device.type == device.type
assert kept.cpu().compute().device.type == "cpu"
assert metrics["accuracy"].device.type == device.type
assert values["table"].sum().item() == len(x)
pearson = PearsonCorrCoef().to(device)
assert pearson(torch.arange(5.0, device=device), torch.arange(5.0, device=device) * 2).item() > 0.99
assert next(model.parameters()).device.type == device.type
assert history[-1]["loss"] < history[0]["loss"]
assert history[-1]["accuracy"] > 0.8
print(f"torchmetrics on {device}: loss {history[0]['loss']:.3f} -> {history[-1]['loss']:.3f}")
