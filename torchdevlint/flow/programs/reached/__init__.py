"""Which programs come to a place, on which ways, and whether any comes there at all."""
