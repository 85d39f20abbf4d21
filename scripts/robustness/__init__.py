"""What `scripts/robustness.py` is made of: inputs, the process that checks them, and what is a fault of the linter."""
