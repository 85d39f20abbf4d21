"""On which machines the programs run that come to a place: whether they need CUDA anyway."""
