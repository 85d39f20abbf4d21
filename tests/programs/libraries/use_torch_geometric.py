"""torch_geometric: a GCN on one graph, and graphs in batches; `Data.to` works in place."""

# library: torch-geometric
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, erdos_renyi_graph, to_dense_batch


class Network(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.first, self.second, self.third = GCNConv(4, 16), GATConv(16, 8, heads=2), SAGEConv(16, 16)
        self.out = nn.Linear(16, classes)

    def forward(self, x: torch.Tensor, edges: torch.Tensor, batch: torch.Tensor | None = None) -> torch.Tensor:
        x = F.relu(self.first(x, edges))
        x = F.elu(self.second(x, edges))
        x = F.relu(self.third(x, edges))
        return self.out(x if batch is None else global_mean_pool(x, batch))


def graph(nodes: int, label: int) -> Data:
    return Data(torch.randn(nodes, 4) + label, erdos_renyi_graph(nodes, 0.3), y=torch.tensor([label]))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

one = graph(40, 0)
one.y = (one.x[:, 0] > 0).long()
one.train_mask = torch.rand(40) < 0.7
one.to(device)
assert one.x.device.type == one.edge_index.device.type == device.type
loops, _ = add_self_loops(one.edge_index, num_nodes=one.num_nodes)
assert loops.device.type == device.type

model = Network(2).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
nodes = []
for _ in range(20):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(one.x, one.edge_index)[one.train_mask], one.y[one.train_mask])
    loss.backward()
    optimizer.step()
    nodes.append(loss.item())

graphs = []
loader = DataLoader([graph(10 + number, number % 2) for number in range(16)], batch_size=8, shuffle=True)
for _ in range(8):
    for batch in loader:
        batch = batch.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
        loss.backward()
        optimizer.step()
        graphs.append(loss.item())
dense, mask = to_dense_batch(batch.x, batch.batch)
assert dense.device.type == mask.device.type == device.type
assert next(model.parameters()).device.type == device.type
assert nodes[-1] < nodes[0], nodes
assert graphs[-1] < graphs[0], graphs
print(f"torch_geometric on {device}: {nodes[0]:.3f} -> {nodes[-1]:.3f}, {graphs[0]:.3f} -> {graphs[-1]:.3f}")
