"""Moves whose results are lost, and that nobody misses."""
