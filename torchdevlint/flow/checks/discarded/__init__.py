"""Moves that change nothing: results that are thrown away, and loops that move their own target (TDL001, TDL002)."""
