"""Transfer functions of statements and expressions."""
