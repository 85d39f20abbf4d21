"""What is loaded: where it was saved, by whom, and whether its place matters (TDL201, TDL202)."""
