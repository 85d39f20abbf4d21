"""A character model that learns one sentence and continues it: ``python char_rnn.py``."""

import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog. "
ALPHABET = sorted(set(TEXT))


class CharRNN(nn.Module):
    def __init__(self, size: int, hidden: int = 32) -> None:
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(size, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, size)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(1, tokens.shape[0], self.hidden)
        steps, _ = self.rnn(self.embed(tokens), state)
        return self.out(steps)


def encode(text: str) -> torch.Tensor:
    return torch.tensor([[ALPHABET.index(letter) for letter in text]])


@torch.no_grad()
def continue_text(model: CharRNN, start: str, length: int, device: torch.device) -> str:
    for _ in range(length):
        scores = model(encode(start).to(device))[0, -1]
        start += ALPHABET[int(scores.argmax())]
    return start


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = CharRNN(len(ALPHABET)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    tokens = encode(TEXT * 2).to(device)
    for _ in range(30):
        scores = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(continue_text(model, "the ", 20, device))


if __name__ == "__main__":
    main()
