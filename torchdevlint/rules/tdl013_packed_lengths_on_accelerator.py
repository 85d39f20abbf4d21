"""`pack_padded_sequence` is given lengths that are on an accelerator; it takes them from the CPU only.

## What it does
Finds calls of `torch.nn.utils.rnn.pack_padded_sequence` whose lengths are a tensor that was moved to an accelerator,
that was made there, that `forward` calculates from its inputs, such as `mask.sum(1)`, or that it takes out of the same
dict as the sequences.

## Why is this bad?
The lengths say how the sequences are cut, which happens on the host. Since PyTorch 1.7 they are no longer copied there
silently:

    RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor

## Example
```python
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        lengths = mask.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1]
```

## Use instead
```python
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        lengths = mask.sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.rnn(packed)[1]
```
Lengths that a loader gives are best never moved: what is not needed on the accelerator costs a copy there and back.

## Fix safety
The fix is safe: it appends `.cpu()` to the lengths in this call, which gives the same numbers, and the tensor itself
where it is on the CPU already. The accelerator is waited for in each call, so that lengths which come from a loader
are better never moved.

## What it cannot see
Inputs of `forward` that are called lengths: a caller may keep them on the CPU, and should. The same holds for arguments
of functions, whose device is the caller's.

## References
- [torch.nn.utils.rnn.pack_padded_sequence](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html):
  "lengths (Tensor or list(int)) - must be on the CPU if provided as a tensor"
- Tencent/NeuralNLP-NeuralClassifier and UKPLab/sentence-transformers moved the lengths back by `.cpu()`
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.sequences import LengthsOnAccelerator
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import call_added, fix
from torchdevlint.rules.wording import code, edit, operand

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""Sequences are packed by lengths of the CPU; lengths of the accelerator are refused."""
import torch
from torch.nn.utils.rnn import pack_padded_sequence

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["'lengths' argument should be a 1D CPU int64 tensor"]}


def flagged(device, place=lambda lengths: lengths):
    x, lengths = torch.ones(2, 3, 4, device=device), torch.tensor([3, 2], device=device)
    packed = pack_padded_sequence(x, place(lengths), batch_first=True)
    return {"packed": str(packed.data.device)}


def repaired(device):
    return flagged(device, lambda lengths: lengths.cpu())
'''


def check(fact: LengthsOnAccelerator) -> Iterator[Report]:
    lengths = fact.lengths
    yield Report(
        span=fact.at,
        message=f"{code(fact.call)} needs lengths of the CPU, but {code(lengths.text)} is on {lengths.device}",
        symptom="RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
        help=f"copy the lengths to the host: {edit(f'{operand(lengths.text)}.cpu()')}",
        notes=tuple(Note(message, span) for message, span in lengths.evidence if span != fact.at),
        fix=_fix(lengths) if fact.surely else None,
    )


def _fix(lengths: Operand) -> Fix | None:
    edits = call_added(lengths.text, lengths.span, ".cpu()")
    return fix(Applicability.SAFE, f"append `.cpu()` to {code(lengths.text)}", *edits)
