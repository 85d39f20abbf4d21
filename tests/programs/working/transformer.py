"""A transformer encoder with a registered table of positions and masks made on the input's device."""

import math

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        place = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(1000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.table[: x.shape[1]]


class Next(nn.Module):
    """Which symbol comes next?"""

    def __init__(self, symbols: int, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.positions = Positions(width, 16)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.attention = nn.MultiheadAttention(width, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        length = symbols.shape[1]
        future = torch.triu(torch.ones(length, length, dtype=torch.bool, device=symbols.device), diagonal=1)
        x = self.encoder(self.positions(self.embed(symbols)), mask=future)
        x = x + self.attention(x, x, x, attn_mask=future)[0]
        return self.out(x)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
starts = torch.randint(0, 10, (32, 1))
sequences = ((starts + torch.arange(9) * 3) % 10).to(device)
model = Next(10).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
losses = []
for _ in range(30):
    optimizer.zero_grad()
    scores = model(sequences[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), sequences[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.eval()
with torch.no_grad():
    text = sequences[:1, :4]
    for _ in range(4):
        text = torch.cat([text, model(text)[:, -1:].argmax(-1)], dim=1)
assert next(model.parameters()).device.type == device.type
assert model.positions.table.device.type == device.type
assert "positions.table" not in model.state_dict()
assert losses[-1] < losses[0] / 4, losses
print(f"transformer on {device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}, wrote {text[0].tolist()}")
