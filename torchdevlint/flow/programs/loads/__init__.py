"""What the programs of a project save, and read again."""
