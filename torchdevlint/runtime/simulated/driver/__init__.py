"""The simulated driver, and what of torch is put above it: `torch.cuda`, streams, memory, generators, autocast."""
