"""Whether what a place works on is on an accelerator in some program: what brings values there, and where they go."""
