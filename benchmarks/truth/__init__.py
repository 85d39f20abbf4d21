"""A truth table: what real CUDA does with each of some hundred small programs.

The simulated backend is held against it. `cases` holds the programs as data, `recorded` what a real GPU did with them,
`record` makes a new record, `compare` runs the cases on the simulated backend and says where it differs. A case that no
GPU has run is *unrecorded*: it counts as nothing, least of all as agreement. Beside that, many cases carry what
PyTorch's own sources say would happen; that is counted apart.

``python -m benchmarks.truth record|compare|list|table``
"""
