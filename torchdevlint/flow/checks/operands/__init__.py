"""Tensors that meet others on another device, or leave a function with them (TDL003 to TDL006, TDL014)."""
