"""What ``scripts/metamorphic.py`` is made of."""
