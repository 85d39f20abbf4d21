"""pytorch-metric-learning: losses, a miner, a memory of embeddings and a nearest-neighbour count."""

# library: pytorch-metric-learning
import torch
from pytorch_metric_learning import distances, losses, miners, reducers, samplers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
centres = torch.randn(4, 8)
labels = torch.arange(4).repeat(16)
x = centres[labels] + torch.randn(64, 8)
loader = DataLoader(
    TensorDataset(x, labels), batch_size=32, sampler=samplers.MPerClassSampler(labels, m=8, length_before_new_iter=64)
)

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(device)
distance = distances.CosineSimilarity()
triplet = losses.TripletMarginLoss(margin=0.2, distance=distance, reducer=reducers.ThresholdReducer(low=0))
miner = miners.TripletMarginMiner(margin=0.2, distance=distance, type_of_triplets="all")
proxies = losses.ProxyAnchorLoss(num_classes=4, embedding_size=4).to(device)
memory = losses.CrossBatchMemory(losses.NTXentLoss(), embedding_size=4, memory_size=64)
optimizer = torch.optim.Adam([*model.parameters(), *proxies.parameters()], lr=0.01)

history = []
for _ in range(8):
    total = 0.0
    for one, two in loader:
        one, two = one.to(device), two.to(device)
        embedded = model(one)
        loss = triplet(embedded, two, miner(embedded, two)) + 0.1 * proxies(embedded, two) + 0.1 * memory(embedded, two)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    history.append(total)

with torch.no_grad():
    embedded = model(x.to(device))
    near = distance(embedded).fill_diagonal_(-1).argmax(dim=1)
share = (labels.to(device)[near] == labels.to(device)).float().mean()
assert share.device.type == device.type
assert proxies.proxies.device.type == device.type
assert memory.embedding_memory.device.type == device.type
assert next(model.parameters()).device.type == device.type
assert history[-1] < history[0], history
print(f"pytorch-metric-learning on {device}: loss {history[0]:.3f} -> {history[-1]:.3f}, neighbours {share.item():.2f}")
