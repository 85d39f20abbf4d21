"""What the inference holds, in words: for people who ask why, and for tools."""
