"""Fixes: which of them are applied, what they make of a text, and how files are written."""
