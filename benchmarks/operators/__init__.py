"""Every operator and Module of torch's own test database with its tensors in two places, on a GPU and simulated."""
