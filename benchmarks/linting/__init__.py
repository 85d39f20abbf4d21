"""What `benchmarks/run.py` measures: the linters, the ways in which they are run, and the tables and the plot of it."""
