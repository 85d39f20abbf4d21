"""From bytes to text, and from syntax-tree positions to rows and columns of that text."""
