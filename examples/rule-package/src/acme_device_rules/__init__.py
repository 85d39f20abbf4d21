"""The house rules of Acme for code that runs on accelerators."""
