"""A generator of the CPU cannot draw on the GPU."""

# rule: none: generators are not followed
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
generator = torch.Generator().manual_seed(0)
noise = torch.randn(4, device=device, generator=generator)  # dies here: "Expected a 'cuda' device type for generator"
print(noise.tolist())
