"""The lengths of a packed sequence must be on the CPU."""

# rule: TDL013
import torch
from torch.nn.utils.rnn import pack_padded_sequence

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
text = torch.zeros(3, 5, 2, device=device)
lengths = torch.tensor([5, 4, 2], device=device)
packed = pack_padded_sequence(text, lengths, batch_first=True)  # dies here: "should be a 1D CPU int64 tensor"
print(packed.batch_sizes.tolist())
