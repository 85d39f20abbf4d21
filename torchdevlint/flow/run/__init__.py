"""The interpreter: what statements, expressions and calls do to what is known, and the events that they are."""
