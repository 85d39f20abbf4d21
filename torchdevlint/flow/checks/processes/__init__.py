"""Processes and the GPU of each: visible devices, workers, collectives (TDL301, TDL307, TDL404)."""
