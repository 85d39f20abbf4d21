"""A checkpoint of a GPU, loaded on a machine that has none."""

# rule: none: TDL201 trusts a file of the same script
# accelerators: 0
import io
from unittest import mock

import torch

file = io.BytesIO()
with mock.patch("torch.serialization.location_tag", return_value="cuda:0"):  # as torch.save on a GPU writes it
    torch.save({"weight": torch.ones(3)}, file)
file.seek(0)
assert torch.load(file, map_location="cpu")["weight"].device.type == "cpu"
file.seek(0)
state = torch.load(file)  # dies here: "Attempting to deserialize object on a CUDA device"
print(state["weight"].device)
