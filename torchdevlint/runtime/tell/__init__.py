"""The records of all processes as one account: what caused an error, and how it is reported."""
