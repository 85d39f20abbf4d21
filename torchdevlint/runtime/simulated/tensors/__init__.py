"""Tensors with claimed devices: claims, and what of torch asks for them, moves them and checks them."""
