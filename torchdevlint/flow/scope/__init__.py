"""What the text of a function, class or file says: names, bindings, reads, tests around a place; nothing is run."""
