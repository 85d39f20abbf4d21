"""Tensors and modules that a Module holds and does not register (TDL101, TDL102, TDL103)."""
