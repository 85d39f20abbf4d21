"""What `scripts/fixes.py` holds the fixes of a file to."""
