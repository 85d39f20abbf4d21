"""Other tools that torchdevlint runs inside."""
