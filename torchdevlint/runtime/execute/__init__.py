"""Runs in a child process: executes the code of one finding, twice, and says what happened.

A *program* (`call`, `slice`, `checkpoint` ...) is something that can be run with values for its *slots*: parameters of
the flagged function or names that a slice of it needs. `search` looks for values with which it runs through the flagged
lines on a machine whose accelerators are the CPU under another name (the control); `perform` then runs it with the very
same values on an accelerator, and observes.
"""
