"""What a fix may name at a place. Whatever a fix writes that the place did not say before is vouched for here.

A name is vouched for where it is bound in the very function that the place is in, on every path, and holds in each
round of a loop what it held when the place was run: `bound` reads that from the text. `devices` gives expressions for a
device, of what is there at that point and surely a tensor (`kinds`); `names` tells whether a name that stands elsewhere
is the same variable. Where nothing is vouched for there is no fix.
"""
