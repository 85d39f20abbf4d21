"""What the programs of an application do with a finding: which of them come to a place, and what happens on the way.

A library is called by others, wherever their tensors are. Of an application all programs are there to be read, and a
finding that none of them comes to, or that none of them is hurt by, is advice. Their text is read, never interpreted.
"""
