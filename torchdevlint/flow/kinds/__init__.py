"""What says of a value what it is: annotations, docstrings, uses, the input pipeline."""
