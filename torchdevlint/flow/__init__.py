"""The inference: what every value is and where it lives, and the facts that follow from it."""
