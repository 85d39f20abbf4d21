"""What the text of a project says of its programs: calls, names, tests, habits. Nothing is followed."""
