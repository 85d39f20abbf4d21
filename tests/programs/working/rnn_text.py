"""Which language is it? Recurrent networks whose first hidden state is made on the device of the input."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

WORDS = {
    0: "the quick brown fox jumps over this lazy dog while they watch",
    1: "der schnelle braune fuchs springt ueber diesen faulen hund und schlaeft",
}


class CharRNN(nn.Module):
    """A cell called character by character: the hidden state is made in forward."""

    def __init__(self, symbols: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(symbols, 12, padding_idx=0)
        self.rnn = nn.RNN(12, hidden, batch_first=True)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def start(self, batch: int) -> torch.Tensor:
        return torch.zeros(1, batch, self.hidden, device=next(self.parameters()).device)

    def forward(self, text: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        seen, _ = self.rnn(self.embed(text), self.start(len(text)))
        packed = pack_padded_sequence(seen, lengths, batch_first=True, enforce_sorted=False)
        cell = torch.zeros(1, len(text), self.hidden).to(text.device)
        _, (last, _) = self.lstm(packed, (self.start(len(text)), cell))
        return self.out(last.squeeze(0))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
samples = [(word, label) for label, words in WORDS.items() for word in words.split()]
letters = {letter: number for number, letter in enumerate(sorted({c for word, _ in samples for c in word}), 1)}
encoded = [torch.tensor([letters[letter] for letter in word]) for word, _ in samples]
lengths = torch.tensor([len(word) for word, _ in samples])  # stays on the CPU, as packing demands
text = pad_sequence(encoded, batch_first=True).to(device)
labels = torch.tensor([label for _, label in samples], device=device)

model = CharRNN(len(letters) + 1, 24, 2).to(device)
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
losses = []
for _ in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(text, lengths), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())

assert next(model.parameters()).device.type == device.type
assert model.start(3).device == text.device
assert losses[-1] < losses[0] / 2, losses
print(f"rnn text on {device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
